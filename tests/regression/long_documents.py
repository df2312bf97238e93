"""Long chapters out of a seed, in two scripts, and a sub-agent that reads them one by one."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pytest_ctxguard.backend import Completion, ToolCall
from pytest_ctxguard.driver.values import Job

ENGLISH = (
    "river ice station turbine winter crew ledger valve copper night signal road winch engineer "
    "flood school letter price timber spring gauge north bridge lamp quiet old"
)
RUSSIAN = (
    "река лёд станция турбина зима бригада журнал клапан медь ночь сигнал дорога лебёдка инженер "
    "паводок школа письмо цена лес весна датчик север мост лампа тихий старый"
)
WORDS = {"english": ENGLISH.split(), "russian": RUSSIAN.split()}
SENTENCE = 14  # words
READ = {
    "type": "function",
    "function": {
        "name": "read_chapter",
        "description": "Read a chapter of the chronicle.",
        "parameters": {
            "type": "object",
            "properties": {"number": {"type": "integer"}},
            "required": ["number"],
        },
    },
}
SYSTEM = "You are a sub-agent. Read every chapter you are given and report to the main agent."
ANSWER = "All chapters are read."


def chapter(script: str, *, seed: int, words: int) -> str:
    """Return a chapter; the same seed gives the same text."""
    draw = random.Random(f"{script}-{seed}")
    sentences = []
    for start in range(0, words, SENTENCE):
        length = min(SENTENCE, words - start)
        sentence = " ".join(draw.choices(WORDS[script], k=length))
        sentences.append(f"{sentence.capitalize()} {draw.randint(1, 999)}.")
    return " ".join(sentences)


@dataclass(frozen=True)
class Reader:
    """A sub-agent with one user message and many chapters.

    Attributes:
        number: of the sub-agent; its seed.
        script: what its chapters are written in.
        chapters: how many it reads.
        words: of each chapter.
    """

    number: int
    script: str
    chapters: int = 24
    words: int = 700

    @property
    def job(self) -> Job:
        """What it is to do."""
        task = f"Read chapters 1 to {self.chapters} and say what they tell of."
        messages = ({"role": "system", "content": SYSTEM}, {"role": "user", "content": task})
        return Job(messages=messages, tools=(READ,), run_tool=self.read)

    @property
    def script_of_the_model(self) -> list[Completion]:
        """What the scripted model answers: one call for each chapter, then the answer."""
        reads = [
            Completion(text="", tool_calls=(ToolCall("read_chapter", f'{{"number": {n}}}'),))
            for n in range(1, self.chapters + 1)
        ]
        return [*reads, Completion(text=ANSWER)]

    def read(self, name: str, arguments: Mapping[str, Any]) -> str:
        """Run its one tool."""
        assert name == "read_chapter"
        seed = 1000 * self.number + arguments["number"]
        return chapter(self.script, seed=seed, words=self.words)


EIGHT = [Reader(n, "russian" if n % 2 else "english") for n in range(8)]
