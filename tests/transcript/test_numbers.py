"""Numbers as people and programs write them."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_ctxguard.transcript.numbers import contains_number, number

SAME = [
    "1234", "1,234", "1 234", "1\u00a0234", "1\u202f234", "1'234", "1\u2019234", "1_234",
    "1234.0", "1234,00", "1,234.00", "1.234,00", "1.234", "１２３４", "١٢٣٤", "١٬٢٣٤", "+1234",
    "1.234e3", "12.34E+2", "01234",
]  # fmt: skip


@pytest.mark.parametrize("written", SAME)
@pytest.mark.parametrize(
    "frame", ["{}", "It took {} ms.", "({})", "${},", "= {};", "编号{}是", "**{}**"]
)
def test_one_number_in_many_forms(written, frame):
    assert contains_number(frame.format(written), "1234")


WITHIN = [
    ("250ms", "250", True),
    ("250 ms", "250", True),
    ("a 30-day limit", "30", True),
    ("45%", "45", True),
    ("5-7", "7", True),
    ("5-7", "-7", False),
    ("it is -7 now", "-7", True),
    ("it is \u22127 now", "-7", True),
    ("it is -7 now", "7", False),
    ("- 7", "7", True),
    ("x=-7", "-7", True),
    ("3,5", "3.5", True),
    ("3.50", "3.5", True),
    (".5", "0.5", True),
    ("ends here.5", "0.5", False),
    ("It is 1234.", "1234", True),
    ("12,34,567", "1234567", True),
    ("[80,443,8080]", "443", True),
    ("80, 443", "443", True),
    ("1234 567", "567", True),
    ("1,5 234", "234", True),
    ("12345", "1234", False),
    ("0.1234", "1234", False),
    ("1234.5", "1234", False),
    ("11,234", "1234", False),
    ("1 234 567", "1234", False),
    ("1234567", "1 234 567", True),
    ("shard-7", "7", False),
    ("v7", "7", False),
    ("q_7", "7", False),
    ("id 4417ab9f", "4417", False),
    ("0x1F", "0", False),
    ("10k", "10", False),
    ("10 GB", "10", True),
    ("10GB", "10", True),
    ("10.0.0.1", "10", False),
    ("10.0.0.1", "1", False),
    ("12:30", "30", False),
    ("12:30", "12", False),
    ("port :4417", "4417", True),
    ('{"employee":4417}', "4417", True),
    ("10²", "102", False),
    ("3.141", "3141", True),
    ("3141", "3.141", False),
    ("3,141", "3.141", True),
    ("no digits", "7", False),
    ("", "7", False),
]  # fmt: skip


@pytest.mark.parametrize(("text", "value", "found"), WITHIN)
def test_a_number_in_a_text(text, value, found):
    assert contains_number(text, value) is found


@pytest.mark.parametrize(
    ("value", "wanted"),
    [("1,234", "1234"), ("1.234", "1.234"), (" -3,5 ", "-3.5"), ("12e3", "12000"), (".5", "0.5")],
)
def test_a_value_is_read_as_programs_write_it(value, wanted):
    assert number(value) == Decimal(wanted)


@pytest.mark.parametrize(
    "value", ["", "x", "7 or 8", "250ms", "$5", "shard-7", "1.2.3", "12:30", "1,2,3", "--5"]
)
def test_what_is_more_or_less_than_a_number(value):
    assert number(value) is None


@given(value=st.integers(-(10**12), 10**12), mark=st.sampled_from([",", " ", "_", ""]))
def test_a_whole_number_is_found_however_it_is_grouped(value, mark):
    written = f"{value:,}".replace(",", mark)
    assert contains_number(f"It is {written}.", str(value))
    assert not contains_number(f"It is {written}.", str(value + 1))
    assert not contains_number(f"It is {written}9.", str(value))


@given(
    value=st.decimals(allow_nan=False, allow_infinity=False, places=2, max_value=10**9, min_value=0)
)
def test_a_decimal_comma_is_a_decimal_point(value):
    assert contains_number(f"{value:f}".replace(".", ","), f"{value:f}")


@given(text=st.text(), value=st.integers())
def test_any_text_may_be_looked_through(text, value):
    assert contains_number(text, str(value)) in (True, False)
    assert number(text) is None or contains_number(text, text.strip())
