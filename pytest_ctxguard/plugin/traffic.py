"""What the ``ctx_session`` fixture does."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import pytest

from pytest_ctxguard.checks.guarded import GuardedReplay
from pytest_ctxguard.errors import UsageError
from pytest_ctxguard.plugin.replaying import ReplayFixture, Source, of_guarded
from pytest_ctxguard.prefix.rules import find_rule
from pytest_ctxguard.replay.recorded import as_recorded
from pytest_ctxguard.transcript.model import Fact, Transcript


def session_fixture(item: pytest.Item) -> SessionFixture:
    """Return the fixture's value for one test."""
    return SessionFixture(ReplayFixture(item, *of_guarded(item, fixture="ctx_session")))


@dataclass(frozen=True, slots=True, repr=False)
class SessionFixture:
    """Reads recorded traffic for one test; all that is read here is judged after the body."""

    replays: ReplayFixture

    def __call__(
        self,
        source: Source,
        *,
        run: int | None = None,
        provider: str | None = None,
        name: str | None = None,
        facts: Iterable[Fact] = (),
        judged: bool = True,
    ) -> GuardedReplay:
        """Take the requests of a recording as they were sent, with no policy at all.

        Args:
            source: a cassette or session log: a path, a name, or a transcript.
            run: only this session of the file, from 0; default all, in the order they were sent.
            provider: cache rules that ``.cost()`` and ``.cuts()`` go by; default those of the
                models on record.
            name: label in keys and reports.
            facts: more facts, beside the transcript's own.
            judged: whether the marks judge it.

        Raises:
            UsageError: the call asks for something impossible, or a mark needs a policy.
            TranscriptError: the file cannot be read whole.
        """
        __tracebackhide__ = True
        services = self.replays.services
        if provider is not None:
            find_rule(services.rules, provider)
        runs = (source,) if isinstance(source, Transcript) else services.runs(source)
        if run is not None:
            if isinstance(run, bool) or not isinstance(run, int) or not 0 <= run < len(runs):
                raise UsageError(
                    f"ctx_session: run={run!r}: {source} holds runs 0 to {len(runs) - 1}"
                )
            runs = (runs[run],)
        replay = as_recorded(
            runs,
            counter=services.counter,
            facts=tuple(facts),
            provider=provider or "",
            label=name or "",
        )
        return self.replays.judged(replay, judged=judged, expect_identity=True)
