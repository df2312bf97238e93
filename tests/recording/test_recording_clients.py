"""What a caller sees while recording is what it sees on replay, with every client."""

from __future__ import annotations

import asyncio
import gzip
import json

import aiohttp
import pytest
import yaml

from pytest_ctxguard.recording.cassette import Missed
from tests.recording.loopback import BINARY, CLIENTS, EVENTS, PACKED, loopback

every_client = pytest.mark.parametrize("ask", CLIENTS.values(), ids=CLIENTS)


def twice(record, ask, method, path, **options):
    """Ask while recording, then with the server gone: what was seen, and how often it was asked."""
    with loopback() as server:
        url = server.url + path
        with record("once") as recorder:
            first = ask(method, url, **options)
            assert recorder.save()
        asked = len(server.seen)
    with record("none") as recorder:
        second = ask(method, url, **options)
        assert (recorder.requests, recorder.recorded, recorder.error) == (asked, 0, None)
    return first, second


@every_client
def test_cassette_01_a_streamed_reply_is_the_same_recorded_and_replayed(record, ask):
    first, second = twice(record, ask, "POST", "/events", data=b'{"stream": true}')

    assert first == second
    assert first.kind.startswith("text/event-stream")
    events = first.body.decode().split("\n\n")
    assert [event + "\n\n" for event in events[:-1]] == list(EVENTS)
    deltas = [json.loads(event.removeprefix("data: "))["delta"] for event in events[:2]]
    assert "".join(deltas) == "Hello"


@every_client
def test_cassette_02_no_client_is_given_less_while_recording(record, ask):
    first, second = twice(record, ask, "GET", "/binary")

    assert first == second
    filled = [chunk for chunk in first.chunks if chunk]  # vcrpy ends requests' with an empty one
    assert filled == [BINARY[i : i + 10] for i in range(0, 50, 10)]


@every_client
def test_a_packed_answer_is_unpacked_once(record, ask):
    first, second = twice(record, ask, "GET", "/gzip")

    assert first == second
    assert json.loads(first.body) == PACKED


@every_client
def test_a_status_and_a_redirect_are_replayed(record, ask):
    assert [seen.status for seen in twice(record, ask, "GET", "/broken")] == [418, 418]


@every_client
def test_a_redirect_is_followed_on_replay(record, ask):
    first, second = twice(record, ask, "GET", "/from")

    assert first == second
    assert json.loads(first.body)["path"] == "/to"


@every_client
def test_a_packed_request_matches_however_it_was_packed(record, ask):
    def packed(level):
        return gzip.compress(b'{"prompt": "hello hello hello", "n": 1}', level)

    headers = {"content-encoding": "gzip", "content-type": "application/json"}
    assert packed(1) != packed(9)
    with loopback() as server:
        url = f"{server.url}/any"
        with record("once") as recorder:
            ask("POST", url, data=packed(1), headers=headers)
            recorder.save()
        assert gzip.decompress(server.seen[0][1]) == gzip.decompress(packed(9))
    with record("none") as recorder:
        ask("POST", url, data=packed(9), headers=headers)
        assert recorder.error is None


# vcrpy's stub for aiohttp does not unpack what httpx stored packed.
PAIRS = [*((name, "httpx2") for name in CLIENTS), ("requests", "aiohttp"), ("aiohttp", "requests")]


@pytest.mark.parametrize(("recorded_by", "replayed_by"), PAIRS)
def test_what_one_client_unpacked_another_does_not_unpack_again(record, recorded_by, replayed_by):
    with loopback() as server:
        url = f"{server.url}/gzip"
        with record("once") as recorder:
            CLIENTS[recorded_by]("GET", url)
            recorder.save()
    with record("none"):
        seen = CLIENTS[replayed_by]("GET", url)
    assert json.loads(seen.body) == PACKED


def test_what_aiohttp_is_given_as_json_is_stored_as_text(record, tmp_path):
    async def post(url, **options):
        async with aiohttp.ClientSession() as session, session.post(url, **options) as answer:
            return await answer.json()

    with loopback() as server, record("once") as recorder:
        first = asyncio.run(post(f"{server.url}/a", json={"b": 1, "a": ["é"]}))
        recorder.save()
    with record("none") as recorder:
        second = asyncio.run(post(f"{server.url}/a", json={"a": ["é"], "b": 1.0}))
        with pytest.raises(Missed, match=r"a\[0\]: recorded \"é\", sent \"e\""):
            asyncio.run(post(f"{server.url}/a", json={"a": ["e"], "b": 1}))
        with pytest.raises(Missed, match=r"a request body of type aiohttp\.\S*FormData"):
            asyncio.run(post(f"{server.url}/a", data=aiohttp.FormData({"a": "b"})))
    assert first == second
    [request] = yaml.safe_load((tmp_path / "it.yaml").read_text())["interactions"]
    assert json.loads(request["request"]["body"]) == {"a": ["é"], "b": 1}
