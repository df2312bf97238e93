"""Record or replay everything that one test sends."""

from __future__ import annotations

import copy
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pytest_ctxguard.errors import CtxguardError, RecordingError, UsageError
from pytest_ctxguard.recording.cassette import Cassette, Interaction, Missed
from pytest_ctxguard.recording.ignoring import read_fields
from pytest_ctxguard.recording.missing import Place, missing
from pytest_ctxguard.recording.storage import claimed, load, rendered, save
from pytest_ctxguard.transcript.document import Document
from pytest_ctxguard.transcript.loading import recognised
from pytest_ctxguard.transcript.model import Transcript
from pytest_ctxguard.transcript.reading import Reader

if TYPE_CHECKING:
    from pytest_ctxguard.recording.secrets import Secrets

RecordMode = Literal["none", "once", "new_episodes", "all"]
# Clients refuse to start without their key; which of these were set is noted in the cassette.
KEYS = (
    "ANTHROPIC_API_KEY",
    "AZURE_OPENAI_API_KEY",
    "COHERE_API_KEY",
    "DEEPSEEK_API_KEY",
    "GEMINI_API_KEY",
    "GOOGLE_API_KEY",
    "GROQ_API_KEY",
    "MISTRAL_API_KEY",
    "OPENAI_API_KEY",
    "OPENROUTER_API_KEY",
    "TOGETHER_API_KEY",
    "XAI_API_KEY",
)


@dataclass(frozen=True, slots=True, repr=False)
class Recorder:
    """What one test records or replays.

    Attributes:
        path: the cassette.
        writes: what is not recorded is sent, and the file written.
        cassette: what vcrpy's stubs ask.
        secrets: what must not be written.
        keys: variables that held a key when it was recorded.
        readers: a user's own readers of transcripts.
    """

    path: Path
    writes: bool
    cassette: Cassette
    secrets: Secrets
    keys: tuple[str, ...]
    readers: tuple[Reader, ...] = ()

    @property
    def requests(self) -> int:
        """How many requests were answered so far."""
        return len(self.cassette.used)

    @property
    def recorded(self) -> int:
        """How many of them were sent and recorded now."""
        return sum(not each.played for each in self.cassette.used)

    @property
    def unused(self) -> tuple[str, ...]:
        """The recorded requests of this cassette that were not asked for."""
        mine = (each for each in self.cassette.recorded if each.origin == str(self.path))
        return tuple(each.form.address for each in mine if not each.played)

    @property
    def error(self) -> CtxguardError | None:
        """What went wrong with the first request that could not be answered, if any."""
        if not self.cassette.errors:
            return None
        first, *more = dict.fromkeys(map(str, self.cassette.errors))
        error = self.cassette.errors[0]
        return RecordingError(f"{first}\n  and {len(more)} more requests") if more else error

    def transcripts(self) -> tuple[Transcript, ...]:
        """Return the sessions among the requests answered so far.

        Raises:
            TranscriptError: there is no request to a model among them, or one cannot be read.
        """
        from pytest_ctxguard.transcript.readers.cassette import READER

        document = Document(self.path, rendered(self._clean(self.cassette.used), {}))
        return recognised(document, readers=(*self.readers, READER)).read(document).runs

    def transcript(self) -> Transcript:
        """Return the one session so far.

        Raises:
            TranscriptError: as :meth:`transcripts`.
            UsageError: there are several.
        """
        runs = self.transcripts()
        if len(runs) > 1:
            raise UsageError(
                f"{len(runs)} sessions were recorded; transcripts[0] is the first of them"
            )
        return runs[0]

    def save(self) -> bool:
        """Write the cassette if anything was recorded; tell whether it was written.

        Raises:
            CtxguardError: a known secret would be in it; the file stays as it was.
        """
        recorded = [each for each in self.cassette.used if not each.origin]
        if not self.writes or not recorded:
            return False
        kept = [each for each in self.cassette.recorded if each.origin == str(self.path)]
        note = {"keys": sorted({*self.keys, *(name for name in KEYS if os.environ.get(name))})}
        data = rendered(self._clean([*kept, *recorded]), note if note["keys"] else {})
        save(self.path, data, secrets=self.secrets)
        return True

    def _clean(self, interactions: Iterable[Interaction]) -> list[Interaction]:
        """Return interactions as they are stored: by all that is known of secrets by now."""
        secrets = self.secrets
        return [
            replace(
                each,
                request=secrets.scrub_request(each.request),
                response=secrets.scrub_response(copy.deepcopy(each.response)),
            )
            for each in interactions
        ]


@contextmanager
def recording(
    place: Place,
    *,
    mode: RecordMode,
    secrets: Secrets,
    ignore: Sequence[object] = (),
    also: Sequence[Path] = (),
    readers: Sequence[Reader] = (),
    missed: type[Missed] = Missed,
) -> Iterator[Recorder]:
    """Record or replay all that is sent while the context lasts; nothing is written by itself.

    Args:
        place: the cassette, and whose it is.
        mode: ``none`` replays only; ``once`` records where there is no file; ``new_episodes``
            records what is not in the file; ``all`` records everything anew.
        secrets: what must not be written.
        ignore: fields of JSON bodies that change in every run, as paths.
        also: further cassettes that are replayed and never written.
        readers: a user's own readers of transcripts.
        missed: what ends a request that is not recorded.

    Raises:
        UsageError: a field is no path, or another process records this cassette.
        InputError: a cassette cannot be read.
    """
    from vcr.patch import CassettePatcherBuilder

    path = place.path
    exists = path.exists()
    writes = mode in ("new_episodes", "all") or (mode == "once" and not exists)

    def describe(sent: Any) -> CtxguardError:
        return missing(sent, cassette.recorded, place)

    cassette = Cassette(
        str(path), not writes, secrets, describe, read_fields(ignore), missed=missed
    )
    keys: tuple[str, ...] = ()
    with ExitStack() as stack:
        if writes:
            stack.enter_context(claimed(path))
        if exists and mode != "all":
            keys = _keys(_read(path, cassette))
        for other in also:
            _read(other, cassette)
        for patcher in CassettePatcherBuilder(cassette).build():
            stack.enter_context(patcher)
        yield Recorder(path, writes, cassette, secrets, keys, tuple(readers))


def _read(path: Path, cassette: Cassette) -> Mapping[str, Any]:
    pairs, note = load(path)
    rows = (cassette.interaction(request, response, str(path)) for request, response in pairs)
    cassette.recorded.extend(rows)
    return note


def _keys(note: Mapping[str, Any]) -> tuple[str, ...]:
    names = note.get("keys")
    return tuple(name for name in KEYS if isinstance(names, list) and name in names)
