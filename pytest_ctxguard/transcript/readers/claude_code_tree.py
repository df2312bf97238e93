"""The rows of a Claude Code session, as messages that each follow another.

A row names the row it follows (``parentUuid``), and that proves what was sent; where it names none,
or one that is not in the file or not there once, the order of the file counts. Three things look
like forks and are none: the rows of one answer, each with a block or two; the results of parallel
calls, each following its own call; and what follows messages that a compaction kept.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from pytest_ctxguard.transcript.wire.typed import mapping

Row = Mapping[str, Any]
Kind = Literal["user", "assistant", "compaction"]


@dataclass(frozen=True, slots=True)
class Placed:
    """A row, with its line in the file, or its index in a list of rows."""

    row: Row
    line: int | None = None
    index: int | None = None


@dataclass(slots=True)
class Node:
    """A message, or a compaction.

    Attributes:
        kind: what it is.
        rows: those it consists of: of a compaction, its boundary and its summary, or one of them.
        parent: the node it follows.
        round: of an answer, itself; of a tool result, the answer whose call it answers.
    """

    kind: Kind
    rows: list[Placed]
    parent: int | None
    round: int | None = None
    calls: set[str] = field(default_factory=set)
    answered: set[str] = field(default_factory=set)
    tail: int | None = None


@dataclass(slots=True)
class Tree:
    """The messages of a file, put together row by row.

    Attributes:
        ambiguous: uuids that several rows bear, which therefore name none.
        nodes: in the order of their first rows; a node follows an earlier one.
        stray: rows that name a row to follow which the file does not hold, or not before them.
    """

    ambiguous: frozenset[str]
    nodes: list[Node] = field(default_factory=list)
    stray: int = 0
    _at: dict[str, int | None] = field(default_factory=dict)
    _ends: dict[tuple[Any, ...], int] = field(default_factory=dict)
    _answers: dict[tuple[str, str], int] = field(default_factory=dict)
    _moved: dict[int, int] = field(default_factory=dict)  # last message kept -> its compaction

    def user(self, placed: Placed) -> None:
        """Add a row of type user, or another that stands for one."""
        row = placed.row
        _, before = self._follows(row)
        results = set(_ids(row, "tool_result", "tool_use_id"))
        if row.get("isCompactSummary") and before is not None:
            if self._awaits_summary(before):
                self.nodes[before].rows.append(placed)
                self._name(row, before)
            else:
                self._new(placed, "compaction", self._last(before))
            return
        answer = None if before is None else self.nodes[before].round
        if not results or answer is None or not results & (self.nodes[answer].calls | {""}):
            self._new(placed, "user", self._last(before))
            return
        head = self.nodes[answer]
        again = bool(results & head.answered)
        new = self._new(placed, "user", before if again else self._last(before))
        self.nodes[new].round = answer
        if not again:
            head.tail = new
            head.answered |= results - {""}

    def assistant(self, placed: Placed) -> None:
        """Add a row of type assistant, to the answer it belongs to or as a new one."""
        row = placed.row
        known, before = self._follows(row)
        message = mapping(row.get("message"))
        key = (str(message.get("id")), str(message.get("model")))
        calls = set(_ids(row, "tool_use", "id"))
        first = self._answers.get(key) if isinstance(message.get("id"), str) else None
        if first is not None and self._goes_on(first, row, known=known, before=before):
            self.nodes[first].rows.append(placed)
            self.nodes[first].calls |= calls
            self._name(row, first)
            return
        new = self._new(placed, "assistant", self._last(before))
        self.nodes[new].round, self.nodes[new].calls = new, calls
        self._answers[key] = new

    def boundary(self, placed: Placed) -> bool:
        """Add the place of a compaction; tell whether there is anything before it."""
        row = placed.row
        _, before = self._follows(row)
        if before is None:
            return False
        new = self._new(placed, "compaction", self._last(before))
        tail = self.kept(row)[1]
        if tail is not None:
            self._moved[tail] = new
        return True

    def other(self, row: Row) -> None:
        """Note where a row stands that is no message, for those that follow it."""
        known, before = self._follows(row)
        if known and before is not None:
            self._name(row, before)

    def kept(self, row: Row) -> tuple[int | None, int | None]:
        """Return the first and the last message that a compaction kept, as far as it says."""
        facts = mapping(row.get("compactMetadata"))
        segment = mapping(facts.get("preservedSegment"))
        uuids = mapping(facts.get("preservedMessages")).get("uuids")
        listed = uuids if isinstance(uuids, list) and uuids else [None]
        head = segment.get("headUuid") or listed[0]
        tail = segment.get("tailUuid") or listed[-1]
        return self._node(head), self._node(tail)

    def _node(self, uuid: Any) -> int | None:
        return self._at.get(uuid) if isinstance(uuid, str) else None

    def _follows(self, row: Row) -> tuple[bool, int | None]:
        """Return whether a row proves what it follows, and that node."""
        parent = row.get("parentUuid")
        if parent is None:
            parent = row.get("logicalParentUuid")
        if isinstance(parent, str):
            if parent in self._at:
                node = self._at[parent]
                return True, self._moved.get(node, node) if node is not None else None
            self.stray += 1
        elif "parentUuid" in row and row.get("type") in ("user", "assistant"):
            return True, None
        return False, self._ends.get(_thread(row))

    def _goes_on(self, first: int, row: Row, *, known: bool, before: int | None) -> bool:
        """Tell whether a row belongs to an answer with its id."""
        end = self._ends.get(_thread(row))
        is_last = end is not None and self.nodes[end].round == first
        if not known:
            return is_last
        if before is not None and self.nodes[before].round == first:
            return True
        return is_last and self._last(before) == self.nodes[first].parent

    def _awaits_summary(self, node: int) -> bool:
        rows = self.nodes[node].rows
        return self.nodes[node].kind == "compaction" and not is_summary(rows[-1].row)

    def _last(self, node: int | None) -> int | None:
        """Return the last result of the round that a node stands in, or the node."""
        if node is None:
            return None
        answer = self.nodes[node].round
        tail = None if answer is None else self.nodes[answer].tail
        return node if tail is None else tail

    def _new(self, placed: Placed, kind: Kind, parent: int | None) -> int:
        self.nodes.append(Node(kind, [placed], parent))
        new = len(self.nodes) - 1
        self._name(placed.row, new)
        self._ends[_thread(placed.row)] = new
        return new

    def _name(self, row: Row, node: int) -> None:
        uuid = row.get("uuid")
        if isinstance(uuid, str) and uuid not in self.ambiguous:
            self._at[uuid] = node


def is_summary(row: Row) -> bool:
    """Tell whether a row is the summary of a compaction."""
    return bool(row.get("isCompactSummary"))


def ambiguous(rows: Iterable[Row]) -> frozenset[str]:
    """Return the uuids that more than one row bears."""
    uuids = Counter(row["uuid"] for row in rows if isinstance(row.get("uuid"), str))
    return frozenset(uuid for uuid, times in uuids.items() if times > 1)


def _thread(row: Row) -> tuple[Any, ...]:
    """Return what tells the session's own rows from those of each sub-agent."""
    agents = (row.get("agentId"), row.get("parent_tool_use_id"))
    return bool(row.get("isSidechain")), *(
        agent if isinstance(agent, str) else "" for agent in agents
    )


def _ids(row: Row, kind: str, key: str) -> list[str]:
    """Return the ids in the blocks of a kind; an empty one where there is none."""
    content = mapping(row.get("message")).get("content")
    blocks = content if isinstance(content, list) else []
    found = [b.get(key) for b in blocks if isinstance(b, dict) and b.get("type") == kind]
    return [value if isinstance(value, str) else "" for value in found]
