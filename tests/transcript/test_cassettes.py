"""A cassette's requests and responses as values: what vcrpy and its kin write, and nothing else."""

import base64
import gzip
import io
import json
import sys
import zlib
from contextlib import suppress
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from vcr.serializers import jsonserializer, yamlserializer

from fixtures.broken import make_cassettes
from pytest_ctxguard.errors import TranscriptError
from pytest_ctxguard.transcript.cassettes import bodies, yaml_form
from pytest_ctxguard.transcript.cassettes.bodies import LIMIT, decompressed, read_body
from pytest_ctxguard.transcript.cassettes.interactions import interactions, is_cassette
from pytest_ctxguard.transcript.document import Document

FOLDER = Path(__file__).parents[2] / "fixtures" / "broken"
CASSETTES = Path(__file__).parents[2] / "fixtures" / "cassettes"
BODY = json.dumps(
    {"model": "m", "messages": [{"role": "user", "content": "Привет, 世界 \U0001f525"}]}
)


def document(text, name="a.yaml"):
    return Document(name, text if isinstance(text, bytes) else text.encode())


def as_read(recorded, *, serializer=yamlserializer):
    """Write interactions as vcrpy does, and read them."""
    text = serializer.serialize({"interactions": recorded, "version": 1})
    return interactions(document(text))[0]


def one(body=BODY, *, answer=BODY, headers=None, **more):
    return {
        "request": {"method": "post", "uri": "https://a/v1/x?key=k", "body": body, "headers": {}},
        "response": {
            "status": {"code": 200, "message": "OK"},
            "headers": headers or {},
            "body": {"string": answer},
        },
        **more,
    }


@pytest.mark.parametrize("serializer", [yamlserializer, jsonserializer], ids=["yaml", "json"])
def test_an_interaction_has_all_that_vcrpy_wrote(serializer):
    headers = {"Content-Type": ["application/json"], "Set-Cookie": ["a=1", "b=2"]}
    second = one(answer="", recorded_at="2025-12-01T09:00:00Z", took=3)
    found = as_read([one(headers=headers), second], serializer=serializer)
    assert [(i.number, i.method, i.path, i.status) for i in found] == [
        (1, "POST", "/v1/x", 200),
        (2, "POST", "/v1/x", 200),
    ]
    assert found[0].response_headers == {
        "content-type": "application/json",
        "set-cookie": "a=1, b=2",
    }
    assert found[0].request_body() == found[0].response_body() == BODY
    assert found[1].response_body() is None
    assert found[1].recorded_at == "2025-12-01T09:00:00Z"
    assert (found[0].unknown, found[1].unknown) == ((), ("took",))


@pytest.mark.parametrize(
    ("serializer", "begins"), [(yamlserializer, "- request:"), (jsonserializer, "        {")]
)
def test_an_interaction_knows_its_line(serializer, begins):
    text = serializer.serialize({"interactions": [one(), one(), one()], "version": 1})
    lines = [n for n, line in enumerate(text.split("\n"), 1) if line == begins]
    if serializer is yamlserializer:  # `request` is not its first key
        lines = [n for n, line in enumerate(text.split("\n"), 1) if line.startswith("- ")]
    assert len(lines) == 3
    assert [i.line for i in interactions(document(text))[0]] == lines


def test_json_in_one_line_has_no_lines():
    text = json.dumps({"version": 1, "interactions": [one()], "metadata": {}})
    found, further = interactions(document(text))
    assert [i.line for i in found] == [None]
    assert further == ("metadata",)


def test_json_that_is_cut_says_where():
    text = jsonserializer.serialize({"version": 1, "interactions": [one(), one()]})
    with pytest.raises(TranscriptError, match=r"a.yaml:\d\d: not JSON .* may be truncated"):
        interactions(document(text[:-60]))


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (
            '{"interactions": [{"request": {"uri": "a", "uri": "b"}}]}',
            "a second 'uri' in one object",
        ),
        ('{"interactions": [' + "[" * 100_000, "nested too deep"),
        ('[{"request": {}}]', "from before vcrpy 1.0"),
    ],
)
def test_json_that_is_no_cassette(text, what):
    with pytest.raises(TranscriptError, match=what):
        interactions(document(text))


TEXTS = st.text(
    st.characters(exclude_categories=["Cs", "Cc", "Cn", "Co"]) | st.sampled_from("\n\t")
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXTS | st.binary(),
    lambda inner: st.lists(inner) | st.dictionaries(TEXTS, inner),
    max_leaves=20,
)


