"""Every law, in report order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pytest_ctxguard.checks.laws import declared, limits, universal
from pytest_ctxguard.checks.laws.law import Law
from pytest_ctxguard.errors import UsageError

_ALL = (
    Law(
        name="answers",
        statement="the policy returns messages, or refuses a history over the budget by a declared "
        "error",
        why="the agent stops in the middle of its work",
        remedy="handle this history; an error that says nothing fits is declared by "
        "refuses=(TheError,)",
        check=universal.answers,
    ),
    Law(
        name="well-formed",
        statement="every request keeps the provider's rules as far as the history does",
        why="the provider refuses the request, most often for every later call, too",
        remedy="cut between tool rounds; keep or drop a call and all its results together",
        check=universal.well_formed,
    ),
    Law(
        name="order",
        statement="what is sent stands in the order of the history, each message once",
        why="the model reads answers before their questions",
        remedy="select messages by their index, in order",
        check=universal.order,
    ),
    Law(
        name="nothing-invented",
        statement="a request says only what the history says, and declared inserts",
        why="the model takes for said what nobody said",
        remedy='declare what the policy puts in: inserts=("[Earlier messages …]",), or '
        'inserts="any" for summaries',
        check=universal.nothing_invented,
    ),
    Law(
        name="unmutated",
        statement="the history is not changed, and its list not returned",
        why="what is changed is gone for every later call",
        remedy="return a new list, and a new dict for each message that is shortened",
        check=universal.unmutated,
    ),
    Law(
        name="deterministic",
        statement="two fresh policies, given the same, return the same",
        why="a changed request misses the provider's cache, and a failure cannot be repeated",
        remedy="sort what comes out of a set; take no time, random number or hash()",
        check=universal.deterministic,
    ),
    Law(
        name="within-budget",
        statement="a request keeps to the budget, or holds only what nothing can leave out: "
        "instructions, first and last user message, the open tool round",
        why="the request is refused, or the window is cut by someone who knows less",
        remedy="leave out more, or raise an error and declare it: refuses=(TheError,). Counts are "
        "those of the counter; counter=… gives another one",
        check=limits.within_budget,
        budgeted=True,
    ),
    Law(
        name="current-turn",
        statement="the last user message and the open tool round are sent, or shortened "
        "with a mark",
        why="the model no longer knows what it is to do, or asks for the same result for ever",
        remedy="keep the last user message and the newest tool round whatever the limit is; put a "
        "mark such as [shortened] where one is cut",
        check=limits.current_turn,
    ),
    Law(
        name="identity-below-budget",
        statement="a history that fits is sent as it is",
        why="what would have fitted is lost",
        remedy="count first, and return the history when it fits",
        check=declared.identity_below_budget,
        declared=True,
        budgeted=True,
    ),
    Law(
        name="idempotent",
        statement="the policy leaves its own requests as they are",
        why="a policy that stores what it sends cuts again at every call",
        remedy="recognise your own marks and notes; cut to the same place",
        check=declared.idempotent,
        declared=True,
    ),
    Law(
        name="always-extended",
        statement="each request begins with the whole request before it",
        why="the provider's cache is missed from the first change on",
        remedy="change nothing that was sent before; put what is new at the end",
        check=declared.always_extended,
        declared=True,
    ),
)

LAWS: Mapping[str, Law] = {law.name: law for law in _ALL}
UNIVERSAL = tuple(law.name for law in _ALL if not law.declared)
DECLARED = tuple(law.name for law in _ALL if law.declared)


def laws_for(declares: Sequence[str], *, budgeted: bool) -> tuple[Law, ...]:
    """Return the laws a policy must keep.

    Args:
        declares: names of the laws it declares.
        budgeted: whether it takes a budget.

    Raises:
        UsageError: no such law can be declared, or it needs a budget and the policy takes none.
    """
    for name in (declares,) if isinstance(declares, str) else declares:
        if name not in DECLARED:
            raise UsageError(
                f"declares={name!r}: a policy may declare {', '.join(DECLARED)}; the other laws "
                "always hold"
            )
        if LAWS[name].budgeted and not budgeted:
            raise UsageError(
                f"declares={name!r}, but the policy takes no budget. Name budget in its signature, "
                'or sweep its limit: sweep={"budget": range(1, 500)}'
            )
    return tuple(
        law
        for law in _ALL
        if (not law.declared or law.name in declares) and (budgeted or not law.budgeted)
    )
