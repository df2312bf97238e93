"""Clear old tool uses as Anthropic's context editing does on its servers."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Literal

from pytest_ctxguard.errors import UsageError
from pytest_ctxguard.policies.cutting import called_name
from pytest_ctxguard.transcript.messages import Message, tool_calls
from pytest_ctxguard.transcript.pairing import pair

CLEARED_USE = "[Old tool result content cleared to save context. Run the tool again if needed.]"

Size = Callable[[Sequence[Message]], int]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClearToolUses:
    """Clear the results of all but the newest tool uses, once a request passes a trigger.

    The semantics of ``clear_tool_uses_20250919`` as its documentation and the types of
    ``anthropic`` 2.14 give them; each request is decided from the whole history, which the
    client keeps. Whether Anthropic's servers remember an earlier clearing is not documented;
    deciding anew gives the same answer on a growing history, save that ``clear_at_least`` then
    counts what earlier requests had cleared already. The provider words its own placeholder.

    Attributes:
        trigger: clear once the request has more than this.
        trigger_by: unit of the trigger: tokens of the request, or number of tool uses.
        keep: how many of the newest tool uses stay whole, excluded tools not counted.
        clear_at_least: tokens; if clearing would save fewer, nothing is cleared.
        exclude_tools: tools whose uses are never cleared.
        clear_tool_inputs: whether the calls' arguments go too: of all, none, or the tools named.
        placeholder: stands in place of a result, and tells the model.
    """

    trigger: int = 100_000
    trigger_by: Literal["input_tokens", "tool_uses"] = "input_tokens"
    keep: int = 3
    clear_at_least: int = 0
    exclude_tools: Collection[str] = ()
    clear_tool_inputs: bool | Collection[str] = False
    placeholder: str = CLEARED_USE

    def __post_init__(self) -> None:
        if self.trigger_by not in ("input_tokens", "tool_uses"):
            raise UsageError(
                f"ClearToolUses(trigger_by={self.trigger_by!r}): give input_tokens or tool_uses"
            )
        if min(self.trigger, self.keep, self.clear_at_least) < 0:
            raise UsageError("ClearToolUses: trigger, keep and clear_at_least are 0 or more")
        if isinstance(self.exclude_tools, str) or isinstance(self.clear_tool_inputs, str):
            raise UsageError("ClearToolUses: exclude_tools and clear_tool_inputs list tool names")

    def __call__(self, messages: Sequence[Message], *, count: Size) -> list[Message]:
        """Return the messages to send; ``count`` gives the tokens of a whole request."""
        uses = sorted(pair(messages).answered.items())
        whole = count(messages)
        if (whole if self.trigger_by == "input_tokens" else len(uses)) <= self.trigger:
            return list(messages)
        mine = [
            (call, result)
            for call, result in uses
            if called_name(tool_calls(messages[call[0]])[call[1]]) not in self.exclude_tools
        ]
        cleared = self._cleared(messages, mine[: max(0, len(mine) - self.keep)])
        return cleared if whole - count(cleared) >= self.clear_at_least else list(messages)

    def _cleared(
        self, messages: Sequence[Message], uses: Sequence[tuple[tuple[int, int], int]]
    ) -> list[Message]:
        sent = list(messages)
        for (index, position), result in uses:
            sent[result] = {**messages[result], "content": self.placeholder}
            calls = list(tool_calls(sent[index]))
            if self._clears_input(called_name(calls[position])):
                function = {**calls[position]["function"], "arguments": "{}"}
                calls[position] = {**calls[position], "function": function}
                sent[index] = {**sent[index], "tool_calls": calls}
        return sent

    def _clears_input(self, tool: str) -> bool:
        if isinstance(self.clear_tool_inputs, bool):
            return self.clear_tool_inputs
        return tool in self.clear_tool_inputs
