"""Every way a baseline can be broken: one file each, and the exact words of its error."""

from pathlib import Path

import pytest

from pytest_ctxguard.baseline import SUFFIX, read
from pytest_ctxguard.errors import BaselineError

FOLDER = Path(__file__).parents[1] / "fixtures" / "broken"

RESTORE = "Restore the file from version control."
RECORD = "Delete the file and record it again with --ctxguard-update."


def entries(error):
    return f": its entries are broken ({error}). {RESTORE}"


MESSAGES = {
    "empty": ":1: not JSON (Expecting value: line 1 column 1 (char 0)). Restore it from version "
    "control.",
    "not-utf8": ": cannot be read: 'utf-8' codec can't decode byte 0xe9 in position 111: invalid "
    "continuation byte. Restore it from version control.",
    "merge-conflict": ":1: not JSON (Expecting value: line 1 column 1 (char 0)). Restore it from "
    "version control.",
    "cut": ":7: not JSON (Unterminated string starting at: line 7 column 7 (char 98)). Restore it "
    "from version control.",
    "a-list": f": version None is not supported; this release reads 1. {RECORD}",
    "version-newer": f": version 2 is not supported; this release reads 1. {RECORD}",
    "version-missing": f": version None is not supported; this release reads 1. {RECORD}",
    "entries-missing": entries("KeyError: 'entries'"),
    "entries-a-list": entries("AttributeError: 'list' object has no attribute 'items'"),
    "fingerprint-missing": entries("KeyError: 'fingerprint'"),
    "fingerprint-a-text": entries(
        "ValueError: dictionary update sequence element #0 has length 1; 2 is required"
    ),
    "value-a-ratio": entries("ValueError: value 0.5 is not a count"),
    "value-a-bool": entries("ValueError: value True is not a count"),
    "value-negative": entries("ValueError: value -1 is not a count"),
    "of-a-text": entries("ValueError: of 'six' is not a count"),
    "trials-a-number": entries("TypeError: 'int' object is not iterable"),
    "metric-a-number": entries("TypeError: 'int' object is not subscriptable"),
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
