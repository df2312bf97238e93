"""What asking a sample comes to: trials, cells, and the whole."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from pytest_ctxguard import stats
from pytest_ctxguard.errors import UsageError
from pytest_ctxguard.recall.asking import Spent
from pytest_ctxguard.recall.needles.sample import Sample
from pytest_ctxguard.recall.outcomes import OUTCOMES, Outcome
from pytest_ctxguard.replay.carried import Source


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One needle, asked for once.

    Attributes:
        id: stable within its sample.
        recipe: rebuilds the prompt.
        outcome: what the answer amounts to.
        text: the judged text, or the error.
        sources: where the value stood in the request; empty: it was not carried.
        tokens: exact size of the request.
        digest: hash of the request; that of the recipe's prompt where the policy kept all of it.
    """

    id: str
    recipe: str
    outcome: Outcome
    text: str
    sources: tuple[Source, ...]
    tokens: int
    digest: str

    @property
    def carried(self) -> bool:
        """Whether the value was in the request."""
        return bool(self.sources)

    @property
    def answered(self) -> bool:
        """Whether the model gave it."""
        return self.outcome == "hit"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """The trials of one length and depth.

    Attributes:
        name: stable.
        planned: how many trials it was to have.
        trials: those asked, in order; all, unless asking ended early.
        depth: of the needle, where the cell has one.
        records: length of the haystack, where the cell has one.
    """

    name: str
    planned: int
    trials: tuple[Trial, ...]
    depth: float | None = None
    records: int | None = None

    @property
    def of(self) -> int:
        """Trials asked."""
        return len(self.trials)

    @property
    def hits(self) -> int:
        """Trials answered."""
        return sum(trial.answered for trial in self.trials)

    @property
    def carried(self) -> int:
        """Trials whose request had the value."""
        return sum(trial.carried for trial in self.trials)

    @property
    def neighbours(self) -> int:
        """Trials answered with another record's value."""
        return self.outcomes.get("neighbour", 0)

    @property
    def outcomes(self) -> Mapping[Outcome, int]:
        """Outcome -> number of trials; only those that occur."""
        counts = Counter(trial.outcome for trial in self.trials)
        return {outcome: counts[outcome] for outcome in OUTCOMES if counts[outcome]}

    @property
    def interval(self) -> stats.Interval:
        """Wilson's 95 % interval of the rate; for display, no gate."""
        return stats.wilson(self.hits, self.of)

    def changes_to(self, other: Cell) -> stats.Changes:
        """Compare this cell with another one of its recall, draw by draw: lost, gained, kept."""
        return stats.changes(self._by_draw(), other._by_draw())

    def _by_draw(self) -> Mapping[str, str]:
        start = f"{self.name}:"
        return {trial.id.removeprefix(start): trial.outcome for trial in self.trials}

    @property
    def title(self) -> str:
        """The cell in words."""
        parts = [
            "" if self.records is None else f"{self.records} records",
            "" if self.depth is None else f"depth {self.depth:g}",
        ]
        return ", ".join(filter(None, parts)) or self.name or "all trials"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Recall:
    """A sample asked under a policy.

    Attributes:
        sample: what was asked.
        cells: what it came to, in the sample's order.
        policy: the policy's name.
        label: the ``name`` given to it, or empty.
        budget: tokens the policy was asked to stay within, or ``None``.
        counter: name of what counted.
        spent: what asking took; questions answered before cost nothing again.
        changed: trials in which the policy changed a request.
        over: trials whose history exceeded the budget; their longest history is ``longest``.
        longest: tokens of the longest history.
        mutated: trial id -> what the policy changed of the history it was handed.
    """

    sample: Sample
    cells: tuple[Cell, ...]
    policy: str
    label: str
    budget: int | None
    counter: str
    spent: Spent
    changed: int
    over: int
    longest: int
    mutated: Mapping[str, tuple[str, ...]]

    def __repr__(self) -> str:
        """Name it; its trials would fill pages of a failing test's report."""
        hits = ", ".join(f"{cell.title}: {cell.hits}/{cell.of}" for cell in self.cells)
        return f"<Recall of {self.sample.haystack} under {self.policy}: {hits}>"

    @property
    def trials(self) -> tuple[Trial, ...]:
        """The trials of all cells. Cells share draws: their trials are not independent."""
        return tuple(trial for cell in self.cells for trial in cell.trials)

    @property
    def prompt_tokens(self) -> int:
        """Tokens of all requests, each billed in full; ``spent`` says what was computed."""
        return sum(trial.tokens for trial in self.trials)

    def cell(self, *, depth: float | None = None, records: int | None = None) -> Cell:
        """Return the one cell of a depth, a length, or both.

        Raises:
            UsageError: there is none, or more than one.
        """
        found = self.select(depth=depth, records=records)
        if len(found) == 1:
            return found[0]
        raise UsageError(
            f"{len(found)} cells are {_named(depth, records)}; there are: "
            + "; ".join(cell.title for cell in self.cells)
        )

    def select(self, *, depth: float | None = None, records: int | None = None) -> tuple[Cell, ...]:
        """Return the cells of a depth, a length, or both; all where neither is said."""
        return tuple(
            cell
            for cell in self.cells
            if depth in (None, cell.depth) and records in (None, cell.records)
        )

    def effective_length(
        self, share: float = 0.85, *, depth: float | None = None
    ) -> stats.Effective:
        """Return the largest length whose recall is at least a share of the shortest one's.

        Raises:
            UsageError: the cells do not differ in length alone.
        """
        cells = self.select(depth=depth)
        if len({cell.depth for cell in cells}) != 1 or any(c.records is None for c in cells):
            raise UsageError(
                "an effective length is of cells that differ in length alone: "
                "ctx_recall(…, lengths=(1, 8, 25)), or name one of the depths"
            )
        rows = [stats.LengthCell(cell.records or 0, cell.hits, cell.of) for cell in cells]
        return stats.effective_length(rows, share=share)


def _named(depth: float | None, records: int | None) -> str:
    parts = [f"depth {depth:g}"] if depth is not None else []
    return " and ".join([*parts, *([f"{records} records"] if records is not None else [])]) or "any"
