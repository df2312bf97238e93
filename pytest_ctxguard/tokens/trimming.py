"""Tool definitions with less prose: what a model must know to call them stays."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

PROSE = "description"
NAMED = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
"""Keywords of JSON Schema whose keys are names, so that a property may be called *description*."""
DATA = ("const", "default", "enum", "examples", "example", "required")
"""Keywords whose values are no schemas."""

# A full stop within a sentence (e.g. this one) is followed by a small letter.
SENTENCE = re.compile(r".+?(?:[.!?](?=\s+[^\sa-z])|[。！？]|\n\s*\n)", re.DOTALL)

Tool = Mapping[str, Any]


def one_sentence(tool: Tool) -> Tool:
    """Return a definition whose description is its first sentence, or its first paragraph."""
    return _changed(tool, PROSE, _first_sentence)


def without_parameter_prose(tool: Tool) -> Tool:
    """Return a definition without the descriptions of its parameters, at any depth."""
    return _changed(tool, "parameters", _bare_schema)


def tool_name(tool: Tool) -> str:
    """Return the name of a definition; of a provider's own tool without one, its type."""
    function = tool.get("function")
    named = function if isinstance(function, Mapping) else tool
    return str(named.get("name") or tool.get("type") or "")


def _changed(tool: Tool, key: str, change: Any) -> Tool:
    function = tool.get("function")
    if not isinstance(function, Mapping) or key not in function:
        return tool
    return {**tool, "function": {**function, key: change(function[key])}}


def _first_sentence(text: Any) -> Any:
    found = SENTENCE.match(text.strip()) if isinstance(text, str) else None
    return found.group().strip() if found else text


def _bare_schema(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_bare_schema(item) for item in schema]
    if not isinstance(schema, Mapping):
        return schema
    return {key: _bare_value(key, value) for key, value in schema.items() if key != PROSE}


def _bare_value(key: str, value: Any) -> Any:
    if key in DATA:
        return value
    if key in NAMED and isinstance(value, Mapping):
        return {name: _bare_schema(inner) for name, inner in value.items()}
    return _bare_schema(value)
