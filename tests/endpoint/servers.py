"""What the programs say of themselves, each field as its source writes it."""

from __future__ import annotations

ASK = [{"role": "user", "content": "How slow is payments-api?"}]
TOOLS = [{"type": "function", "function": {"name": "get_metrics", "parameters": {}}}]
MODELS = {"data": [{"id": "m"}]}


def answer(text="x", **more):
    """Return a chat completion."""
    reason = more.pop("reason", "stop")
    usage = more.pop("usage", None)
    message = {"role": "assistant", "content": text, **more}
    choice = {"index": 0, "message": message, "finish_reason": reason}
    return {"choices": [choice]} if usage is None else {"choices": [choice], "usage": usage}


def error(message, **more):
    """Return a refusal as OpenAI words it."""
    return {"error": {"message": message, **more}}


VLLM = {
    "/v1/models": {
        "data": [
            {
                "id": "qwen",
                "owned_by": "vllm",
                "root": "Qwen/Qwen2.5-0.5B-Instruct",
                "max_model_len": 16384,
            }
        ]
    },
    "/version": {"version": "0.11.0"},
}
SGLANG = {
    "/v1/models": {
        "data": [{"id": "qwen", "owned_by": "sglang", "root": "qwen", "max_model_len": 32768}]
    },
    "/get_model_info": {"model_path": "/models/Qwen2.5-0.5B", "weight_version": "default"},
    "/get_server_info": {"version": "0.5.4", "api_key": "s3cret", "model_path": "/models/Q"},
}
LLAMA_CPP = {
    "/v1/models": {
        "data": [{"id": "/srv/q.gguf", "owned_by": "llamacpp", "meta": {"size": 491400064}}]
    },
    "/props": {
        "model_path": "/srv/models/q.gguf",
        "build_info": "b6123-abcdef0",
        "chat_template": "{{ messages }}",
        "default_generation_settings": {"n_ctx": 4096},
        "total_slots": 4,
    },
}
LLAMA_CPP_PYTHON = {
    "/v1/models": {"data": [{"id": "/srv/q.gguf", "owned_by": "me", "permissions": []}]},
    "/openapi.json": {"info": {"title": "🦙 llama.cpp Python API", "version": "0.3.36"}},
}
OLLAMA = {
    "/v1/models": {"data": [{"id": "qwen2.5:0.5b", "owned_by": "library"}]},
    "/api/version": {"version": "0.34.0"},
    "/api/tags": {
        "models": [
            {
                "name": "qwen2.5:0.5b",
                "digest": "a8b0c51577010a279d933d14c2a8ab4b268079d44c5c8830c0a93900f1827c67",
                "details": {"parameter_size": "494.03M", "quantization_level": "Q4_K_M"},
            }
        ]
    },
    "/api/ps": {"models": [{"name": "qwen2.5:0.5b", "context_length": 4096}]},
}
