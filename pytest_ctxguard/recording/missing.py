"""What is said of a request that is not recorded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pytest_ctxguard.errors import CtxguardError, RecordingError
from pytest_ctxguard.recording.canonical import Canonical, canonical
from pytest_ctxguard.recording.cassette import Interaction
from pytest_ctxguard.recording.differing import Difference, first_difference, likeness
from pytest_ctxguard.recording.storage import load

NEIGHBOURS = 100  # other cassettes of the folder that are looked into
COMMAND = "pytest --ctxguard --ctxguard-record={mode} {test!r}"


@dataclass(frozen=True, slots=True)
class Place:
    """Where recordings are looked for, and how they are made.

    Attributes:
        test: node id.
        path: of the cassette.
        shown: the path as messages name it.
        mode: the record mode, and why it is this one.
    """

    test: str
    path: Path
    shown: str
    mode: str

    def command(self, mode: str) -> str:
        """Return the command that records."""
        return COMMAND.format(mode=mode, test=self.test)


def missing(sent: Canonical, recorded: Sequence[Interaction], place: Place) -> RecordingError:
    """Return the error of a request that is not recorded.

    Args:
        sent: the request.
        recorded: what there is to replay.
        place: where it came from.
    """
    rows = [("test", place.test), ("sent", sent.address)]
    if not recorded:
        there = "holds no request" if place.path.exists() else "there is none"
        rows.append(("cassette", f"{place.shown} ({there})"))
        remedy = f"record it once: {place.command('once')}"
        if place.path.exists():
            remedy = f"record it again: {place.command('all')}"
    else:
        known, played = len(recorded), sum(each.played for each in recorded)
        requests = "request" if known == 1 else "requests"
        rows.append(("cassette", f"{place.shown} ({known} {requests}, {played} replayed so far)"))
        nearest = max(recorded, key=lambda each: _nearness(each, sent))
        difference = first_difference(nearest.form, sent)
        rows += _nearest_rows(nearest, recorded, sent, difference)
        remedy = _remedy(difference, place)
    neighbour = _neighbour(sent, place.path)
    if neighbour:
        rows.append(("elsewhere", neighbour))
    rows.append(("remedy", remedy))
    table = "\n".join(f"  {name:<10} {text}" for name, text in rows)
    what = f"a request is not recorded, and record mode {place.mode} sends none"
    return RecordingError(f"{what}\n{table}")


def _nearness(known: Interaction, sent: Canonical) -> tuple[object, ...]:
    """Return what the nearest recording has most of; one not replayed yet is what is expected."""
    path, host, *body = likeness(known.form, sent)
    return path, host, known.form.identity == sent.identity, not known.played, *body


def _nearest_rows(
    nearest: Interaction,
    recorded: Sequence[Interaction],
    sent: Canonical,
    difference: Difference | None,
) -> list[tuple[str, str]]:
    number = next(n for n, each in enumerate(recorded, 1) if each is nearest)
    address = "" if nearest.form.address == sent.address else f": {nearest.form.address}"
    rows = [("nearest", f"request {number} of {len(recorded)}{address}")]
    if difference is None:
        times = sum(each.form.identity == sent.identity for each in recorded)
        often = "once" if times == 1 else f"{times} times"
        return [*rows, ("differs", f"nowhere; recorded {often}, and sent once more than that")]
    more = f" (and {difference.more} more)" if difference.more else ""
    what = f"recorded {difference.recorded}, sent {difference.sent}{more}"
    return [*rows, ("differs", f"{difference.place}: {what}")]


def _remedy(difference: Difference | None, place: Place) -> str:
    if difference is None:
        return f"if it is meant to be sent again, record it too: {place.command('new_episodes')}"
    again = f"if the change is meant, record again: {place.command('all')}"
    if difference.place in ("method", "scheme", "host", "port", "path", "query", "body"):
        return again
    return (
        f"{again}\n{'':<13}if it changes in every run, leave it out: "
        f'@pytest.mark.ctx_cassette(ignore=["{difference.place}"])'
    )


def _neighbour(sent: Canonical, path: Path) -> str:
    """Tell which other cassette of the folder holds the request; nothing where none does.

    Tests that share a cached answer record it in whichever of them runs first.
    """
    for other in sorted(path.parent.glob("*.yaml"))[:NEIGHBOURS]:
        if other != path and _holds(other, sent):
            return (
                f"{other.name} holds this request: another test made it first and kept the "
                "answer, in a cache perhaps. Clear it before each test, or replay that file too: "
                f'@pytest.mark.ctx_cassette(also=["{other.name}"])'
            )
    return ""


def _holds(path: Path, sent: Canonical) -> bool:
    try:
        pairs, _ = load(path)
        return any(canonical(request).identity == sent.identity for request, _ in pairs)
    except (CtxguardError, ValueError):  # a broken neighbour is its own test's error
        return False
