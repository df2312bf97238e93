"""Tool definitions and calls as text, the way OpenAI's models are believed to read them.

OpenAI does not publish it. Models that were made to repeat their instructions show TypeScript
declarations in a namespace; counts made from that come close to ``usage.prompt_tokens``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pytest_ctxguard.tokens.seen import argument_text, parse_or_keep

TYPES = {"integer": "number", "number": "number", "string": "string", "boolean": "boolean"}
DEPTH = 20  # of nested objects; deeper ones are taken for `any`


def definitions_text(tools: Sequence[Mapping[str, Any]]) -> str:
    """Return tool definitions as TypeScript declarations."""
    lines = ["namespace functions {", ""]
    for tool in tools:
        function = tool.get("function")
        if isinstance(function, Mapping):
            lines += [*_function(function), ""]
    return "\n".join([*lines, "} // namespace functions"])


def name_and_arguments(call: Mapping[str, Any]) -> tuple[str, str]:
    """Return a tool call's name, and its arguments as JSON without blanks, as they are counted."""
    function = call.get("function") or {}
    arguments = parse_or_keep(argument_text(function.get("arguments") or ""))
    if not isinstance(arguments, str):
        arguments = json.dumps(arguments, ensure_ascii=False, separators=(",", ":"))
    return str(function.get("name") or ""), arguments


def _function(function: Mapping[str, Any]) -> Iterator[str]:
    if isinstance(function.get("description"), str) and function["description"]:
        yield f"// {function['description']}"
    fields = list(_fields(function.get("parameters"), 0))
    if fields:
        yield f"type {function.get('name')} = (_: {{"
        yield from fields
        yield "}) => any;"
    else:
        yield f"type {function.get('name')} = () => any;"


def _fields(schema: Any, depth: int) -> Iterator[str]:
    """Yield the lines of an object's properties, two blanks a level."""
    properties = schema.get("properties") if isinstance(schema, Mapping) else None
    if not isinstance(properties, Mapping):
        return
    required = schema.get("required")
    needed = required if isinstance(required, list) else []
    blanks = "  " * depth
    for name, value in properties.items():
        told = value.get("description") if isinstance(value, Mapping) else None
        if isinstance(told, str) and told:
            yield f"{blanks}// {told}"
        yield f"{blanks}{name}{'' if name in needed else '?'}: {_type(value, depth)},"


def _type(schema: Any, depth: int) -> str:
    if not isinstance(schema, Mapping) or depth > DEPTH:
        return "any"
    if isinstance(schema.get("enum"), list):
        return " | ".join(json.dumps(item, ensure_ascii=False) for item in schema["enum"])
    for union in ("anyOf", "oneOf"):
        if isinstance(schema.get(union), list):
            return " | ".join(_type(each, depth + 1) for each in schema[union])
    kind = schema.get("type")
    if isinstance(kind, list):
        return " | ".join(TYPES.get(str(each), str(each)) for each in kind)
    if kind == "array":
        return f"{_type(schema.get('items'), depth + 1)}[]"
    if kind == "object":
        fields = "\n".join(_fields(schema, depth + 1))
        return f"{{\n{fields}\n{'  ' * depth}}}" if fields else "object"
    return TYPES.get(str(kind), "any" if kind is None else str(kind))
