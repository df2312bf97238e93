"""Record modes, the file, and what is and is not written."""

from __future__ import annotations

import multiprocessing
from concurrent.futures import ThreadPoolExecutor

import httpx2
import pytest
from vcr.serialize import deserialize
from vcr.serializers import yamlserializer

from pytest_ctxguard.errors import InputError, SecretFound, UsageError
from pytest_ctxguard.recording.cassette import Missed
from pytest_ctxguard.recording.secrets import Secrets
from pytest_ctxguard.recording.storage import claimed
from tests.recording.loopback import CLIENTS

ask = CLIENTS["httpx2"]


def numbers(record, mode, url, *paths, save=True, **options):
    """Ask for paths in one recording; return which request of the server answered each."""
    with record(mode, **options) as recorder:
        found = [httpx2.get(url + path, verify=False).json()["number"] for path in paths]
        if save:
            recorder.save()
    return found


def requests_in(path):
    requests, *_ = deserialize(path.read_text(), yamlserializer)
    return [request.path for request in requests]


def test_once_records_then_replays_in_any_order(record, served, tmp_path):
    assert numbers(record, "once", served.url, "/a", "/b", "/a") == [1, 2, 3]
    assert numbers(record, "once", served.url, "/b", "/a", "/a") == [2, 1, 3]
    assert len(served.seen) == 3
    assert requests_in(tmp_path / "it.yaml") == ["/a", "/b", "/a"]


def test_new_episodes_adds_what_is_not_recorded(record, served, tmp_path):
    numbers(record, "once", served.url, "/a")
    assert numbers(record, "new_episodes", served.url, "/b", "/a", "/b") == [2, 1, 3]
    assert requests_in(tmp_path / "it.yaml") == ["/a", "/b", "/b"]


def test_all_records_anew_and_leaves_out_what_is_not_sent(record, served, tmp_path):
    numbers(record, "once", served.url, "/a", "/b")
    assert numbers(record, "all", served.url, "/b", "/c") == [3, 4]
    assert requests_in(tmp_path / "it.yaml") == ["/b", "/c"]


def test_all_is_not_held_up_by_a_broken_file(record, served, tmp_path):
    (tmp_path / "it.yaml").write_text("{")
    assert numbers(record, "all", served.url, "/a") == [1]
    assert numbers(record, "none", served.url, "/a") == [1]


def test_none_sends_nothing_and_writes_nothing(record, served, tmp_path):
    with record("none") as recorder, pytest.raises(Missed, match="there is none"):
        ask("GET", served.url)
    assert not recorder.save()
    assert served.seen == []
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_written_unless_it_is_saved(record, served, tmp_path):
    numbers(record, "once", served.url, "/a", save=False)
    assert list(tmp_path.iterdir()) == []


def test_what_is_not_asked_for_is_named(record, served):
    numbers(record, "once", served.url, "/a", "/b")
    with record("none") as recorder:
        httpx2.get(f"{served.url}/b", verify=False)
        assert recorder.unused == (f"GET {served.url}/a",)


def test_further_cassettes_are_replayed_and_not_written(record, served, tmp_path):
    numbers(record, "once", served.url, "/shared", name="other.yaml")
    before = (tmp_path / "other.yaml").read_bytes()
    also = [tmp_path / "other.yaml"]
    assert numbers(record, "once", served.url, "/shared", "/mine", also=also) == [1, 2]
    assert requests_in(tmp_path / "it.yaml") == ["/mine"]
    assert (tmp_path / "other.yaml").read_bytes() == before


def test_vcrpy_itself_replays_the_file(record, served, tmp_path):
    import vcr

    numbers(record, "once", served.url, "/a")
    with vcr.use_cassette(str(tmp_path / "it.yaml"), record_mode="none"):
        assert httpx2.get(f"{served.url}/a", verify=False).json()["number"] == 1


class Careless(Secrets):
    """Knows what is secret, and replaces nothing."""

    def scrub_request(self, request):
        return request

    def scrub_response(self, response):
        return response


