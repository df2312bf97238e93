"""The audit: errors both ways, by script and kind, with short examples."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_ctxguard.errors import UsageError
from pytest_ctxguard.tokens.corpus.kinds import kinds
from pytest_ctxguard.tokens.corpus.texts import corpus
from pytest_ctxguard.tokens.estimates.audit import audit, over, under
from pytest_ctxguard.tokens.estimates.shrinking import shrink
from pytest_ctxguard.tokens.estimators import MessageEstimator, by_script, chars_per_4
from tests.factories import encoder


def exact(text):
    return len(encoder().encode_text(text))


def exact_messages(messages):
    return encoder().count(messages)


def test_an_exact_estimator_has_no_error():
    found = audit(exact, against="qwen2.5").against("qwen2.5")
    assert len(found.errors) == len(corpus()) + len(kinds())
    assert not found.beyond("under", bound=0.0)
    assert not found.beyond("over", bound=0.0)


def test_an_exact_estimator_of_messages_has_none_either():
    found = audit(exact_messages, against=encoder(), takes="messages")
    (comparison,) = found.comparisons
    assert comparison.against == encoder().name
    assert not comparison.beyond("under", bound=0.0)
    assert not comparison.beyond("over", bound=0.0)
    assert [broken.name for broken in found.broken] == []
    assert {row.name for row in comparison.rows if row.group == "shape"} == {
        "blocks", "parallel-calls", "text-and-call", "tool-call", "tool-result"
    }  # fmt: skip


def test_the_error_is_a_share_of_what_was_counted():
    assert (under(100, 80), over(100, 80)) == (0.2, 0.0)
    assert (under(100, 250), over(100, 250)) == (0.0, 1.5)
    assert (under(0, 5), over(0, 5)) == (0.0, 0.0)


def test_chars_per_4_is_low_nearly_everywhere_and_high_on_english():
    found = audit(chars_per_4, against="qwen2.5").against("qwen2.5")
    low = {error.sample.label for error in found.beyond("under", bound=0.0)}
    assert len(low) > 0.9 * len(found.errors)
    assert "Latin (English)" not in low
    assert found.worst("over").sample.name == "long-line"
    rows = {row.name: row for row in found.rows}
    assert rows["Telugu"].under > 0.8
    assert rows["Latin"].over > 0 < rows["Latin"].under
    assert rows["hex"].under > 0.7


def test_the_estimate_by_script_errs_low_on_its_own_kind_of_example():
    """Report A: a Russian chapter, and what tools return."""
    rows = {row.name: row for row in audit(by_script, against="qwen2.5").comparisons[0].rows}
    for name in ("log", "hex", "base64", "digits", "json-minified"):
        assert rows[name].under > 0.3, name
    yiddish_to_greek = {name for name, row in rows.items() if row.under > 0.4}
    assert {"Greek", "Georgian", "Devanagari", "Tamil"} <= yiddish_to_greek


def test_counters_disagree_so_that_a_constant_means_nothing_without_one():
    found = audit(by_script, against=["qwen2.5", exact, lambda text: 2 * len(text)], kinds=())
    by_counter = [comparison.worst("over").over for comparison in found.comparisons]
    assert by_counter[0] == by_counter[1] > by_counter[2] == 0.0
    with pytest.raises(UsageError, match=r"not held against 'o200k', but against: qwen2\.5, exact"):
        found.against("o200k")


def test_the_example_is_short_and_still_beyond_the_bound():
    found = audit(chars_per_4, against="qwen2.5", kinds=["hex"], scripts=()).against("qwen2.5")
    example = found.example("under", bound=0.5)
    assert example == found.example("under", bound=0.5)
    assert 1 < len(example.text) <= 4
    assert under(example.measured, example.estimated) > 0.5


def test_an_example_of_too_much_is_no_constant():
    def with_overhead(text):
        return len(text) + 7

    found = audit(with_overhead, against="qwen2.5", scripts=["Latin"], kinds=())
    example = found.comparisons[0].example("over", bound=1.0)
    assert example.measured >= 8


def test_of_a_message_that_is_no_text_there_is_no_short_example():
    def content_only(messages):
        return sum(exact(m["content"]) if isinstance(m["content"], str) else 0 for m in messages)

    found = audit(content_only, against="qwen2.5", takes="messages", kinds=["tool-call"])
    comparison = found.comparisons[0]
    assert comparison.worst("under").sample.name == "tool-call"
    assert comparison.worst("under").under == 1.0
    assert comparison.example("under", bound=0.5) is None


def test_an_estimator_that_raises_misses_the_whole_text():
    def no_emoji(text):
        text.encode("latin-1")
        return len(text)

    found = audit(no_emoji, against="qwen2.5")
    raised = [error for error in found.comparisons[0].errors if error.estimated is None]
    assert all(error.under == 1.0 and "UnicodeEncodeError" in error.raised for error in raised)
    assert {"emoji", "rare-han"} <= {error.sample.name for error in raised}
    assert found.broken[0].name == "accepts"
    some = audit(no_emoji, against="qwen2.5", scripts=(), kinds=["emoji", "log"]).comparisons[0]
    assert some.worst("under").sample.name == "emoji"
    assert some.example("under", bound=0.0) is None  # the one it estimates is estimated high


@pytest.mark.parametrize(
    ("estimator", "options", "message"),
    [
        (7, {}, "7 is no estimator: it cannot be called"),
        (len, {"takes": "blocks"}, "takes='blocks': an estimator takes 'text'"),
        (lambda text: "5", {}, r"returned '5' for a text of \d+ characters; it returns a number"),
        (lambda text: -1, {}, "returned -1"),
        (lambda text: float("nan"), {}, "returned nan"),
        (lambda text: True, {}, "returned True"),
        (lambda text: None, {}, "returned None"),
        (lambda m: len(m[0]["content"]), {}, "raised on every text .*Say takes='text' or takes="),
        (len, {"scripts": ["Klingon"]}, "scripts: no 'Klingon'; there are: Arabic"),
        (len, {"kinds": "hex"}, r"kinds='hex' is one text; give a sequence"),
        (len, {"kinds": ["tool-call"]}, "kinds: no 'tool-call'"),
        (len, {"scripts": (), "kinds": ()}, "leave nothing to estimate"),
        (len, {"against": "gpt-4o"}, "no counter is named 'gpt-4o'; there are: qwen2.5, o200k"),
        (len, {"against": []}, "against= names nothing"),
        (len, {"against": ["qwen2.5", "qwen2.5"]}, "names one counter twice"),
        (len, {"against": 4}, "against=4 is no counter"),
        (len, {"against": exact, "takes": "messages"}, "against exact: it counts texts"),
    ],
)
def test_what_cannot_be_audited_is_an_error(estimator, options, message):
    with pytest.raises(UsageError, match=message):
        audit(estimator, **{"against": "qwen2.5", **options})


def test_any_counter_of_requests_will_do():
    class PerMessage:
        name = "letters"

        def count(self, messages):
            return sum(3 + len(message["content"]) for message in messages)

    found = audit(len, against=PerMessage())
    assert found.comparisons[0].against == "letters"
    assert not found.comparisons[0].beyond("under", bound=0.0)
    assert not found.comparisons[0].beyond("over", bound=0.0)


def test_message_estimates_are_of_what_a_message_adds():
    estimator = MessageEstimator(exact).request
    found = audit(estimator, against="qwen2.5", takes="messages")
    text_rows = [row for row in found.comparisons[0].rows if row.group != "shape"]
    assert all(row.under == row.over == 0 for row in text_rows)


@given(st.text(max_size=60), st.characters())
def test_a_shrunk_text_shows_it_and_nothing_can_be_left_out(text, wanted):
    text = text + wanted + text

    def shows(part):
        return wanted in part

    assert shrink(text, shows=shows) == wanted


@given(st.text(alphabet="ab1", min_size=1, max_size=80))
def test_shrinking_is_deterministic_and_never_longer(text):
    def shows(part):
        return part.count("a") * 2 >= text.count("a")

    short = shrink(text, shows=shows)
    assert short == shrink(text, shows=shows)
    assert shows(short)
    assert 1 <= len(short) <= len(text)
