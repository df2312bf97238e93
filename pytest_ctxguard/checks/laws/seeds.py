"""Run a policy in two new processes whose ``hash()`` of a text differs, and compare."""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pytest_ctxguard.checks.laws.runs import run_policy
from pytest_ctxguard.checks.laws.subject import Setting, Subject
from pytest_ctxguard.checks.laws.terms import Terms
from pytest_ctxguard.replay.run import run
from pytest_ctxguard.tokens.counters.functions import FunctionCounter
from pytest_ctxguard.tokens.request import RequestEncoder
from pytest_ctxguard.transcript.model import Transcript

SEEDS = ("0", "1")
TIMEOUT = 300  # seconds
CHILD = "from pytest_ctxguard.checks.laws.seeds import child; child()"

Case = tuple[Transcript, Setting]


class Unpicklable(Exception):
    """The policy cannot be made in another process; the text says why."""


@dataclass(frozen=True, slots=True)
class _QwenCounter:
    """Stands for the default counter, which each process loads itself."""


def differing(subject: Subject, terms: Terms, cases: Sequence[Case]) -> list[int]:
    """Return the indices of the cases whose outcome depends on PYTHONHASHSEED.

    Raises:
        Unpicklable: the policy or its counter has no name to import it by, or its import or the
            run fails there.
    """
    payload = _pickled(subject, terms, cases)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "cases.pickle")
        file.write_bytes(payload)
        running = [_start(seed, file) for seed in SEEDS]
        outcomes = [_outcome(process) for process in running]
    return [n for n, pair in enumerate(zip(*outcomes, strict=True)) if pair[0] != pair[1]]


def _pickled(subject: Subject, terms: Terms, cases: Sequence[Case]) -> bytes:
    counter = _QwenCounter() if isinstance(terms.counter, RequestEncoder) else terms.counter
    if "count" not in subject.takes:  # messages are compared, and loading a tokenizer is slow
        counter = FunctionCounter(len)
    named = (subject.policy, terms.counter)
    subject = replace(subject, replay=run)  # there is no event loop of a test's there
    terms = replace(terms, counter=counter)  # type: ignore[arg-type]  # the child puts it back
    if any(getattr(v, "__module__", "") == "__main__" for v in named):
        raise Unpicklable("it is defined in __main__")
    try:
        return pickle.dumps((subject, terms, list(cases)))
    except Exception as error:  # __reduce__ is user code
        raise Unpicklable(f"it has no name to import it by ({error})") from error


def _start(seed: str, file: Path) -> subprocess.Popen[bytes]:
    path = os.pathsep.join(entry or str(Path.cwd()) for entry in sys.path)
    return subprocess.Popen(
        [sys.executable, "-c", CHILD, str(file)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": path},
    )


def _outcome(process: subprocess.Popen[bytes]) -> list[str]:
    try:
        out, err = process.communicate(timeout=TIMEOUT)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        raise Unpicklable(f"a new process did not end within {TIMEOUT} s") from None
    if process.returncode:
        lines = err.decode("utf-8", "replace").strip().splitlines()
        raise Unpicklable(f"a new process failed: {lines[-1] if lines else 'no message'}")
    return list(json.loads(out))


def child() -> None:
    """Run the cases of the file named and write a digest of each outcome."""
    out = sys.stdout
    sys.stdout = sys.stderr  # what the policy prints
    subject, terms, cases = pickle.loads(Path(sys.argv[1]).read_bytes())  # noqa: S301 - our parent's
    if isinstance(terms.counter, _QwenCounter):
        terms = replace(terms, counter=RequestEncoder())
    digests = []
    for transcript, setting in cases:
        seen = run_policy(subject, setting, terms=terms, transcript=transcript).observed
        sent = [
            [type(each.error).__name__, [] if each.request is None else each.request.messages]
            for each in seen
        ]
        text = json.dumps(sent, default=lambda value: type(value).__name__)
        digests.append(hashlib.sha256(text.encode()).hexdigest())
    json.dump(digests, out)
    out.flush()
