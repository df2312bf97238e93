"""What a session costs, in tokens and in money, and when a cut pays."""

from datetime import date
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_ctxguard.errors import InputError, UsageError
from pytest_ctxguard.prefix.cost import Cost, Prices, break_even, load_prices, money, whole
from pytest_ctxguard.prefix.rules import SECTIONS, Rule, load_rules
from pytest_ctxguard.prefix.simulate import CachedCall, Simulation
from tests.factories import assistant, replayed, result, session, user

RULE = Rule(
    name="mine",
    dated=date(2026, 11, 30),
    source="a test",
    seen=date(2026, 11, 30),
    match="prefix",
    order=SECTIONS,
    read=Decimal("0.1"),
    write=Decimal("1.25"),
)


def called(number, read, written, plain, *, output=0, miss=""):
    return CachedCall(call=number, at=0.0, read=read, written=written, plain=plain, output=output,
                      miss=miss)  # fmt: skip


COST = Cost(
    Simulation(
        RULE,
        (called(0, 0, 1000, 8, output=50, miss="first call"), called(1, 400, 600, 2, miss="clock"),
         called(2, 1000, 0, 0, output=7)),
        "tokens",
        "a call every 5 s",
    )
)  # fmt: skip


def test_the_cost_in_tokens():
    assert (COST.plain, COST.written, COST.read, COST.output) == (10, 1600, 1400, 57)
    assert COST.sent == 3010
    assert COST.weighted == 10 + 1600 * Decimal("1.25") + 1400 * Decimal("0.1") == 2150
    assert COST.total == 2207
    assert [call.call for call in COST.misses] == [1]
    assert str(COST) == (
        "2,150 weighted input tokens (10 plain, 1,600 written x 1.25, 1,400 read x 0.1; mine, "
        "rules of 2026-11-30; a call every 5 s)"
    )


def test_it_says_where_whole_messages_were_compared():
    assert str(replayed(list).cost("vllm")).endswith("all calls at once; whole messages compared)")


def test_halves_are_rounded_up():
    assert [whole(Decimal(text)) for text in ("0.4", "0.5", "1.5", "2.49")] == [0, 1, 2, 2]


def test_the_cost_in_money():
    prices = Prices(input=Decimal(3), output=Decimal(15), currency="USD")
    assert money(COST, prices) == Decimal(2150 * 3 + 57 * 15) / 1_000_000
    own = Prices(input=Decimal(3), output=Decimal(15), read=Decimal(0), write=Decimal(4),
                 currency="USD")  # fmt: skip
    assert money(COST, own) == Decimal(10 * 3 + 1600 * 4 + 57 * 15) / 1_000_000


def prices(tmp_path, text):
    path = tmp_path / "prices.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_prices_are_read_from_a_file(tmp_path):
    text = 'currency = "EUR"\n[anthropic]\ninput = 2.5\noutput = 12\n[x]\ninput=1\noutput=1\nread=0'
    found = load_prices(prices(tmp_path, text))
    assert found["anthropic"] == Prices(input=Decimal("2.5"), output=Decimal(12), currency="EUR")
    assert found["x"].read == 0


WRONG = {
    "[a]\ninput = 1\noutput = 1": "needs a line such as `currency",
    'currency = "EUR"': "has no prices",
    'currency = "EUR"\na = 1': "a is no table of prices",
    'currency = "EUR"\n[a]\ninput = 1': r"\[a\] needs 'output'",
    'currency = "EUR"\n[a]\ninput = 1\noutput = 1\nimage = 2': r"\[a\] has no price 'image'; there",
    'currency = "EUR"\n[a]\ninput = 1\noutput = -1': "output = -1 is not a price",
    'currency = "EUR"\n[a]\ninput = inf\noutput = 1': "is not a price",
    "currency": "no TOML file of prices",
}


@pytest.mark.parametrize(("text", "says"), WRONG.items())
def test_a_broken_file_of_prices_is_refused(tmp_path, text, says):
    with pytest.raises(InputError, match=says):
        load_prices(prices(tmp_path, text))


def test_a_cut_pays_after_so_many_calls():
    found = break_even(76, 4039, rule=RULE)
    assert found.extra == 4039 * Decimal("1.15")
    assert found.saved == Decimal("7.6")
    assert found.calls == 612  # it removed 76 tokens, and 4,039 were billed again
    assert break_even(4039, 76, rule=RULE).calls == 1
    assert break_even(0, 76, rule=RULE).calls is None
    assert break_even(76, 0, rule=RULE).calls == 1


def test_where_reading_costs_nothing_a_cut_never_pays():
    assert break_even(1000, 10, rule=load_rules()["vllm"]).calls is None


def test_negative_numbers_of_tokens_are_refused():
    with pytest.raises(UsageError, match="removed=-1, again=0"):
        break_even(-1, 0, rule=RULE)


@given(st.integers(0, 10**6), st.integers(0, 10**6))
def test_at_the_break_even_the_cut_has_paid_and_a_call_before_it_has_not(removed, again):
    found = break_even(removed, again, rule=RULE)
    if found.calls is None:
        assert removed == 0 < again
        return
    assert found.calls * found.saved >= found.extra
    assert found.calls == 1 or (found.calls - 1) * found.saved < found.extra


def clears_the_first_result(messages):
    return [
        {**message, "content": "-"} if message["role"] == "tool" and len(messages) > 6 else message
        for message in messages
    ]


def test_a_replay_knows_its_cost_its_changes_and_its_cuts():
    replay = replayed(clears_the_first_result)
    assert [change.kind for change in replay.changes] == ["extended", "extended", "diverged"]
    assert replay.changes[2].cause == "tool result cleared"
    cost = replay.cost("vllm", pace=10)
    assert cost.sent == replay.tokens.billed
    assert cost.simulation.times == "a call every 10 s"
    [(call, cut)] = replay.cuts("anthropic").items()
    removed = len("pay-shard-7 is slow; pay-shard-3 is idle") - len("-")
    assert (call, cut.removed) == (3, removed)
    assert cut.again == 2  # what stands for the result, and the prompt to answer


def test_a_replay_of_another_provider_is_refused_by_name():
    with pytest.raises(UsageError, match="no cache rules for 'nobody'"):
        replayed(list).cost("nobody")


def test_times_and_answers_are_those_on_record():
    recorded = {2: {"time": "2026-03-01T10:00:00Z", "completion_tokens": 11},
                4: {"time": "2026-03-01T10:01:00"}}  # fmt: skip
    transcript = session(facts=(), recorded=recorded)
    one, two, three, last = replayed(list, transcript).sent
    assert (one.output, two.at - one.at) == (11, 60)
    assert three.output == len("The slow one is pay-shard-7.") - 1  # begun by the prompt to answer
    assert (last.answer, last.output, last.at) == (None, 0, None)
    assert one.answer == assistant("Noted.")


def test_the_messages_sent_are_the_policys():
    sent = replayed(lambda messages: messages[-1:]).sent
    assert sent[-1].messages == (user("Open a ticket."),)
    assert sent[2].messages == (result("pay-shard-7 is slow; pay-shard-3 is idle"),)
