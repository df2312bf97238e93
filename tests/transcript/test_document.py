"""A file's bytes, and what they parse to."""

import pytest

from pytest_ctxguard.errors import TranscriptError
from pytest_ctxguard.transcript.document import Document


def document(text):
    return Document("log.jsonl", text if isinstance(text, bytes) else text.encode())


def test_rows_keep_their_lines():
    assert document('{"a": 1}\n\n{"b": 2}\r\n').rows == ((1, {"a": 1}), (3, {"b": 2}))
    assert document("").rows == ()


def test_a_byte_order_mark():
    marked = document(b"\xef\xbb\xbf" + b'{"a": 1}')
    assert marked.rows == ((1, {"a": 1}),)
    assert marked.head == ({"a": 1},)


def test_line_separators_inside_texts_break_no_row():
    assert document('{"a": "x\u2028y\x85z"}\n').rows == ((1, {"a": "x\u2028y\x85z"}),)


def test_half_a_surrogate_pair_is_kept():
    assert document('{"a": "\\ud83d"}').rows[0][1] == {"a": "\ud83d"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"a": 1}\n{"b": \n{"c": 3}', r"log\.jsonl:2: not JSON \(.*\)\. Mend or remove the line"),
        ('{"a": 1}\n{"b": 2', r"log\.jsonl:2: not JSON \(.*\)\. The file may be truncated"),
        ('{"a": 1}\n5', r"log\.jsonl:2: a row must be a JSON object"),
        ("[" * 100_000, r"log\.jsonl:1: nested too deep"),
        (b'{"a": 1}\n\xff', r"log\.jsonl:2: not UTF-8"),
    ],
)
def test_broken_rows(text, message):
    with pytest.raises(TranscriptError, match=message):
        document(text).rows  # noqa: B018 - raises


def test_the_head_is_what_is_whole_of_the_first_rows():
    assert document('{"a": 1}\n[1]\n{"b": 2}\n{"c"').head == ({"a": 1}, {"b": 2})
    assert document(b"\xff").head == ()
    assert len(document('{"a": 1}\n' * 100).head) == 40


def test_one_value():
    assert document("[1]").json == [1]
    assert document("[1]").value == [1]
    assert document("[1").value is None
    with pytest.raises(TranscriptError, match=r"log\.jsonl:2: not JSON"):
        document("[1,\n").json  # noqa: B018 - raises
    with pytest.raises(TranscriptError, match="nested too deep"):
        document("[" * 100_000).json  # noqa: B018 - raises
