"""Its policy: every user message, and the last four turns whole."""

from pytest_ctxguard import UserMessages

fit = UserMessages(last_turns=4)
