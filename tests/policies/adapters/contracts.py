"""Contract vectors: what a framework's policy really returned, and our verdict on it."""

import asyncio
import importlib
import importlib.metadata
import inspect
import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from pytest_ctxguard.policies.protocol import bind, is_factory
from pytest_ctxguard.tokens.estimators import by_script
from pytest_ctxguard.transcript.messages import full_text
from pytest_ctxguard.transcript.wellformed import openai_rules
from tests.policies.adapters.histories import BUILDERS, FACT, STANDING, calls, digest

HERE = Path(__file__).parent
PAIRS = ("orphan-result", "unanswered-call", "duplicate-result")


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """What our code says of the requests a policy made, in numbers of calls.

    ``tokens`` is the largest request, by the estimate of :func:`tokens`.
    """

    calls: int = 1
    broken: int = 0  # a call without its result, or a result without its call
    refused: int = 0  # anything the provider would refuse, broken pairs included
    untouched: int = 0  # sent as the history was
    task_lost: int = 0  # the newest user message is not in it
    system_lost: int = 0
    fact_lost: int = 0
    over: int = 0  # more tokens than the case's budget
    failed: int = 0  # the policy raised
    tokens: int = 0


@dataclass
class Recorder:
    """A summariser that gives one answer and keeps what it was shown, as texts."""

    answer: str = "They spoke of crates."
    shown: list[str] = field(default_factory=list)

    def __call__(self, messages):
        """Answer a request of OpenAI-format messages."""
        self.shown.append("\n".join(full_text(message) for message in messages))
        return self.answer


@dataclass(frozen=True, kw_only=True)
class Case:
    """One policy on one history.

    Attributes:
        builder: name of a builder of ``histories``, with its ``arguments``.
        policy: makes the adapted policy; imports the framework inside. It is given a
            :class:`Recorder` if its first argument is named ``recorder``.
        every: replay every call of the history, on one policy; else the last call only.
        finding: what the case documents, in one sentence.
        expect: our verdict, written by hand.
    """

    name: str
    builder: str
    policy: Callable[..., Any]
    expect: Verdict
    arguments: Mapping[str, Any] = field(default_factory=dict)
    every: bool = False
    budget: int | None = None
    finding: str = ""

    def histories(self):
        """Return the histories of the calls that are made."""
        whole = BUILDERS[self.builder](**self.arguments)
        return calls(whole) if self.every else [whole]

    def made(self, recorder=None):
        """Return the adapted policy; a summariser it has answers by ``recorder``."""
        if "recorder" in inspect.signature(self.policy).parameters:
            return self.policy(recorder or Recorder())
        return self.policy()


@dataclass(frozen=True, kw_only=True)
class Framework:
    """A framework's cases.

    Attributes:
        name: the adapter's name, and the stem of the vectors and the requirements.
        packages: distributions whose versions matter; the first tells whether it is installed.
        round_trips: name -> makes an adapted policy that changes nothing: one that returns the
            framework's messages as they are, one that returns copies, and so on.
    """

    name: str
    packages: tuple[str, ...]
    cases: tuple[Case, ...]
    round_trips: Mapping[str, Callable[[], Any]] = field(default_factory=dict)

    def versions(self):
        """Return the installed version of each package, or ``None`` where one is missing."""
        try:
            return {name: importlib.metadata.version(name) for name in self.packages}
        except importlib.metadata.PackageNotFoundError:
            return None


def framework(name):
    """Return a framework by its name: ``FRAMEWORK`` of ``cases_<name>.py``."""
    return importlib.import_module(f"tests.policies.adapters.cases_{name}").FRAMEWORK


def names():
    """Return the frameworks there are cases for."""
    return sorted(path.stem.removeprefix("cases_") for path in HERE.glob("cases_*.py"))


def vectors_path(name):
    return HERE / "vectors" / f"{name}.json"


def stored(name):
    """Return the stored vectors of a framework, by case."""
    vectors = json.loads(vectors_path(name).read_text(encoding="utf-8"))
    return {made["case"]: made for made in vectors["cases"]}


