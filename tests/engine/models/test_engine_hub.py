"""Models from a hub: the real client against a stand-in of the hub on this machine."""

from __future__ import annotations

import hashlib
import importlib
import json
import shutil
from collections import namedtuple
from pathlib import Path

import onnxruntime
import pytest

from pytest_ctxguard.engine.models import hub as hub_module
from pytest_ctxguard.engine.models import store
from pytest_ctxguard.engine.models.hub_name import HubName
from pytest_ctxguard.errors import FetchError, ModelCorrupt, ModelError, ModelMissing
from tests.engine.fakes import Conversions, flip
from tests.engine.hub_server import COMMITS, Hub
from tests.engine.tiny_hub import write_tiny_hub

client = pytest.importorskip("huggingface_hub")

EXPORTED = Path(__file__).parents[1] / "data" / "tiny-optimum"
WEIGHTS = bytes(range(256)) * 4000  # 1 MB
GGUF = {"tiny-q8.gguf": WEIGHTS, "README.md": b"---\nlicense: apache-2.0\n---\n"}
LAYOUT = {
    "config.json": b"{}",
    "tokenizer.json": b'{"big": "' + b"x" * 2000 + b'"}',
    "tokenizer_config.json": b"{}",
    "model.safetensors": WEIGHTS,
    "README.md": b"read me",
    "pytorch_model.bin": b"never fetched" * 100,
}
EXPORT = {
    "config.json": b"{}",
    "tokenizer.json": b"{}",
    "onnx/model.onnx": b"graph" * 300,
    "onnx/model.onnx_data": WEIGHTS,
    "onnx/model_fp16.onnx": b"half" * 300,
}


@pytest.fixture
def conversions():
    return Conversions()


@pytest.fixture
def serve(monkeypatch, cache):
    """Start a hub with some files, and point the client at it."""
    hubs = []
    for name in ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HF_HUB_DISABLE_IMPLICIT_TOKEN", "0")
    monkeypatch.setattr(hub_module, "PAUSE", 0.01)

    def start(files):
        hubs.append(Hub(files))
        monkeypatch.setenv("HF_ENDPOINT", hubs[-1].url)
        return hubs[-1]

    yield start
    client.close_session()
    for each in hubs:
        each.close()


@pytest.fixture
def resolve(conversions):
    def call(name="org/tiny", function=store.resolve, **options):
        if function is store.resolve:
            options = {"fetch": True, **options}
        return function(name, tools=conversions.tools(), **options)

    return call


def test_a_gguf_is_fetched_once_and_named_by_its_commit(serve, resolve, conversions, cache):
    hub, told = serve(GGUF), []
    with pytest.raises(ModelMissing, match="`pytest-ctxguard fetch org/tiny`"):
        resolve(fetch=False)
    assert hub.asked == []
    files = resolve(progress=lambda *step: told.append(step))
    assert (files.name, files.repo, files.commit) == ("org/tiny", "org/tiny", COMMITS["main"])
    assert files.licence == "apache-2.0"
    assert files.source_sha256 == hashlib.sha256(WEIGHTS).hexdigest()
    assert (files.folder / "model.onnx.data").read_bytes() == WEIGHTS[::-1]
    assert told[0] == ("fetching org/tiny", 0, len(WEIGHTS))
    assert ("fetching org/tiny", len(WEIGHTS), len(WEIGHTS)) in told
    assert {path for path, _, _ in hub.asked if "tiny" in path} == {
        "/api/models/org/tiny",
        f"/org/tiny/resolve/{COMMITS['main']}/tiny-q8.gguf",
    }
    hub.asked.clear()
    assert resolve(fetch=False) == files
    assert (hub.asked, conversions.made) == ([], 1)


def test_a_safetensors_layout_brings_only_what_is_needed(serve, resolve, conversions):
    hub = serve(LAYOUT)
    files = resolve("org/tiny@v1")
    assert files.commit == COMMITS["v1"]
    folder = conversions.read[0]
    assert {path.name for path in folder.iterdir()} == {*LAYOUT} - {
        "README.md",
        "pytorch_model.bin",
    }
    assert (folder / "model.safetensors").read_bytes() == WEIGHTS
    lines = "".join(
        sorted(
            f"{path.name} {hashlib.sha256(path.read_bytes()).hexdigest()}\n"
            for path in folder.iterdir()
        )
    )
    assert files.source_sha256 == hashlib.sha256(lines.encode()).hexdigest()
    hub.commits["v1"] = "c" * 40
    assert resolve("org/tiny@v1", function=store.repair).commit == COMMITS["v1"]


