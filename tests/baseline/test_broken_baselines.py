"""Every way a baseline can be broken: one file each, and the exact words of its error."""

from pathlib import Path

import pytest

from pytest_ctxguard.baseline import SUFFIX, read
from pytest_ctxguard.errors import BaselineError

FOLDER = Path(__file__).parents[2] / "fixtures" / "broken"

RESTORE = "Restore the file from version control."
RECORD = "Delete the file and record it again with --ctxguard-update."
MERGE = (
    "Take one side whole (git checkout --ours or --theirs, then the file's name), and run pytest "
    "--ctxguard to see what it lacks."
)


def metric(what, remedy=RESTORE):
    return f":5: 'billed_input_tokens'{what}. {remedy}"


def measured_with(instrument):
    what = f" is measured with the instrument {instrument}, and the file does not have it"
    return metric(what, MERGE)


FIELDS = "none of its fields, accepted, instrument, of, trials, value"
AN_OBJECT = "an object with a reason, and with what the value was"
MESSAGES = {
    "empty": f":1: not JSON (Expecting value: line 1 column 1 (char 0)). {RESTORE}",
    "not-utf8": ":14: not UTF-8 ('utf-8' codec can't decode byte 0xe9 in position 191: invalid "
    f"continuation byte). {RESTORE}",
    "merge-conflict": f":1: a merge has left its marks. {MERGE}",
    "merge-conflict-inside": f":7: a merge has left its marks. {MERGE}",
    "merged-by-hand": ":8: the key 'value' stands twice in one object, as after a merge. " + MERGE,
    "cut": ":6: not JSON (Expecting property name enclosed in double quotes: line 6 column 31 "
    f"(char 100)). {RESTORE}",
    "a-list": f": version None is not supported; this release reads 1. {RECORD}",
    "version-newer": f":17: version 2 is not supported; this release reads 1. {RECORD}",
    "version-missing": f": version None is not supported; this release reads 1. {RECORD}",
    "entries-missing": f": 'entries' is missing. {RESTORE}",
    "entries-a-list": f":1: 'entries' is no object. {RESTORE}",
    "part-unknown": f":17: 'notes' is no part of a baseline. {RESTORE}",
    "instruments-missing": f": 'instruments' is missing. {RESTORE}",
    "instruments-a-list": f":12: 'instruments' is no object. {RESTORE}",
    "instrument-missing": measured_with(None),
    "instrument-unknown": measured_with("'0badcafe'"),
    "instrument-a-list": measured_with([]),
    "instrument-of-numbers": metric(": its instrument is no object of texts"),
    "labels-a-list": f":3: 'test_fit' is no object. {RESTORE}",
    "metrics-a-list": f":4: '' is no object. {RESTORE}",
    "metric-a-number": metric(" is no object"),
    "field-unknown": metric(f": 'fingerprint' is {FIELDS}"),
    "field-misspelt": metric(f": 'trails' is {FIELDS}"),
    "value-missing": metric(": it has no value"),
    "value-a-ratio": metric(": value 0.5 is not a count"),
    "value-a-bool": metric(": value True is not a count"),
    "value-negative": metric(": value -1 is not a count"),
    "value-above-of": metric(": value 168550 is more than the 6 it is of"),
    "value-without-its-hit": metric(": value 2 of 2 does not agree with its trials, 1 hits of 2"),
    "of-a-text": metric(": of 'six' is not a count"),
    "of-without-its-trial": metric(": value 1 of 3 does not agree with its trials, 1 hits of 2"),
    "trials-a-number": metric(": trials is no object of texts"),
    "accepted-a-text": metric(f": accepted is {AN_OBJECT}"),
    "accepted-without-reason": metric(f": accepted is {AN_OBJECT}"),
    "accepted-for-nothing": metric(": accepted: the reason ' ' says nothing"),
    "accepted-was-a-text": metric(": accepted: was 'few' is not a count"),
}


@pytest.mark.parametrize("name", MESSAGES)
def test_a_broken_baseline_says_where_and_what(name):
    path = FOLDER / f"{name}{SUFFIX}"
    with pytest.raises(BaselineError) as caught:
        read(path)
    assert str(caught.value) == f"{path}{MESSAGES[name]}"


def test_every_broken_baseline_has_its_message():
    assert {p.name.removesuffix(SUFFIX) for p in FOLDER.glob(f"*{SUFFIX}")} == set(MESSAGES)


def test_a_folder_in_its_place(tmp_path):
    with pytest.raises(BaselineError, match="cannot be read"):
        read(tmp_path)


def test_json_that_no_parser_follows(tmp_path):
    path = tmp_path / f"deep{SUFFIX}"
    path.write_text('{"a": ' * 100_000)
    with pytest.raises(BaselineError, match="not JSON"):
        read(path)
