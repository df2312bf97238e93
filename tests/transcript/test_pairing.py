"""Tool results and the calls they answer."""

from pytest_ctxguard.transcript.pairing import pair
from tests.factories import call, calling, result, user


def test_parallel_calls_in_any_order():
    pairing = pair([calling(call("a"), call("b")), result("2", "b"), result("1", "a")])
    assert pairing.answered == {(0, 0): 2, (0, 1): 1}
    assert pairing.unanswered == ()
    assert pairing.orphans == ()


def test_calls_without_results():
    pairing = pair([calling(call("a"), call("b")), result("1", "a"), user("stop"), calling(call())])
    assert pairing.unanswered == ((0, 1), (3, 0))


def test_results_without_calls_before_their_call_and_a_second_time():
    messages = [result("0", "a"), calling(call("a")), result("1", "a"), result("2", "a")]
    assert pair(messages).orphans == (0, 3)


def test_an_id_used_again_is_another_call():
    messages = [calling(call("a")), result("1", "a"), calling(call("a")), result("2", "a")]
    assert pair(messages).answered == {(0, 0): 1, (2, 0): 3}


def test_calls_without_ids():
    nameless = {key: value for key, value in call().items() if key != "id"}
    assert pair([calling(nameless), {"role": "tool", "content": "x"}]).answered == {(0, 0): 1}
