"""What a provider demands of the messages of a request, and what it says when it refuses.

Requests are in OpenAI's chat format, as policies return them, and judged as the request that the
provider would get of them; each provider's module says how they are converted, and has its rules
as a table: id, source, date, the refusal users see. ``PROVIDERS`` has the providers there are;
another one is one more module.
"""

from __future__ import annotations

from collections.abc import Mapping

from pytest_ctxguard.transcript.wellformed.anthropic import ANTHROPIC
from pytest_ctxguard.transcript.wellformed.bedrock import BEDROCK
from pytest_ctxguard.transcript.wellformed.gemini import GEMINI
from pytest_ctxguard.transcript.wellformed.openai import OPENAI
from pytest_ctxguard.transcript.wellformed.openai_responses import OPENAI_RESPONSES
from pytest_ctxguard.transcript.wellformed.rule import Problem, Provider, Rule, Sound

PROVIDERS: Mapping[str, Provider] = {
    provider.name: provider for provider in (OPENAI, OPENAI_RESPONSES, ANTHROPIC, GEMINI, BEDROCK)
}
openai_rules = OPENAI

__all__ = ["PROVIDERS", "Problem", "Provider", "Rule", "Sound", "openai_rules"]
