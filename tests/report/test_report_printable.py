"""Text of any origin on a terminal."""

from hypothesis import given
from hypothesis import strategies as st

from pytest_ctxguard.report.printable import printable_lines


def test_what_a_terminal_would_obey_is_spelled_out():
    assert printable_lines("\x1b[31mred\x07\r \u202eleft \x9b2J \ud800") == (
        r"\x1b[31mred\x07\r \u202eleft \x9b2J \ud800"
    )


def test_text_in_any_script_stays_as_it_is():
    text = "工号\u3000４４１７\n\tnaïve\u00a0« 12 » 👩\u200d🚒 שלום"
    assert printable_lines(text) == text


@given(st.text(st.characters(categories=["Cc", "Cs", "L", "Zs"])))
def test_what_comes_out_can_be_written_and_stays(text):
    shown = printable_lines(text)
    shown.encode()
    assert printable_lines(shown) == shown
    assert all(c.isprintable() or c.isspace() for c in shown)
