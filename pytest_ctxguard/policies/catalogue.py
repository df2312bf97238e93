"""The reference policies by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pytest_ctxguard.policies.full_history import full_history
from pytest_ctxguard.policies.protocol import Policy
from pytest_ctxguard.policies.sliding_window import SlidingWindow
from pytest_ctxguard.policies.three_step_fit import CountedThreeStepFit, ThreeStepFit
from pytest_ctxguard.policies.user_messages import UserMessages


def reference_policies() -> Mapping[str, Callable[[], Policy]]:
    """Return name -> factory of each reference policy with its defaults, in report order."""
    return {
        "full-history": lambda: full_history,
        "sliding-window": lambda: SlidingWindow(),
        "user-messages": lambda: UserMessages(),
        "three-step-fit": lambda: ThreeStepFit(),
        "three-step-fit-counted": lambda: CountedThreeStepFit(),
    }