@settings(deadline=None)
@given(VALUES)
def test_what_vcrpy_writes_is_read_as_it_was(value):
    text = yamlserializer.serialize({"interactions": [], "metadata": value, "version": 1})
    assert yaml_form.parse(document(text))[0]["metadata"] == value


@settings(deadline=None)
@given(VALUES)
def test_without_libyaml_the_same_is_read(value):
    text = yamlserializer.serialize({"interactions": [one()], "metadata": value, "version": 1})
    fast = yaml_form.parse(document(text))
    with pytest.MonkeyPatch.context() as patch:
        patch.delattr(yaml, "CSafeLoader", raising=False)
        assert yaml_form.parse(document(text)) == fast


def test_values_that_repeat_are_written_as_aliases_and_read():
    shared = {"Content-Type": ["application/json"]}
    text = yamlserializer.serialize(
        {"interactions": [one(headers=shared), one(headers=shared)], "version": 1}
    )
    assert "*id001" in text
    found = interactions(document(text))[0]
    assert found[0].response_headers == found[1].response_headers != {}


@pytest.mark.parametrize(
    ("body", "read"),
    [
        ("!!python/unicode 'a: b'", "a: b"),
        ("!!python/str x", "x"),
        ("!!python/tuple [a, b]", "ab"),
        ("!!binary aGk=", "hi"),
        ("2025-12-01", "2025-12-01"),
        ("null", None),
        ("{}", None),
        ("{string: x}", "x"),
        ("{base64_string: aGk=}", "hi"),
    ],
)
def test_the_tags_and_shapes_that_bodies_have(body, read):
    text = make_cassettes.cassette(make_cassettes.interaction(request=f"body: {body}"))
    assert interactions(document(text))[0][0].request_body() == read


@pytest.mark.parametrize(
    "body", [io.BytesIO(b"a file"), iter([b"a ", b"file"])], ids=["file", "iter"]
)
def test_a_body_that_was_a_file_or_in_pieces(body):
    """The two tags of Python objects that vcrpy still writes; only their bytes are read."""
    assert "!!python/object" in yamlserializer.serialize({"body": body})
    pieces = io.BytesIO(b"a file") if isinstance(body, io.BytesIO) else iter([b"a ", b"file"])
    assert as_read([one(pieces)])[0].request_body() == "a file"


def test_a_parsed_body_is_taken_as_it_is():
    text = make_cassettes.cassette(
        make_cassettes.interaction(request="parsed_body: {model: m, n: 1, on: yes}")
    )
    assert interactions(document(text))[0][0].request_body() == {"model": "m", "n": 1, "on": True}


def test_the_old_form_of_httpx_responses():
    recorded = one()
    recorded["response"] = {
        "status_code": 201,
        "headers": {},
        "content": b"hi",
        "http_version": "1",
    }
    found = as_read([recorded])[0]
    assert (found.status, found.response_body()) == (201, "hi")


def body(data, *, encoding=None, content_type="application/json"):
    headers = {"content-type": content_type}
    return read_body({"body": data}, headers | ({"content-encoding": encoding} if encoding else {}))


RAW = zlib.compressobj(wbits=-15)


@pytest.mark.parametrize(
    ("data", "encoding"),
    [
        (gzip.compress(BODY.encode()), "gzip"),
        (gzip.compress(BODY.encode()), "x-GZIP"),
        (gzip.compress(BODY.encode()), None),
        (gzip.compress(BODY[:9].encode()) + gzip.compress(BODY[9:].encode()), "gzip"),
        (zlib.compress(BODY.encode()), "deflate"),
        (RAW.compress(BODY.encode()) + RAW.flush(), "deflate"),
        (gzip.compress(zlib.compress(BODY.encode())), "deflate, gzip"),
        (BODY.encode(), "identity"),
        (BODY.encode(), "gzip"),
        (BODY.encode(), "br"),
        (BODY.encode("utf-8-sig"), None),
        (BODY, "gzip"),
    ],
)
def test_compressed_bodies(data, encoding):
    assert body(data, encoding=encoding) == BODY


def test_a_body_in_another_charset():
    assert body("é".encode("latin-1"), content_type="text/plain; charset=ISO-8859-1") == "é"


def test_an_aws_event_stream_stays_bytes():
    data = b"\x00\x00\x00\x10"
    kind = "application/vnd.amazon.eventstream"
    assert body(data, content_type=kind) == body(data.decode(), content_type=kind) == data


