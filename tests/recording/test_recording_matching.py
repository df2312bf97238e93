"""Which requests match, and what is said of one that does not."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from vcr.request import Request

from pytest_ctxguard.errors import RecordingError, UsageError
from pytest_ctxguard.recording.bodies import body_bytes, unpacked
from pytest_ctxguard.recording.canonical import canonical
from pytest_ctxguard.recording.cassette import Interaction
from pytest_ctxguard.recording.differing import differences, first_difference, shared_length
from pytest_ctxguard.recording.ignoring import read_fields, without
from pytest_ctxguard.recording.missing import Place, missing
from pytest_ctxguard.recording.storage import rendered

URL = "https://api.example.com/v1/chat/completions"


def sent(body=None, *, method="POST", url=URL, ignore=(), **headers):
    if isinstance(body, dict):
        body = json.dumps(body)
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return canonical(Request(method, url, body, named), read_fields(ignore))


def matches(first, second):
    return first.identity == second.identity


ALIKE = [
    (sent('{"a": 1, "b": [1.0, "é"]}'), sent('{"b":[1,"\\u00e9"], "a":1.0}')),
    (sent(url="https://API.example.com"), sent(url="https://api.example.com:443/")),
    (sent(url=f"{URL}?b=2&a=1"), sent(url=f"{URL}?a=1&b=2")),
    (sent(method="post"), sent(method="POST")),
    (sent(b""), sent(None)),
    (sent("x=1&y=2"), sent(b"x=1&y=2")),
    (
        sent(b"--Ab1\r\nx\r\n--Ab1--", content_type='multipart/form-data; boundary="Ab1"'),
        sent(b"--Zz9\r\nx\r\n--Zz9--", content_type="multipart/form-data; boundary=Zz9"),
    ),
    (sent("NaN", content_type="application/json"), sent("NaN", content_type="application/json")),
]
DIFFERENT = [
    (sent({"a": 1}), sent({"a": True})),
    (sent({"a": 1}), sent({"a": "1"})),
    (sent({"a": None}), sent({})),
    (sent({"a": [1, 2]}), sent({"a": [2, 1]})),
    (sent({"a": 2**53 + 1}), sent({"a": float(2**53)})),
    (sent("[]"), sent("{}")),
    (sent(b"\x00\x01"), sent(b"\x00\x02")),
    (sent("x=1&y=2"), sent("y=2&x=1")),
    (sent("{broken"), sent("{broken}")),
    (sent(url=f"{URL}?a="), sent(url=URL)),
    (sent(url=URL.replace("https", "http")), sent(url=URL)),
    (sent(url=f"{URL}/"), sent(url=URL)),
    (sent(method="PUT"), sent(method="POST")),
]


@pytest.mark.parametrize(("first", "second"), ALIKE)
def test_alike(first, second):
    assert matches(first, second)
    assert first_difference(first, second) is None


@pytest.mark.parametrize(("first", "second"), DIFFERENT)
def test_different(first, second):
    assert not matches(first, second)
    assert first_difference(first, second) is not None


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=12,
)


@given(JSON, JSON)
def test_two_bodies_match_exactly_where_no_place_differs(first, second):
    one, two = sent({"it": first}), sent({"it": second})
    assert matches(one, two) == (not list(differences(one.body, two.body)))
    assert matches(one, sent({"it": first}))


@given(JSON)
def test_no_spelling_of_json_matters(value):
    plain = json.dumps({"it": value, "z": 0})
    spaced = json.dumps({"z": 0, "it": value}, indent=3, ensure_ascii=False)
    encoded = spaced.encode("utf-8", "surrogatepass")
    assert matches(sent(plain), sent(plain + "\n"))
    if "\\ud" not in plain:  # a lone surrogate is no UTF-8, and compared as bytes
        assert matches(sent(plain), sent(encoded))


def test_what_is_nested_too_deep_is_compared_by_bytes():
    deep = '{"a":' * 300 + "1" + "}" * 300
    assert isinstance(sent(deep).body, bytes)
    assert not matches(sent(deep), sent(deep + " "))


@given(st.text(alphabet="ab"), st.text(alphabet="ab"))
def test_the_shared_length_is_that_of_the_common_beginning(first, second):
    length = shared_length(first, second)
    assert first[:length] == second[:length]
    assert first[length : length + 1] != second[length : length + 1] or length == len(first)


IGNORED = [
    (["metadata.request_id"], {"metadata": {"user": 1}, "messages": [{"id": 1}, {"id": 2}]}),
    (["metadata"], {"messages": [{"id": 1}, {"id": 2}]}),
    (["*.request_id"], {"metadata": {"user": 1}, "messages": [{"id": 1}, {"id": 2}]}),
    (
        ["messages.*.id"],
        {"metadata": {"request_id": "x", "user": 1}, "messages": [{}, {}]},
    ),
    (
        ["messages[1]"],
        {"metadata": {"request_id": "x", "user": 1}, "messages": [{"id": 1}, "(ignored)"]},
    ),
    (
        ["nothing.here", "metadata.request_id.deeper"],
        {"metadata": {"request_id": "x", "user": 1}, "messages": [{"id": 1}, {"id": 2}]},
    ),
]


@pytest.mark.parametrize(("paths", "left"), IGNORED)
def test_ignored_fields_are_left_out(paths, left):
    body = {"metadata": {"request_id": "x", "user": 1}, "messages": [{"id": 1}, {"id": 2}]}
    before = json.dumps(body)
    assert without(body, read_fields(paths)) == left
    assert json.dumps(body) == before


@pytest.mark.parametrize("path", ["", ".", "a..b", "*", "*.*", 3, None])
def test_what_is_no_field_is_refused(path):
    with pytest.raises(UsageError, match="names no field"):
        read_fields([path])


def test_ignored_fields_do_not_count_in_matching():
    first = sent({"metadata": {"id": 1}, "n": 1}, ignore=["metadata.id"])
    assert matches(first, sent({"metadata": {"id": 2}, "n": 1}, ignore=["metadata.id"]))
    assert not matches(first, sent({"metadata": {"id": 1}, "n": 2}, ignore=["metadata.id"]))


def test_a_body_of_many_kinds_is_bytes():
    assert body_bytes(None) == b""
    assert body_bytes("é") == "é".encode()
    assert body_bytes(bytearray(b"x")) == b"x"
    assert body_bytes(iter([b"a", "b"])) == b"ab"
    assert body_bytes([b"a", b"b"]) == b"ab"
    assert json.loads(body_bytes({"a": ["b"]})) == {"a": ["b"]}
    for unknown in (object(), {"file": b"x"}, iter([1])):
        with pytest.raises(RecordingError, match="cannot be recorded"):
            body_bytes(unknown)


def test_a_bomb_is_not_unpacked(monkeypatch):
    import gzip

    from pytest_ctxguard.recording import bodies

    data = gzip.compress(bytes(10_000))
    assert unpacked(data, "gzip") == bytes(10_000)
    monkeypatch.setattr(bodies, "UNPACKED_LIMIT", 9_999)
    assert unpacked(data, "gzip") is None


def test_an_unknown_or_wrong_encoding_is_not_undone():
    assert unpacked(b"x", "br") is None
    assert unpacked(b"x", "gzip") is None
    assert unpacked(b"x", "") == unpacked(b"x", "identity") == b"x"


@given(st.text() | st.binary())
def test_any_body_comes_back_from_the_file_as_it_was(body):
    from vcr.serialize import deserialize
    from vcr.serializers import yamlserializer

    data = body.encode("utf-8", "replace") if isinstance(body, str) else body
    request = Request("POST", URL, data, {})
    response = {
        "status": {"code": 200, "message": "OK"},
        "headers": {},
        "body": {"string": data},
    }
    text = rendered([Interaction(request, response, canonical(request))], {}).decode()
    requests, responses, *_ = deserialize(text, yamlserializer)
    assert requests[0].body == data
    assert responses[0]["body"]["string"] == data
    assert response["body"]["string"] == data


def recorded(*bodies, played=(), **options):
    return [
        Interaction(None, {}, sent(body, **options), played=n in played)
        for n, body in enumerate(bodies)
    ]


def chat(*texts, **more):
    return {"model": "m", "messages": [{"role": "user", "content": t} for t in texts], **more}


@pytest.fixture
def place(tmp_path):
    path = tmp_path / "cassettes" / "test_m" / "test_it.yaml"
    path.parent.mkdir(parents=True)
    path.write_text("interactions: []\n")
    return Place(
        "tests/test_m.py::test_it", path, "cassettes/test_m/test_it.yaml", "none (default)"
    )


def test_a_miss_names_the_nearest_request_and_the_first_difference(place):
    known = recorded(chat("What is it?"), chat("What is it?", "x" * 500 + "one"), {"input": "x"})
    now = sent(chat("What is it?", "x" * 500 + "two"))

    text = str(missing(now, known, place))

    around = "…" + "x" * 20
    assert text.splitlines() == [
        "a request is not recorded, and record mode none (default) sends none",
        "  test       tests/test_m.py::test_it",
        f"  sent       POST {URL}",
        "  cassette   cassettes/test_m/test_it.yaml (3 requests, 0 replayed so far)",
        "  nearest    request 2 of 3",
        f'  differs    messages[1].content: recorded "{around}one", sent "{around}two"',
        "  remedy     if the change is meant, record again: "
        "pytest --ctxguard --ctxguard-record=all 'tests/test_m.py::test_it'",
        "             if it changes in every run, leave it out: "
        '@pytest.mark.ctx_cassette(ignore=["messages[1].content"])',
    ]


DIFFERING = [
    (
        chat("a"),
        chat("a", "b"),
        'messages[1]: recorded nothing, sent {"role": "user", "content": "b"',
    ),
    (chat("a", n=1), chat("a"), "n: recorded 1, sent nothing"),
    (chat("a", n=1, t=0), chat("b", n=2, t=1), 'recorded "a", sent "b" (and 2 more)'),
    ({"a": True}, {"a": 1}, "a: recorded true, sent 1"),
    ("plain one", "plain two", "body: recorded 9 bytes b'plain one', sent 9 bytes b'plain two'"),
    ("", {"a": 1}, 'body: recorded no body, sent {"a": 1}'),
]


@pytest.mark.parametrize(("before", "now", "said"), DIFFERING)
def test_the_difference_is_shown(place, before, now, said):
    assert said in str(missing(sent(now), recorded(before), place))


def test_a_difference_of_the_address_comes_first(place):
    known = recorded(chat("a"), url="http://localhost:8000/v1/chat/completions")
    text = str(missing(sent(chat("b")), known, place))
    assert "nearest    request 1 of 1: POST http://localhost:8000/v1/chat/completions" in text
    assert 'differs    scheme: recorded "http", sent "https" (and 3 more)' in text


def test_the_same_path_is_nearer_than_the_same_body(place):
    other = recorded(chat("a"), url="https://api.example.com/v1/models")
    text = str(missing(sent(chat("zzz")), [*other, *recorded(chat("b"))], place))
    assert "nearest    request 2 of 2" in text


def test_a_request_sent_more_often_than_recorded_says_so(place):
    known = recorded(chat("a"), chat("a"), played={0, 1})
    text = str(missing(sent(chat("a")), known, place))
    assert "(2 requests, 2 replayed so far)" in text
    assert "differs    nowhere; recorded 2 times, and sent once more than that" in text
    assert "--ctxguard-record=new_episodes" in text


def test_without_a_cassette_the_remedy_is_to_record_once(place):
    place.path.unlink()
    text = str(missing(sent(chat("a")), [], place))
    assert "cassettes/test_m/test_it.yaml (there is none)" in text
    assert "record it once: pytest --ctxguard --ctxguard-record=once" in text


def test_another_cassette_that_holds_the_request_is_named(place):
    request = Request("POST", URL, json.dumps(chat("a")), {})
    response = {"status": {"code": 200, "message": "OK"}, "headers": {}, "body": {"string": b""}}
    other = place.path.with_name("test_other.yaml")
    other.write_bytes(rendered([Interaction(request, response, canonical(request))], {}))
    place.path.with_name("broken.yaml").write_text("{")

    text = str(missing(sent(chat("a")), [], place))

    assert "elsewhere  test_other.yaml holds this request" in text
    assert 'ctx_cassette(also=["test_other.yaml"])' in text
    assert "elsewhere" not in str(missing(sent(chat("b")), [], place))
