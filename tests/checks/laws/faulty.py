"""For each law a policy that breaks it and no other, and one in which the fault is mended."""

from __future__ import annotations

from pytest_ctxguard.policies.full_history import full_history
from pytest_ctxguard.transcript.messages import content_text, instructions, tool_rounds, turn_starts

NOTE = "[Earlier messages were left out.]"


def characters(messages):
    """Count a request: a character is a token, and each message costs ten more."""
    calls = sum(len(str(m.get("tool_calls") or "")) for m in messages)
    return 10 * len(messages) + sum(len(content_text(m)) for m in messages) + calls


def units(messages):
    rounds = {each.start: set(each) for each in tool_rounds(messages)}
    inside = {i for each in rounds.values() for i in each}
    return [rounds.get(i, {i}) for i in range(len(messages)) if i in rounds or i not in inside]


def required(messages):
    rounds = tool_rounds(messages)
    open_round = rounds[-1] if rounds and rounds[-1].stop == len(messages) else ()
    return {*range(instructions(messages)), *turn_starts(messages)[-1:], *open_round}


def chosen(messages, kept):
    return [messages[i] for i in sorted(kept)]


def filled(messages, kept, candidates, *, budget, count):
    """Keep those of the candidates that still fit, the first ones first."""
    for unit in candidates:
        if count(chosen(messages, kept | unit)) <= budget:
            kept = kept | unit
    return kept


def fitted(messages, budget, count):
    """Keep what must be kept and the newest whole rounds and messages that fit."""
    kept = required(messages)
    newest = reversed(units(messages))
    return chosen(messages, filled(messages, kept, newest, budget=budget, count=count))


def no_text_is_an_error(messages, budget, count):
    long = [m["content"].strip() for m in messages]
    return fitted(messages, budget, count) if long else []


def splits_rounds(messages, budget, count):
    kept = required(messages)
    newest = [{i} for i in reversed(range(len(messages)))]
    return chosen(messages, filled(messages, kept, newest, budget=budget, count=count))


def moves_the_task_to_the_end(messages, budget, count):
    sent = fitted(messages, budget, count)
    task = messages[turn_starts(messages)[-1]]
    return [*(m for m in sent if m is not task), task]


def with_a_note(messages, budget, count):
    if count(messages) <= budget:
        return list(messages)
    note = {"role": "user", "content": NOTE}
    sent = fitted(messages, budget, lambda ms: count([*ms, note]))
    return [*sent[: instructions(sent)], note, *sent[instructions(sent) :]]


def strips_in_place(messages, budget, count):
    for message in messages:
        if isinstance(message["content"], str):
            message["content"] = message["content"].strip()
    return fitted(messages, budget, count)


def strips_copies(messages, budget, count):
    stripped = [
        {**m, "content": m["content"].strip()} if isinstance(m["content"], str) else m
        for m in messages
    ]
    return fitted(stripped, budget, count)


def gives_its_own_list(messages, budget, count):
    sent = fitted(messages, budget, count)
    return messages if len(sent) == len(messages) else sent


def in_order_of_a_set(messages, budget, count):
    named = {"".join(content_text(messages[i]) for i in unit): unit for unit in units(messages)}
    anyhow = [named[text] for text in {*named}]
    kept = filled(messages, required(messages), anyhow, budget=budget, count=count)
    return chosen(messages, kept)


def counts_no_results(messages, budget, count):
    return fitted(messages, budget, lambda ms: count([m for m in ms if m["role"] != "tool"]))


def forgets_the_task(messages, budget, count):
    kept = required(messages) - set(turn_starts(messages)) | {len(messages) - 1}
    newest = reversed(units(messages))
    return chosen(messages, filled(messages, kept, newest, budget=budget, count=count))


def aims_at_half(messages, budget, count):
    return fitted(messages, budget // 2, count)


def halves(messages, budget, count):
    if count(messages) <= budget // 4:
        return list(messages)
    optional = [unit for unit in units(messages) if not unit <= required(messages)]
    newest = list(reversed(optional))[: len(optional) // 2]
    kept = filled(messages, required(messages), newest, budget=budget, count=count)
    return chosen(messages, kept)


FAULTY = {
    "answers": no_text_is_an_error,
    "well-formed": splits_rounds,
    "order": moves_the_task_to_the_end,
    "nothing-invented": with_a_note,
    "unmutated": strips_in_place,
    "within-budget": counts_no_results,
    "current-turn": forgets_the_task,
    "identity-below-budget": aims_at_half,
    "idempotent": halves,
    "always-extended": fitted,
}
MENDED = {
    **dict.fromkeys(FAULTY, fitted),
    "nothing-invented": with_a_note,
    "unmutated": strips_copies,
    "always-extended": full_history,
}