def test_an_export_needs_a_choice_and_no_conversion(serve, resolve, conversions):
    hub = serve(EXPORT)
    with pytest.raises(ModelError, match=r"org/tiny: holds 2 models\. Choose one:") as caught:
        resolve()
    assert str(caught.value).splitlines()[1:] == [
        "  org/tiny:onnx/model.onnx  (optimum)",
        "  org/tiny:onnx/model_fp16.onnx  (optimum)",
    ]
    with pytest.raises(ModelError, match="'onnx' does not name one of its models"):
        resolve("org/tiny:onnx")
    files = resolve("org/tiny:onnx/model.onnx")
    assert (files.format, files.commit, conversions.made) == ("optimum", COMMITS["main"], 0)
    assert files.graph == files.folder / "onnx" / "model.onnx"
    assert (files.folder / "onnx" / "model.onnx_data").read_bytes() == WEIGHTS
    assert hub.downloads("onnx/model_fp16.onnx") == []
    files.check()
    flip(files.folder / "onnx" / "model.onnx_data")
    with pytest.raises(ModelCorrupt, match=r"model\.onnx_data: expected sha256"):
        resolve("org/tiny:onnx/model.onnx").check()
    resolve("org/tiny:onnx/model.onnx", function=store.repair).check()
    assert len(hub.downloads("onnx/model.onnx_data")) == 2
    assert len(hub.downloads("onnx/model.onnx")) == 1


def test_a_cut_connection_is_continued_where_it_ended(serve, resolve):
    hub, told = serve(GGUF), []
    hub.cut_after["tiny-q8.gguf"] = [300_000, 100_000]
    files = resolve(progress=lambda *step: told.append(step))
    assert (files.folder / "model.onnx.data").read_bytes() == WEIGHTS[::-1]
    assert hub.downloads("tiny-q8.gguf") == ["", "bytes=300000-", "bytes=400000-"]
    told = [done for label, done, _ in told if "fetching" in label]
    assert told == sorted(told)
    assert {0, 300_000, 400_000, len(WEIGHTS)} <= set(told)


def test_a_fetch_given_up_is_continued_by_the_next(serve, resolve, cache):
    hub = serve(GGUF)
    hub.cut_after["tiny-q8.gguf"] = [300_000, *[0] * hub_module.TRIES]
    with pytest.raises(FetchError, match=r"did not give org/tiny whole.*what came is kept"):
        resolve()
    with pytest.raises(ModelMissing):
        resolve(fetch=False)
    told = []
    resolve(progress=lambda *step: told.append(step))
    assert told[0][0].startswith("continuing the download of org/tiny: an earlier one was cut")
    assert hub.downloads("tiny-q8.gguf")[-1] == "bytes=300000-"
    assert list(cache.rglob("*.partial")) == []


@pytest.mark.parametrize("name", ["model.safetensors", "config.json"])
def test_other_bytes_never_become_a_model(serve, resolve, conversions, cache, name):
    hub = serve(LAYOUT)
    hub.sent[name] = hub.sent[name][:-1] + b"?"
    with pytest.raises(ModelCorrupt, match=rf"org/tiny: {name} is not what the hub states"):
        resolve()
    assert conversions.made == 0
    assert [path.name for path in cache.rglob(f"{name}*")] == []
    with pytest.raises(ModelMissing):
        resolve(fetch=False)
    hub.sent = hub.files
    assert resolve().name == "org/tiny"


def test_a_damaged_file_is_named_and_mended(serve, resolve, conversions):
    hub = serve(LAYOUT)
    folder = resolve().folder
    shutil.rmtree(folder)
    flip(conversions.read[0] / "tokenizer.json")
    with pytest.raises(
        ModelCorrupt, match=r"tokenizer\.json: not the bytes of commit aaaaaaaaaaaa"
    ):
        resolve()
    resolve(function=store.repair).check()
    assert len(hub.downloads("tokenizer.json")) == 2
    assert len(hub.downloads("model.safetensors")) == 1


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("org/none", r"shows no repository org/none: .* private"),
        ("org/tiny@v9", r"org/tiny has no revision 'v9'"),
        ("org/tiny:other.gguf", r"'other\.gguf' does not name one of its models"),
    ],
)
def test_what_is_not_there_is_named(serve, resolve, name, message):
    serve(GGUF)
    with pytest.raises(ModelError, match=message):
        resolve(name)


def test_a_file_that_vanished_is_an_error(serve, resolve):
    hub = serve(GGUF)
    del hub.sent["tiny-q8.gguf"]
    with pytest.raises(FetchError, match=r"RemoteEntryNotFoundError: 404"):
        resolve()


def test_a_repository_without_a_model_says_what_it_holds(serve, resolve):
    serve({"README.md": b"x", "tiny-00001-of-00002.gguf": b"y"})
    with pytest.raises(ModelError, match=r"no model this engine can run.*README.*join them first"):
        resolve()


def test_a_gated_repository_wants_a_token(serve, resolve, monkeypatch):
    hub = serve(GGUF)
    hub.token = "hf_secret"  # noqa: S105 - of the stand-in
    with pytest.raises(FetchError, match=r"accepted its terms.*HF_TOKEN"):
        resolve()
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    assert resolve().repo == "org/tiny"
    assert {who for path, _, who in hub.asked[1:] if "tiny" in path} == {"Bearer hf_secret"}


