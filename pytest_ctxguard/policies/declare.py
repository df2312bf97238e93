"""What a policy says of itself when a signature cannot: that it persists its cut, or mutates.

A declaration wraps a policy, or a factory of one, and travels with it: ``persists(policy)``,
``mutates(policy)``, or both around each other. On a function they work as decorators.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Shape:
    """How a policy treats the history it is handed.

    Attributes:
        persists: what it returns replaces the stored history, so that its next call is handed
            that and the messages since.
        mutates: it edits the list it is handed, on purpose; returning ``None`` sends that list.
    """

    persists: bool = False
    mutates: bool = False

    def __or__(self, other: Shape) -> Shape:
        return Shape(self.persists or other.persists, self.mutates or other.mutates)


@dataclass(frozen=True, slots=True)
class Declared:
    """A policy, or a factory of one, and what was declared of it; called, it is the policy."""

    policy: Callable[..., Any]
    shape: Shape

    @property
    def __wrapped__(self) -> Callable[..., Any]:
        """The policy, whose signature is this one's."""
        return self.policy

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the policy."""
        return self.policy(*args, **kwargs)


def persists(policy: Callable[..., Any]) -> Declared:
    """Declare that a policy's cut is written back into the stored history.

    So it is where an agent keeps what the policy returns: pydantic-ai's ``ProcessHistory``, a
    session that is compacted, a conversation manager that edits ``agent.messages``.
    """
    return Declared(policy, Shape(persists=True))


def mutates(policy: Callable[..., Any]) -> Declared:
    """Declare that a policy edits the list it is handed, and may return ``None``."""
    return Declared(policy, Shape(mutates=True))


def undeclared(policy: Any) -> tuple[Any, Shape]:
    """Return a policy without its declarations, and what they say together."""
    shape = Shape()
    while isinstance(policy, Declared):
        policy, shape = policy.policy, shape | policy.shape
    return policy, shape
