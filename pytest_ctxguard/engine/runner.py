"""Prefill in chunks, reuse live prefixes, decode: the bookkeeping around any decoder."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from pytest_ctxguard.engine.answer import Answer, Choose, Done, Generated, compact
from pytest_ctxguard.engine.decoder import Decoder, Logits, Slot
from pytest_ctxguard.engine.kv import bytes_per_row, rounded_up
from pytest_ctxguard.engine.prefix import Prefixes, chunks, shared_by_all
from pytest_ctxguard.engine.prefix_files import WORTH, PrefixFiles
from pytest_ctxguard.errors import BackendError, PromptTooLong

CHUNK = 256  # tokens per prefill call
BUDGET = 512 << 20  # bytes of keys and values kept for later prompts
BATCH_BUDGET = 768 << 20  # bytes of them in prompts that are decoded together
SLOTS = 12  # prompts kept; of many short ones the older are hardly asked for again


class Runner:
    """One loaded model with the live prefixes of its last prompts; not for concurrent use."""

    def __init__(
        self,
        decoder: Decoder,
        *,
        chunk: int = CHUNK,
        budget: int = BUDGET,
        batch_budget: int = BATCH_BUDGET,
        files: PrefixFiles | None = None,
    ) -> None:
        """Wrap a decoder.

        Args:
            decoder: the loaded model.
            chunk: tokens per prefill call; the answers do not depend on it.
            budget: bytes of keys and values to keep; the prompt being computed always fits.
            batch_budget: bytes for prompts decoded together, beside those; memory is taken when
                first needed.
            files: where long prompts are kept between runs; for decoders whose slots have ``kv``.
        """
        self.config = decoder.config
        self._decoder, self._chunk = decoder, chunk
        self._budget, self._batch_budget = budget, batch_budget
        self._prefixes, self._files = Prefixes(), files
        self._slots: dict[int, Slot] = {}

    def generate(
        self,
        prompt: Sequence[int],
        *,
        max_tokens: int,
        stop: Collection[int] = (),
        done: Done | None = None,
        choose: Choose | None = None,
    ) -> Generated:
        """Continue a prompt with the likeliest token at each step, or the one ``choose`` picks.

        Ends at an id in ``stop`` (not returned), as soon as ``done(tokens)`` is true, after
        ``max_tokens``, or when the window is full.

        Raises:
            PromptTooLong: the prompt leaves no room for one more token in the window.
            BackendError: the prompt is empty.
        """
        slot, logits, reuse = self._prefill(prompt, rows=1, room=max_tokens)
        limit = min(max_tokens, self.config.window - len(prompt))
        answer = Answer(prompt, cached=reuse, limit=limit, stop=stop, done=done, choose=choose)
        ids = np.zeros((1, 1), np.int64)
        while answer.extend(logits[-1]):
            ids[0, 0] = answer.tokens[-1]
            logits = slot.run(ids, start=answer.position, rows=1)
        return answer.result()

    def generate_many(
        self,
        prompts: Sequence[Sequence[int]],
        *,
        max_tokens: int,
        stop: Collection[int] = (),
        done: Done | None = None,
    ) -> list[Generated | BackendError]:
        """Continue each prompt as ``generate`` would; an error takes its answer's place.

        Prompts that share most of their tokens are decoded together, which reads the weights once
        for all of them. The answers are those that each prompt gets alone.
        """
        results: dict[int, Generated | BackendError] = {}
        sound = []
        for index, prompt in enumerate(prompts):
            try:
                self._check(prompt)
                sound.append(index)
            except BackendError as error:
                results[index] = error
        size = self._batch_size([prompts[index] for index in sound], room=max_tokens)
        for start in range(0, len(sound), size):
            group = sound[start : start + size]
            asked = [prompts[index] for index in group]
            if len(group) > 1:
                answers = self._together(asked, max_tokens=max_tokens, stop=stop, done=done)
            else:
                answers = [self.generate(asked[0], max_tokens=max_tokens, stop=stop, done=done)]
            results.update(zip(group, answers, strict=True))
        return [results[index] for index in range(len(prompts))]

    def logits(self, prompt: Sequence[int], *, rows: int = 1) -> Logits:
        """Return the logits after each of the last ``rows`` tokens, shape [rows, vocab].

        ``rows`` above 1 needs the prompt's tail in one chunk: at most the chunk size.
        """
        return self._prefill(prompt, rows=rows, room=0)[1]

    def _prefill(self, prompt: Sequence[int], *, rows: int, room: int) -> tuple[Slot, Logits, int]:
        """Compute what no live prefix covers; return slot, last logits and rows reused."""
        length, window = len(prompt), self.config.window
        self._check(prompt)
        plan = self._prefixes.begin(prompt)
        capacity = min(length + room, window)
        in_place = plan.slot == plan.source
        if not in_place or capacity > self._slots[plan.slot].capacity:
            self._make_room(capacity, keep=(plan.slot, plan.source))
        slot = self._slots.get(plan.slot) or self._decoder.slot()
        self._slots[plan.slot] = slot
        slot.reserve(capacity, keep=plan.reuse if in_place else 0)
        if plan.source is not None and not in_place:
            slot.copy_from(self._slots[plan.source], rows=plan.reuse)
        reuse = self._read_file(slot, prompt, reuse=plan.reuse)
        logits = self._compute(slot, prompt, start=reuse, rows=rows)
        self._prefixes.commit(plan.slot, prompt)
        self._write_file(slot, prompt, reuse=reuse)
        return slot, logits, reuse

    def _read_file(self, slot: Any, prompt: Sequence[int], *, reuse: int) -> int:
        """Take rows from disk where that saves much; return how many are there then."""
        if self._files is None:
            return reuse
        kept = self._files.longest(prompt, beyond=reuse)
        if kept is None:
            return reuse
        return kept.tokens if self._files.load(kept, into=slot.kv.rows(kept.tokens)) else 0

    def _write_file(self, slot: Any, prompt: Sequence[int], *, reuse: int) -> None:
        """Keep a prompt's rows on disk if many of them were computed."""
        if self._files is not None and len(prompt) - reuse >= WORTH:
            self._files.keep(prompt, slot.kv.rows(len(prompt)))

    def _batch_size(self, prompts: Sequence[Sequence[int]], *, room: int) -> int:
        """Return how many prompts to decode together: 1 where they share too little, or no room."""
        if not self._decoder.batches or len(prompts) < 2:
            return 1
        longest, shared = max(map(len, prompts)), shared_by_all(prompts)
        if 2 * shared < longest:
            return 1
        each = rounded_up(longest + room) * bytes_per_row(self.config)
        return max(1, min(len(prompts), self._batch_budget // each))

    def _together(
        self,
        prompts: Sequence[Sequence[int]],
        *,
        max_tokens: int,
        stop: Collection[int],
        done: Done | None,
    ) -> list[Generated]:
        """Compute what the prompts share once, the rest of each alone, and decode in step."""
        shared, window = shared_by_all(prompts), self.config.window
        trunk, _, reuse = self._prefill(prompts[0][:shared], rows=0, room=0)
        capacity = min(max(map(len, prompts)) + max_tokens, window)
        slots = self._decoder.batch(trunk, rows=shared, capacity=capacity, size=len(prompts))
        answers: list[Answer] = []
        active = []
        for slot, prompt in zip(slots, prompts, strict=True):
            logits = self._compute(slot, prompt, start=shared, rows=1)
            answer = Answer(
                prompt,
                cached=shared if answers else reuse,
                limit=min(max_tokens, window - len(prompt)),
                stop=stop,
                done=done,
            )
            answers.append(answer)
            active.append((answer, answer.extend(logits[-1])))
        growing = compact(slots, active)
        while growing:
            logits = self._decoder.step(
                slots[: len(growing)],
                [answer.tokens[-1] for answer in growing],
                [answer.position for answer in growing],
            )
            steps = zip(growing, logits, strict=True)
            growing = compact(slots, [(answer, answer.extend(row)) for answer, row in steps])
        return [answer.result() for answer in answers]

    def _compute(self, slot: Slot, prompt: Sequence[int], *, start: int, rows: int) -> Logits:
        """Compute the rows of a prompt from ``start`` on, in chunks; return the last logits."""
        ids = np.asarray(prompt, np.int64)[None]
        logits: Logits = np.empty((0, self.config.vocab), np.float32)
        for first, end in chunks(start, len(prompt), size=self._chunk):
            part = np.ascontiguousarray(ids[:, first:end])
            logits = slot.run(part, start=first, rows=rows if end == len(prompt) else 0)
        return logits

    def _check(self, prompt: Sequence[int]) -> None:
        if not prompt:
            raise BackendError("the prompt is empty; give the model at least one token")
        if len(prompt) + 1 > self.config.window:
            raise PromptTooLong(len(prompt), self.config.window)

    def _make_room(self, rows: int, *, keep: Collection[int | None]) -> None:
        """Drop the slots unused for longest until what is kept and ``rows`` fit the budget."""
        wanted = rounded_up(rows) * bytes_per_row(self.config)
        while (
            len(self._slots) >= SLOTS
            or sum(slot.nbytes for slot in self._slots.values()) + wanted > self._budget
        ):
            victim = self._prefixes.evict(keep=keep)
            if victim is None:
                return
            self._slots.pop(victim, None)
