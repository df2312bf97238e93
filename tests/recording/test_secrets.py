"""No secret is written: planted in every place, scrubbed, and searched for in every byte."""

import copy
import json
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_ctxguard.errors import SecretFound
from pytest_ctxguard.recording.secrets import Secrets
from tests.recording import searching
from tests.recording.planting import PLACES, SERIALIZERS, Exchange, b64, events, file, message

FILE = Path("cassettes/some.yaml")
# A key of no known form; as awkward as keys get; and one of a form that no variable holds.
VALUES = {
    "a variable's value": "q7vXw2kQ9rT4mZ8b",
    "an awkward value": 'pa+s/w"o%rd~é\\5=&1',
}
OF_KNOWN_FORM = "sk-proj-Ab12Cd34Ef56Gh78Ij90Kl12Mn34"
BINARY = {"binary", "gzip request", "gzip", "gzip unannounced", "deflate", "SSE gzip"}


def scrubbed(secrets, *exchanges):
    requests = [secrets.scrub_request(exchange.request) for exchange in exchanges]
    return requests, [secrets.scrub_response(exchange.response) for exchange in exchanges]


def parts(requests, responses):
    return [(r.method, r.uri, r.body, dict(r.headers)) for r in requests], responses


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("secret", [*VALUES.values(), OF_KNOWN_FORM], ids=[*VALUES, "a token"])
def test_no_secret_is_written(place, secret):
    exchange = PLACES[place](secret)
    secrets = Secrets.from_environment({} if secret == OF_KNOWN_FORM else {"SOME_API_KEY": secret})
    plain = file([exchange.request], [copy.deepcopy(exchange.response)])
    assert searching.places(plain, secret), "the search does not find what is there"
    with pytest.raises(SecretFound) as caught:
        secrets.check(plain, path=FILE)
    assert secret not in str(caught.value)

    requests, responses = scrubbed(secrets, exchange)
    for name, serializer in SERIALIZERS.items():
        if name == "yaml" or place not in BINARY:
            data = file(requests, copy.deepcopy(responses), serializer=serializer)
            assert not searching.places(data, secret)
            secrets.check(data, path=FILE)


@pytest.mark.parametrize("place", PLACES)
def test_scrubbing_again_changes_nothing_and_so_does_another_run(place):
    environ = {"SOME_API_KEY": VALUES["an awkward value"]}
    exchange = PLACES[place](environ["SOME_API_KEY"])
    once = scrubbed(Secrets.from_environment(environ), exchange)
    again = Secrets.from_environment(environ)
    assert parts(*scrubbed(again, exchange)) == parts(*once)
    requests = [again.scrub_request(request) for request in once[0]]
    responses = [again.scrub_response(response) for response in once[1]]
    assert parts(requests, responses) == parts(*once)


@pytest.mark.parametrize("place", PLACES)
def test_what_was_sent_and_received_is_left_alone(place):
    secret = VALUES["a variable's value"]
    secrets = Secrets.from_environment({"SOME_API_KEY": secret})
    exchange = PLACES[place](secret)
    request, response = exchange.request, exchange.response
    secrets.scrub_request(request)
    secrets.scrub_response(response)
    assert parts([request], [response]) == parts([exchange.request], [exchange.response])


@settings(deadline=None, derandomize=True, max_examples=80)
@given(
    st.text("abcdefXYZ0123456789+/=%&\"'\\ é_-", min_size=9, max_size=24).map("q7W9".__add__),
    st.sampled_from(sorted(PLACES)),
    st.text(max_size=12),
)
def test_any_value_of_the_environment(secret, place, before):
    secret = secret.strip()
    secrets = Secrets.from_environment({"SOME_API_KEY": secret})
    exchange = PLACES[place](secret)
    around = Exchange(body=message(f"{before}{secret}{before}{b64(before + secret)}"))
    requests, responses = scrubbed(secrets, exchange, around)
    data = file(requests, responses)
    assert not searching.places(data, secret)
    secrets.check(data, path=FILE)