def ask(policy, histories, *, budget=None):
    """Run one policy over the histories of its calls; an exception stands for its request."""
    policy = policy() if is_factory(policy) else policy
    bound = bind(policy, {"budget": budget, "count": tokens, "tools": []})

    async def answers():
        requests = []
        for history in histories:
            try:
                output = bound(list(history))
                requests.append(await output if inspect.isawaitable(output) else output)
            except Exception as error:
                requests.append(error)
        return requests

    return asyncio.run(answers())


def run_case(case):
    """Return the requests a case's policy makes now, and what its summariser was shown."""
    recorder = Recorder()
    return ask(case.made(recorder), case.histories(), budget=case.budget), recorder.shown


def tokens(messages):
    """Estimate the tokens of a request: by script, and four for each message."""
    return sum(4 + by_script(full_text(message)) for message in messages)


def judge(case, requests):
    """Return our verdict on the requests of a case."""
    counts = dict.fromkeys(asdict(Verdict()), 0) | {"calls": len(requests)}
    for history, request in zip(case.histories(), requests, strict=True):
        if isinstance(request, Exception):
            counts["failed"] += 1
            continue
        rules = {problem.rule for problem in openai_rules(request)}
        sent = "\n".join(full_text(message) for message in request)
        task = next(full_text(m) for m in reversed(history) if m["role"] == "user")
        counts["broken"] += any(rule in PAIRS for rule in rules)
        counts["refused"] += bool(rules)
        counts["untouched"] += list(request) == history
        counts["task_lost"] += task.strip() not in sent
        counts["system_lost"] += STANDING not in sent and history[0]["role"] == "system"
        counts["fact_lost"] += FACT not in sent
        counts["over"] += case.budget is not None and tokens(request) > case.budget
        counts["tokens"] = max(counts["tokens"], tokens(request))
    return Verdict(**counts)


def vector(case):
    """Run a case and return its vector."""
    requests, shown = run_case(case)
    made = {
        "case": case.name,
        "builder": case.builder,
        "arguments": dict(case.arguments),
        "every": case.every,
        "input_sha256": digest(BUILDERS[case.builder](**case.arguments)),
        "finding": case.finding,
        "expect": asdict(case.expect),
        "requests": [packed(*pair) for pair in zip(case.histories(), requests, strict=True)],
    }
    if shown:
        made["summariser"] = [{"characters": len(t), "fact_shown": FACT in t} for t in shown]
    return made


def packed(history, request):
    """Return a request with the index of each message that is the history's own."""
    if isinstance(request, Exception):
        return {"error": f"{type(request).__name__}: {request}"}
    by_value = {json.dumps(m, sort_keys=True): index for index, m in enumerate(history)}
    return [by_value.get(json.dumps(m, sort_keys=True), m) for m in request]


class Recorded(Exception):
    """The error a policy raised when its vector was made."""


def unpacked(history, request):
    """Return the request of :func:`packed`."""
    if isinstance(request, Mapping):
        return Recorded(request["error"])
    return [history[m] if isinstance(m, int) else m for m in request]


def render(chosen):
    """Run all cases of a framework and return the text of its vectors' file."""
    head = {
        "framework": chosen.name,
        "versions": chosen.versions(),
        "command": f"nox -s adapters -- {chosen.name}",
    }
    lines = [f" {json.dumps(key)}: {json.dumps(value)}," for key, value in head.items()]
    blocks = []
    for case in chosen.cases:
        made = vector(case)
        requests = made.pop("requests")
        fields = [f"   {json.dumps(k)}: {_dumped(v)}," for k, v in made.items()]
        rows = ",\n".join(f"    {_dumped(request)}" for request in requests)
        blocks.append("\n".join(["  {", *fields, '   "requests": [', rows, "   ]", "  }"]))
    return "\n".join(["{", *lines, ' "cases": [', ",\n".join(blocks), " ]", "}", ""])


def _dumped(value):
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
