"""What goes into the fingerprint: what each program says of itself, the rest as unknown."""

from __future__ import annotations

import pytest

from pytest_ctxguard.errors import BackendError
from tests.endpoint.servers import (
    ASK,
    LLAMA_CPP,
    LLAMA_CPP_PYTHON,
    MODELS,
    OLLAMA,
    SGLANG,
    VLLM,
    answer,
)

UNKNOWN = "; processor and options not said by the server"


@pytest.mark.parametrize(
    ("routes", "model", "weights", "program", "window"),
    [
        (
            VLLM,
            "qwen",
            "Qwen/Qwen2.5-0.5B-Instruct, revision not said by the server",
            "vLLM 0.11.0",
            16384,
        ),
        (SGLANG, "qwen", "Qwen2.5-0.5B, version default", "SGLang 0.5.4", 32768),
        (
            LLAMA_CPP,
            "q.gguf",
            "q.gguf, 491400064 bytes, chat template f24189f08c85",
            "llama.cpp b6123-abcdef0",
            4096,
        ),
        (
            LLAMA_CPP_PYTHON,
            "q.gguf",
            "not said by the server",
            "llama-cpp-python 0.3.36",
            None,
        ),
        (OLLAMA, "qwen2.5:0.5b", "a8b0c5157701, 494.03M, Q4_K_M", "Ollama 0.34.0", None),
        (
            {"/v1/models": MODELS},
            "m",
            "not said by the server",
            "a program that does not say which",
            None,
        ),
    ],
    ids=["vllm", "sglang", "llama.cpp", "llama-cpp-python", "ollama", "unknown"],
)
def test_what_a_program_says_of_itself(endpoint, other, routes, model, weights, program, window):
    other.routes |= routes
    other.replies.append(answer())
    backend = endpoint(other.url)
    assert backend.identity == {
        "model": model,
        "weights": weights,
        "numerics": f"endpoint: {program}{UNKNOWN}",
    }
    assert backend.window == window


def test_a_program_that_says_less_than_usual(endpoint, other):
    for routes in (VLLM, SGLANG, LLAMA_CPP, LLAMA_CPP_PYTHON):
        other.routes = {"/v1/models": routes["/v1/models"]}
        other.replies.append(answer())
        identity = endpoint(other.url).identity
        assert identity["model"] in ("qwen", "q.gguf")
        assert identity["numerics"].endswith(UNKNOWN)


def test_the_newer_routes_of_sglang_come_first(endpoint, other):
    other.routes |= {**SGLANG, "/server_info": {"version": "0.6.0"}}
    other.replies.append(answer())
    assert "SGLang 0.6.0" in endpoint(other.url).identity["numerics"]


def test_the_fingerprint_that_comes_with_an_answer(endpoint, other):
    other.replies.append({**answer(), "system_fingerprint": "fp_1"})
    backend = endpoint(other.url)
    assert backend.identity["numerics"].endswith("; system_fingerprint fp_1")
    assert backend.identity is backend.identity
    assert len(other.asked) == 1
    assert other.asked[0]["max_tokens"] == 1


def test_a_fingerprint_that_is_the_build_is_not_said_twice(endpoint, other):
    other.routes |= LLAMA_CPP
    other.replies.append({**answer(), "system_fingerprint": "b6123-abcdef0"})
    assert endpoint(other.url).identity["numerics"].count("b6123") == 1


def test_a_wrong_key_is_met_before_the_first_probe(endpoint, other):
    other.replies.append((401, {}, b"no"))
    with pytest.raises(BackendError, match="answered 401"):
        _ = endpoint(other.url, key="wrong").identity


def test_a_named_model_needs_no_list(endpoint, other):
    other.routes = {}
    other.replies.append(answer())
    assert endpoint(other.url, model="gpt").identity["model"] == "gpt"


def test_without_a_list_the_model_must_be_named(endpoint, other):
    other.routes = {}
    with pytest.raises(BackendError, match="answered 404: no such route"):
        endpoint(other.url).complete(ASK)


def test_one_of_several_models_must_be_named(endpoint, other):
    other.routes = {"/v1/models": {"data": [{"id": "a"}, {"id": "b"}]}}
    with pytest.raises(BackendError, match=r"serves 2 models \(a, b\)\. Name the one to ask"):
        endpoint(other.url).complete(ASK)
    other.replies.append(answer())
    assert endpoint(other.url, model="b").identity["model"] == "b"


def test_a_model_that_is_not_served_is_refused_whoever_would_answer(endpoint, other):
    other.replies.append(answer())
    with pytest.raises(BackendError, match=r"does not serve 'gpt', but m\. Name one of these"):
        endpoint(other.url, model="gpt").complete(ASK)
    assert other.asked == []


@pytest.mark.parametrize("name", ["llama3", "llama3:latest", "alias"])
def test_the_names_a_model_goes_by(endpoint, other, name):
    other.routes["/v1/models"] = {"data": [{"id": "llama3:latest", "aliases": ["alias"]}]}
    other.replies.append(answer())
    endpoint(other.url, model=name).complete(ASK)
    assert other.asked[0]["model"] == name


def test_routes_of_its_own_are_beside_a_base_with_a_path(endpoint, other):
    other.routes |= {path.replace("/v1/", "/llm/v1/"): data for path, data in VLLM.items()}
    other.routes["/llm/version"] = {"version": "0.12.0"}
    other.replies.append(answer())
    backend = endpoint(other.url.replace("/v1", "/llm/v1"))
    assert "vLLM 0.12.0" in backend.identity["numerics"]
