"""What fails for now is tried again, within a time; what fails for good is not."""

from __future__ import annotations

import socket

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_ctxguard.endpoint import EndpointBackend, Patience
from pytest_ctxguard.endpoint.retrying import named_wait
from pytest_ctxguard.errors import BackendError, UsageError
from tests.endpoint.servers import ASK, answer, error

LATER = (408, 425, 429, 500, 502, 503, 504, 529)
NEVER = (307, 400, 401, 403, 404, 405, 409, 413, 422, 501)


@pytest.fixture
def nobody():
    """The URL of a port where nobody listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{probe.getsockname()[1]}/v1"


@pytest.mark.parametrize("status", LATER)
def test_what_passes_by_itself_is_tried_again(endpoint, other, time, status):
    other.replies.extend([(status, {}, b"later"), (status, {}, b""), answer()])
    assert endpoint(other.url).complete(ASK).text == "x"
    assert time.waits == [0.25, 0.5]


@pytest.mark.parametrize("status", NEVER)
def test_what_stays_wrong_is_not(endpoint, other, time, status):
    other.replies.extend([(status, {"retry-after": "1"}, error("no.")), answer()])
    with pytest.raises(BackendError, match=rf"{other.url} answered {status}: no\. [A-Z].*\.$"):
        endpoint(other.url).complete(ASK)
    assert len(other.asked) == 1
    assert time.waits == []


def test_a_connection_that_breaks_is_tried_again(endpoint, other, time):
    other.replies.extend([None, None, answer()])
    assert endpoint(other.url).complete(ASK).text == "x"
    assert len(time.waits) == 2


def test_patience_ends_and_says_how_often(endpoint, other, time):
    other.replies.extend([(503, {}, error("Loading model"))] * 9)
    with pytest.raises(BackendError, match=r"answered 503 to 5 tries: Loading model\. See its log"):
        endpoint(other.url).complete(ASK)
    assert len(other.asked) == 5
    assert time.waits == [0.25, 0.5, 1.0, 2.0]


def test_half_of_each_wait_is_drawn(endpoint, other, time):
    other.replies.extend([(503, {}, b"")] * 2 + [answer()])
    chances = iter([0.0, 0.5])
    endpoint(other.url, chance=lambda: next(chances)).complete(ASK)
    assert time.waits == [0.125, 0.375]


def test_the_server_names_the_wait(endpoint, other, time):
    dates = {
        "date": "Mon, 30 Nov 2026 08:00:00 GMT",
        "retry-after": "Mon, 30 Nov 2026 08:01:30 GMT",
    }
    other.replies.extend(
        [(429, {"retry-after": "2"}, b""), (503, {"retry-after": "soon"}, b""), answer()]
    )
    endpoint(other.url).complete(ASK)
    assert time.waits == [2.0, 0.5]
    assert named_wait(dates) == 90.0
    assert named_wait({"retry-after": dates["date"]}) is None


def test_a_wait_beyond_the_time_is_not_begun(endpoint, other, time):
    other.replies.extend([(429, {"retry-after": "901"}, error("slow down")), answer()])
    with pytest.raises(BackendError, match=r"answered 429: slow down\. Ask for less at once"):
        endpoint(other.url).complete(ASK)
    assert time.waits == []


def test_the_time_is_bounded_however_often_it_may_be_tried(endpoint, other, time):
    other.replies.extend([(503, {}, b"")] * 99)
    patience = Patience(tries=99, total=60.0)
    with pytest.raises(BackendError, match="answered 503"):
        endpoint(other.url, patience=patience).complete(ASK)
    assert time.now <= 60.0


def test_nobody_there(endpoint, nobody, time):
    for model in (None, "m"):
        time.waits.clear()
        with pytest.raises(BackendError, match=rf"{nobody} cannot be asked: .* \(5 tries\)\. St"):
            endpoint(nobody, model=model).complete(ASK)
        assert len(time.waits) == 4


def test_once_nobody_is_there_later_questions_do_not_wait(endpoint, nobody, time):
    backend = endpoint(nobody, model="m")
    with pytest.raises(BackendError):
        backend.complete(ASK)
    waits = len(time.waits)
    found = backend.complete_many([ASK] * 20)
    assert {str(each) for each in found} == {
        f"{nobody} cannot be asked: it no longer answers. See its log."
    }
    assert len(time.waits) == waits


def test_a_server_that_comes_back_is_asked_again(endpoint, other):
    other.replies.extend([None] * 5 + [answer("back")])
    backend = endpoint(other.url)
    with pytest.raises(BackendError, match="cannot be asked"):
        backend.complete(ASK)
    assert backend.complete(ASK).text == "back"


def test_a_slow_server(endpoint):
    with socket.socket() as deaf:
        deaf.bind(("127.0.0.1", 0))
        deaf.listen()
        url = f"http://127.0.0.1:{deaf.getsockname()[1]}"
        patience = Patience(tries=1)
        with pytest.raises(BackendError, match=r"no answer within 0\.1 seconds"):
            endpoint(url, timeout=0.1, patience=patience).complete(ASK)


def test_an_answer_that_trickles_is_cut_off(endpoint, other, time):
    class Late:
        def __init__(self):
            self.calls = 0

        def __call__(self):
            self.calls += 1
            return 1000.0 * self.calls  # each look at the clock is a thousand seconds later

    other.replies.append(answer())
    backend = endpoint(other.url, clock=Late(), patience=Patience(tries=1))
    with pytest.raises(BackendError, match="no answer within"):
        backend.complete(ASK)


@pytest.mark.parametrize(
    "wrong", [{"tries": 0}, {"total": 0}, {"first": -1}, {"longest": -0.1}], ids=str
)
def test_impossible_patience(wrong):
    with pytest.raises(UsageError, match="tries is at least 1"):
        Patience(**wrong)


@given(
    st.integers(1, 99),
    st.floats(0, 1),
    st.builds(Patience, tries=st.integers(1, 99), first=st.floats(0, 9), longest=st.floats(0, 60)),
)
def test_waits_are_bounded_and_end(tried, chance, patience):
    wait = patience.wait(tried, chance=chance, named=None)
    assert (wait is None) == (tried >= patience.tries)
    assert wait is None or 0 <= wait <= patience.longest


@given(st.dictionaries(st.sampled_from(["retry-after", "date"]), st.text()))
def test_whatever_a_header_says_it_is_a_wait_or_none(headers):
    wait = named_wait(headers)
    assert wait is None or wait >= 0


def test_by_default_it_waits_and_draws_for_real():
    backend = EndpointBackend("http://127.0.0.1:1")
    assert backend.url == "http://127.0.0.1:1/v1"