@settings(deadline=None, derandomize=True, max_examples=40)
@given(st.lists(st.integers(1, 35), max_size=6), st.booleans())
def test_a_stream_split_anywhere(cuts, by_value):
    secret = VALUES["a variable's value"] if by_value else OF_KNOWN_FORM
    bounds = [0, *sorted(cut for cut in set(cuts) if cut < len(secret)), len(secret)]
    pieces = [secret[a:b] for a, b in pairwise(bounds)]
    secrets = Secrets.from_environment({"SOME_API_KEY": secret} if by_value else {})
    answer = events("It is ", *pieces, " as ever")
    response = secrets.scrub_response(Exchange(answer=answer).response)
    rows = response["body"]["string"].split(b"\n\n")[:-2]
    texts = [json.loads(row[6:])["choices"][0]["delta"]["content"] for row in rows]
    assert "".join(texts) == "It is SCRUBBED as ever"
    assert len(texts) == len(pieces) + 2


def test_the_content_length_is_that_of_what_is_written():
    secret = VALUES["a variable's value"]
    secrets = Secrets.from_environment({"SOME_API_KEY": secret})
    for place in ("JSON text", "gzip request", "gzip", "deflate", "form"):
        exchange = PLACES[place](secret)
        exchange.headers = {**exchange.headers, "Content-Length": str(len(exchange.body))}
        length = {"content-length": str(len(exchange.answer))}
        exchange.answer_headers = {**exchange.answer_headers, **length}
        [request], [response] = scrubbed(secrets, exchange)
        assert request.headers["Content-Length"] == str(len(request.body))
        written = response["body"]["string"]
        assert response["headers"]["content-length"] == [str(len(written))]
        assert (request.body, written) != (exchange.body, exchange.answer)


def test_cassette_04_a_secret_is_replaced_whenever_a_request_is_stored():
    """kevin1024/vcrpy#961: stored once filtered, stored again from the live request unfiltered."""
    planted = "SECRET_TOKEN_0001"
    live = [Exchange(headers={"Authorization": f"Bearer {planted}"}) for _ in range(2)]
    secrets = Secrets.from_environment({})
    requests, responses = scrubbed(secrets, *live)
    rewritten = [secrets.scrub_request(live[0].request)]  # the live one, in the stored one's place
    assert parts(rewritten, responses[:1]) == parts(requests[:1], responses[:1])
    assert searching.places(file(rewritten, responses[:1]), planted) == 0
    unfiltered = file([live[0].request], copy.deepcopy(responses[:1]))
    with pytest.raises(SecretFound, match=r"the header authorization .*interactions\[0\]"):
        Secrets.from_environment({}).check(unfiltered, path=FILE)


def test_cassette_05_a_token_in_an_answer_is_replaced_wherever_it_goes_on_to():
    """kiwicom/pytest-recording#94: a login's answer holds the token; headers are filtered only."""
    planted = "tok_0001"
    login = Exchange(answer=json.dumps({"access_token": planted, "expires_in": 3600}).encode())
    later = Exchange(
        uri=f"https://api.example.com/me?t={planted}",
        headers={"Authorization": f"Bearer {planted}", "x-echo": planted},
        body=message(f"the tool said {planted}"),
        answer=b'{"seen": "tok_0001", "n": 3600}',
        answer_headers={"Set-Cookie": f"s={planted}"},
    )
    filtered = file([login.request], [copy.deepcopy(login.response)])
    with pytest.raises(SecretFound, match="the value of key 'access_token'"):
        Secrets.from_environment({}).check(filtered, path=FILE)

    secrets = Secrets.from_environment({})
    requests, responses = [], []
    for exchange in (login, later):
        requests.append(secrets.scrub_request(exchange.request))
        responses.append(secrets.scrub_response(exchange.response))
    assert json.loads(responses[0]["body"]["string"]) == {
        "access_token": "SCRUBBED",
        "expires_in": 3600,
    }
    data = file(requests, responses)
    assert searching.places(data, planted) == 0
    secrets.check(data, path=FILE)