def test_a_secret_that_is_still_there_is_never_written(record, served, tmp_path):
    numbers(record, "once", served.url, "/a")
    before = (tmp_path / "it.yaml").read_bytes()
    secrets = Careless.from_environment({"MY_API_KEY": "hunter2hunter2hunter2"})
    for mode in ("new_episodes", "all"):
        with record(mode, secrets=secrets) as recorder:
            ask("POST", f"{served.url}/b", data=b'{"note": "hunter2hunter2hunter2"}')
            with pytest.raises(SecretFound, match="the value of MY_API_KEY"):
                recorder.save()
        assert (tmp_path / "it.yaml").read_bytes() == before


def test_a_secret_in_a_body_matches_with_another_key_or_none(record, served):
    url = f"{served.url}/a?key=AIzaSyFirst0000000000000000000000000001"
    body = b'{"auth": {"api_key": "first-key-0123456789"}, "n": 1}'
    with record("once", environ={"MY_API_KEY": "first-key-0123456789"}) as recorder:
        ask("POST", url, data=body)
        recorder.save()
    with record("none") as recorder:
        ask("POST", url.replace("First", "Other"), data=body.replace(b"first", b"other"))
        assert recorder.error is None


def test_a_miss_in_another_thread_is_kept(record, served):
    with record("none") as recorder:
        with ThreadPoolExecutor() as pool:
            futures = [pool.submit(ask, "GET", f"{served.url}/{n}") for n in range(3)]
        assert all(isinstance(future.exception(), Missed) for future in futures)
        assert "and 2 more requests" in str(recorder.error)
        assert len(recorder.cassette.errors) == 3
    assert served.seen == []


def test_replayed_answers_are_stored_as_they_were_recorded(record, served, tmp_path):
    with record("once") as recorder:
        CLIENTS["requests"]("POST", f"{served.url}/events")
        recorder.save()
    before = (tmp_path / "it.yaml").read_text()
    with record("new_episodes") as recorder:
        CLIENTS["requests"]("POST", f"{served.url}/events")
        CLIENTS["requests"]("POST", f"{served.url}/more")
        recorder.save()
    assert "transfer-encoding" in before.lower(), before
    assert before.split("version:")[0] in (tmp_path / "it.yaml").read_text()


BROKEN = {
    "empty": ("", "no cassette of vcrpy"),
    "text": ("hello", "no cassette of vcrpy"),
    "yaml": ("version: 1\ninteractions: [", ":2: not YAML"),
    "object": ("interactions: !!python/object/apply:os.system ['true']", "no cassette"),
    "response": (
        "interactions:\n- request: {method: GET, uri: 'http://a', body: null, headers: {}}\n"
        "  response: 3\n",
        "a response in it has no status",
    ),
    "deep": ("[" * 5000, "not YAML"),
}


@pytest.mark.parametrize(("text", "said"), BROKEN.values(), ids=BROKEN)
def test_a_broken_cassette_is_an_error_with_its_path(record, tmp_path, text, said):
    path = tmp_path / "it.yaml"
    path.write_text(text)
    with pytest.raises(InputError) as caught, record("none"):
        pass
    assert str(caught.value).startswith(str(path))
    assert said in str(caught.value)
    assert path.read_text() == text


def test_a_cassette_that_is_no_text_is_an_error(record, tmp_path):
    (tmp_path / "it.yaml").write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match="not UTF-8"), record("none"):
        pass


def _claim(path, ready, done):
    with claimed(path):
        ready.set()
        done.wait(30)


def test_two_processes_never_record_one_cassette(record, served, tmp_path):
    context = multiprocessing.get_context("spawn")
    ready, done = context.Event(), context.Event()
    other = context.Process(target=_claim, args=(tmp_path / "it.yaml", ready, done))
    other.start()
    try:
        assert ready.wait(30)
        with pytest.raises(UsageError, match="being recorded by another process"), record("once"):
            pass
    finally:
        done.set()
        other.join(30)
    assert numbers(record, "once", served.url, "/a") == [1]
