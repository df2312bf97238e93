"""What a server says of itself: which model, which weights, which program.

Each program has routes of its own for that; which one it is, ``owned_by`` in ``GET /v1/models``
tells. What it does not say, the description says so.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath, PureWindowsPath
from typing import Any

from pytest_ctxguard.endpoint.sending import Sender
from pytest_ctxguard.errors import BackendError

Row = Mapping[str, Any]
NOT_SAID = "not said by the server"


@dataclass(frozen=True, slots=True)
class Description:
    """What is known of a server and the model asked for.

    Attributes:
        model: the name to ask by.
        identity: for fingerprints: ``model``, ``weights`` and ``numerics``.
        ours: whether it is this package's server, whose identity is its own backend's.
        window: tokens that prompt and answer may have together, where it says so.
        neutral: fields that keep it from changing the likeliest token by penalties, which the
            model's own defaults may ask for.
        cuts: whether it cuts a prompt that is too long, and answers the rest.
        no_nulls: whether it refuses null where a message's field may be missing.
        serial: whether it answers one request after the other. What waits there has its time run
            out, and is computed all the same.
    """

    model: str
    identity: Mapping[str, str]
    ours: bool = False
    window: int | None = None
    neutral: Mapping[str, Any] = field(default_factory=dict)
    cuts: bool = False
    no_nulls: bool = False
    serial: bool = False


def describe(sender: Sender, *, model: str | None) -> Description:
    """Ask a server what it is.

    Raises:
        BackendError: it lists several models and none is named, or not the one that is.
    """
    row = _row(sender, model=model)
    name = model if model is not None else str(row["id"])
    own = row.get("ctxguard")
    if isinstance(own, dict) and all(isinstance(value, str) for value in own.values()):
        window = _whole(row.get("max_model_len"))
        return Description(name, own, ours=True, window=window, serial=True)
    readers = {
        "vllm": _vllm,
        "sglang": _sglang,
        "llamacpp": _llama_cpp,
        "me": _llama_cpp_python,
    }
    return readers.get(str(row.get("owned_by")), _ollama)(sender, name, row)


def _row(sender: Sender, *, model: str | None) -> Row:
    """Return what ``GET /v1/models`` says of the model asked for; empty if it says nothing."""
    try:
        listed = sender.ask("GET", "/models").get("data")
    except BackendError:
        if model is None or sender.lost:
            raise
        return {}  # not every server lists its models
    rows = [row for row in listed or () if isinstance(row, dict) and row.get("id")]
    names = ", ".join(str(row["id"]) for row in rows[:8]) or "none"
    if model is None:
        if len(rows) != 1:
            raise sender.error(
                f"serves {len(rows)} models ({names}). Name the one to ask (--ctxguard-model)."
            )
        return rows[0]
    found = next((row for row in rows if model in _names(row)), None)
    if rows and found is None:  # llama-cpp-python's server would answer with another
        raise sender.error(
            f"does not serve {model!r}, but {names}. Name one of these (--ctxguard-model)."
        )
    return found or {}


def _names(row: Row) -> tuple[str, ...]:
    """Return the names by which a model can be asked for; Ollama's tag is optional."""
    name = str(row["id"])
    return (name, name.removesuffix(":latest"), *(row.get("aliases") or ()))


def _described(
    name: str,
    *,
    weights: str = NOT_SAID,
    program: str = "a program that does not say which",
    **options: Any,
) -> Description:
    numerics = f"endpoint: {program}; processor and options {NOT_SAID}"
    return Description(
        name, {"model": _last(name) or name, "weights": weights, "numerics": numerics}, **options
    )


def _vllm(sender: Sender, name: str, row: Row) -> Description:
    return _described(
        name,
        weights=_joined(_last(row.get("root")), "revision " + NOT_SAID),
        program=_joined("vLLM", sender.look("/version").get("version"), by=" "),
        window=_whole(row.get("max_model_len")),
        neutral={"repetition_penalty": 1.0},
    )


def _sglang(sender: Sender, name: str, row: Row) -> Description:
    """Read what SGLang says; of its arguments only the version, for a key is among them."""
    model = sender.look("/model_info") or sender.look("/get_model_info")
    server = sender.look("/server_info") or sender.look("/get_server_info")
    return _described(
        name,
        weights=_joined(
            _last(model.get("model_path") or row.get("root")),
            _joined("version", model.get("weight_version"), by=" "),
        ),
        program=_joined("SGLang", server.get("version"), by=" "),
        window=_whole(row.get("max_model_len")),
        neutral={"repetition_penalty": 1.0},
    )


def _llama_cpp(sender: Sender, name: str, row: Row) -> Description:
    props = sender.look("/props")
    settings, meta = props.get("default_generation_settings"), row.get("meta")
    settings, meta = (each if isinstance(each, dict) else {} for each in (settings, meta))
    size, template = meta.get("size"), props.get("chat_template")
    return _described(
        name,
        weights=_joined(
            _last(props.get("model_path")),
            f"{size} bytes" if size else None,
            f"chat template {_digest(template)}" if isinstance(template, str) else None,
        ),
        program=_joined("llama.cpp", props.get("build_info"), by=" "),
        window=_whole(settings.get("n_ctx")),
        neutral={"repeat_penalty": 1.0},
    )


def _llama_cpp_python(sender: Sender, name: str, row: Row) -> Description:
    info = sender.look("/openapi.json").get("info")
    info = info if isinstance(info, dict) else {}
    if "llama.cpp Python" not in str(info.get("title")):
        return _described(name)
    program = _joined("llama-cpp-python", info.get("version"), by=" ")
    return _described(
        name, program=program, neutral={"repeat_penalty": 1.0}, no_nulls=True, serial=True
    )


def _ollama(sender: Sender, name: str, row: Row) -> Description:
    """Read what Ollama says, whose ``owned_by`` is the model's; or of no known program nothing."""
    version = sender.look("/api/version").get("version")
    if not version:
        return _described(name)
    found = _ollama_row(sender, "/api/tags", name)
    details = found.get("details") or {}
    return _described(
        name,
        weights=_joined(
            str(found.get("digest") or "digest " + NOT_SAID)[:12],
            details.get("parameter_size"),
            details.get("quantization_level"),
        ),
        program=f"Ollama {version}",
        cuts=True,
    )


def ollama_window(sender: Sender, model: str) -> int | None:
    """Return the window with which Ollama has loaded a model; None where it does not say."""
    return _whole(_ollama_row(sender, "/api/ps", model).get("context_length"))


def _ollama_row(sender: Sender, route: str, model: str) -> Row:
    """Return what a route of Ollama's lists of a model, whose tag is optional."""
    full = model if ":" in model else model + ":latest"
    rows: Sequence[Row] = sender.look(route).get("models") or ()
    return next((row for row in rows if row.get("name") == full), {})


def _last(path: Any) -> str | None:
    """Return a path's last part, and any other name whole: where a file lies says nothing."""
    if not isinstance(path, str) or not path:
        return None
    for kind in (PurePosixPath, PureWindowsPath):
        if kind(path).is_absolute():
            return kind(path).name
    return path


def _joined(*parts: Any, by: str = ", ") -> str:
    return by.join(str(part) for part in parts if part)


def _whole(value: Any) -> int | None:
    return value if isinstance(value, int) and value > 0 else None


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]