def test_the_token_stays_with_the_hub(serve, resolve, monkeypatch):
    bucket = serve(LAYOUT)
    bucket.cut_after["model.safetensors"] = [1000]
    hub = serve(LAYOUT)
    hub.token = "hf_secret"  # noqa: S105 - of the stand-in
    hub.elsewhere = bucket.url
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    assert resolve().repo == "org/tiny"
    assert bucket.downloads("model.safetensors") == ["", "bytes=1000-"]
    assert {who for _, _, who in bucket.asked} == {""}
    assert len(hub.downloads("model.safetensors")) == 2


def test_without_a_network_what_is_here_works_and_the_rest_says_why(serve, resolve, monkeypatch):
    hub = serve(GGUF)
    files = resolve()
    hub.close()
    client.close_session()
    assert resolve() == files
    with pytest.raises(FetchError, match=rf"{hub.url} did not give org/other whole \(ConnectError"):
        resolve("org/other")
    monkeypatch.setattr(client.constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(FetchError, match="HF_HUB_OFFLINE forbids"):
        resolve("org/other")
    assert resolve() == files
    hub.__init__(GGUF)  # for the fixture to close


def test_without_the_client_the_extra_is_named(cache, resolve, monkeypatch):
    real = importlib.import_module

    def missing(name):
        if name == "huggingface_hub":
            raise ModuleNotFoundError("No module named 'huggingface_hub'")
        return real(name)

    monkeypatch.setattr(importlib, "import_module", missing)
    with pytest.raises(ModelError, match=r"pip install 'pytest-ctxguard\[hub\]'"):
        resolve()


def test_a_full_disk_is_noticed_before_the_download(serve, resolve, monkeypatch):
    hub = serve(GGUF)
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage(10, 10, 100))
    with pytest.raises(FetchError, match=r"fetching org/tiny needs .* are free"):
        resolve()
    assert hub.downloads("tiny-q8.gguf") == []


def test_names_that_lead_out_of_the_entry_are_refused(serve, resolve):
    serve({"../../evil.gguf": b"x"})
    with pytest.raises(ModelError, match=r"names a file '\.\./\.\./evil\.gguf'; refused"):
        resolve()


def test_a_broken_record_is_corrupt(serve, resolve, cache):
    serve(GGUF)
    resolve()
    record = cache / "hub--org%2Ftiny" / "origin.json"
    assert json.loads(record.read_text())["commit"] == COMMITS["main"]
    shutil.rmtree(record.parent / "onnx-r2")
    record.write_text("{")
    with pytest.raises(ModelCorrupt, match=r"origin\.json: .*model rm org/tiny`, then fetch"):
        resolve()


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("Qwen/Qwen2.5-0.5B-Instruct", ("Qwen/Qwen2.5-0.5B-Instruct", "", "")),
        ("a/b@refs/pr/1", ("a/b", "refs/pr/1", "")),
        ("a/b:onnx/model.onnx", ("a/b", "", "onnx/model.onnx")),
        ("a/b@v1:x y.gguf", ("a/b", "v1", "x y.gguf")),
    ],
)
def test_names_are_read(text, parts):
    name = HubName.parse(text)
    assert (name.repo, name.revision, name.file) == parts
    assert str(name) == text


@pytest.mark.parametrize(
    "text", ["tiny", "a/b/c", "../b", "a/..", "/a/b", "a/b@", "a/b:", "C:\\x/y"]
)
def test_other_names_are_not(text):
    assert HubName.parse(text) is None


def test_no_two_names_share_a_folder():
    names = ["a/b", "a/b@r/c", "a/b@r:c", "a/b:r/c", "a/b@r", "a/b:r"]
    assert len({HubName.parse(name).key for name in names}) == len(names)


def files_below(folder):
    paths = [path for path in folder.rglob("*") if path.is_file()]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


def test_a_real_layout_becomes_a_model_that_loads(serve, tmp_path):
    """From the hub to a session with the package's own reader and converter."""
    serve(files_below(write_tiny_hub(tmp_path / "tiny", shards=2)))
    files = store.resolve("org/tiny", fetch=True)
    session = onnxruntime.InferenceSession(files.graph, providers=["CPUExecutionProvider"])
    assert "logits" in {output.name for output in session.get_outputs()}
    own = files.tokenizer()
    assert json.loads(own.tokenizer_json)["model"]["type"] == "BPE"
    assert own.stop_ids


def test_a_real_export_loads_and_has_its_tokenizer(serve, tmp_path):
    files = files_below(EXPORTED)
    layout = files_below(write_tiny_hub(tmp_path / "tiny"))
    for name in ("tokenizer.json", "tokenizer_config.json", "chat_template.jinja"):
        if name in layout:
            files[name] = layout[name]
    config = json.loads(files["config.json"])
    files["config.json"] = json.dumps({**config, "vocab_size": 151_936}).encode()
    serve(files)
    export = store.resolve("org/tiny:onnx", fetch=True)
    session = onnxruntime.InferenceSession(export.graph, providers=["CPUExecutionProvider"])
    assert "past_key_values.0.key" in {each.name for each in session.get_inputs()}
    assert export.tokenizer().tokenizer_json == layout["tokenizer.json"].decode()
