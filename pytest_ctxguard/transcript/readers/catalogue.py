"""The readers there are, the most particular first."""

from __future__ import annotations

from pytest_ctxguard.transcript.readers import (
    anthropic,
    cassette,
    claude_code,
    codex,
    json_export,
    langchain,
    markdown,
    mini_swe_agent,
    openai_chat,
    openai_responses,
    otlp,
    own,
    pi,
    swe_agent,
    tau_bench,
)
from pytest_ctxguard.transcript.reading import Reader

READERS: tuple[Reader, ...] = (
    own.READER,
    cassette.READER,
    claude_code.READER,
    codex.READER,
    pi.READER,
    swe_agent.READER,
    mini_swe_agent.READER,
    tau_bench.READER,
    langchain.READER,
    otlp.READER,
    json_export.READER,
    anthropic.READER,
    openai_responses.READER,
    openai_chat.READER,
    markdown.READER,
)