@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
def test_a_bomb_is_refused_before_it_is_large(encoding):
    wbits = {"gzip": 31, "deflate": 15}[encoding]
    packer = zlib.compressobj(9, wbits=wbits)
    zeros = bytes(2**20)
    data = b"".join(packer.compress(zeros) for _ in range(LIMIT // 2**20)) + packer.compress(b"0")
    data += packer.flush()
    assert len(data) < 2**17
    with pytest.raises(ValueError, match="more than 64 MiB when decompressed"):
        decompressed(data, encoding)


def test_a_body_of_the_largest_size_is_read(monkeypatch):
    monkeypatch.setattr(bodies, "LIMIT", 1000)
    assert decompressed(gzip.compress(bytes(1000)), "gzip") == bytes(1000)
    with pytest.raises(ValueError, match="more than"):
        decompressed(gzip.compress(bytes(1001)), "gzip")
    assert body("x" * 1000) == "x" * 1000
    with pytest.raises(ValueError, match="more than"):
        body("x" * 1001)


def compressed_by(name, data):
    library = pytest.importorskip(name)
    return library.compress(data)


LIBRARIES = [("brotli", "br"), ("zstandard", "zstd")]


@pytest.mark.parametrize(("library", "encoding"), LIBRARIES)
def test_encodings_that_need_a_library(library, encoding):
    data = compressed_by(library, BODY.encode() * 50)
    assert body(data, encoding=encoding) == BODY * 50
    with pytest.raises(ValueError, match="is cut off"):
        body(data[:-5], encoding=encoding)
    with pytest.raises(ValueError, match="is damaged"):
        body(data[:3] + b"\xff\x00\xff\xff" + data[7:], encoding=encoding)


@pytest.mark.parametrize(("library", "encoding"), LIBRARIES)
def test_a_bomb_that_needs_a_library(library, encoding, monkeypatch):
    monkeypatch.setattr(bodies, "LIMIT", 2**20)
    data = compressed_by(library, bytes(2**20 + 1))
    with pytest.raises(ValueError, match="more than"):
        decompressed(data, encoding)


@pytest.mark.parametrize(("library", "encoding"), LIBRARIES)
def test_a_library_that_is_not_there_is_named(library, encoding, monkeypatch):
    monkeypatch.setitem(sys.modules, library, None)
    what = rf"'{encoding}', which needs {library}. Install {library}"
    with pytest.raises(ValueError, match=what):
        body(b"\x1b\x00\xf8", encoding=encoding)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("interactions:\n- request:", True),
        ("\ufeff---\nversion: 1\ninteractions: []\n", True),
        ("- request:\n    body: x\n", True),
        ('{"version": 1, "interactions": [{"request": {', True),
        ('{"version": 1, "interactions": []}', True),
        ('{"interactions": 3}', False),
        ("interactions:", True),
        ("\ufeffinteractions:\n  - request:\n", True),
        ("---\n- request:\n    body: x\n", True),
        ("http_interactions:\n- request:\n", False),
        ("# Notes\n\ninteractions:\n- he clicked\n", False),
        ('{"role": "user", "content": "interactions:"}', False),
        ("", False),
        ("\x00\xff", False),
    ],
)
def test_a_cassette_is_known_by_its_first_key(text, expected):
    assert is_cassette(document(text)) is expected


@settings(deadline=None, max_examples=200)
@given(st.data())
def test_a_damaged_cassette_is_an_error_of_ours_or_read(data):
    """Whatever the bytes: no other exception."""
    whole = data.draw(
        st.sampled_from([*make_cassettes.files().values(), make_cassettes.GOOD.encode()])
    )
    at = data.draw(st.integers(0, len(whole) - 1))
    kept = data.draw(st.integers(0, len(whole)))
    damaged = whole[:at] + data.draw(st.binary(max_size=4)) + whole[at + 1 :][:kept]
    found = ()
    with suppress(TranscriptError):
        found = interactions(document(damaged))[0]
    for interaction in found:
        with suppress(ValueError):
            assert isinstance(interaction.request_body(), str | None)


def test_the_broken_files_are_those_that_the_script_writes(tmp_path, capsys):
    make_cassettes.main(tmp_path)
    written = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert capsys.readouterr().out == f"{len(written)} files written to {tmp_path}\n"
    assert written == {path.name: path.read_bytes() for path in FOLDER.glob("*.cassette.yaml")}


def test_base64_of_several_lines():
    data = base64.encodebytes(BODY.encode() * 3).decode()
    assert data.count("\n") > 1
    assert read_body({"body": {"base64_string": data}}, {}) == BODY * 3
