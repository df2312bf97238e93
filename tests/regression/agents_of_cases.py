"""Agents as the reports describe them, faulty and corrected, in a few lines each.

They know the endpoint by its URL alone, so each could be a program in any language.
"""

from __future__ import annotations

import json
from urllib.error import HTTPError
from urllib.request import Request, urlopen

SAY = "This chat is too long. Start a new chat; what was built is kept."
LONG = [{"role": "user", "content": "word " * 300}]
SHORT = [{"role": "user", "content": "summary"}]


class Refused(Exception):
    """A refusal: its status, its body as text, its code if it has one."""

    def __init__(self, error: HTTPError) -> None:
        with error:
            self.status, self.text = error.code, error.read().decode()
        try:
            self.code = json.loads(self.text)["error"].get("code")
        except (ValueError, KeyError):
            self.code = None
        super().__init__(f"{self.status} {self.text}")


def send(server, messages, **more):
    body = json.dumps({"model": "m", "messages": messages, **more}).encode()
    request = Request(f"{server.openai_base_url}/chat/completions", body)  # noqa: S310 - loopback
    try:
        with urlopen(request) as response:  # noqa: S310 - loopback
            return json.load(response)["choices"][0]["message"]
    except HTTPError as error:
        raise Refused(error) from None


# retry


def retry_everything(server):
    """Retry on every exception but an authentication error, ten attempts."""
    for _ in range(10):
        try:
            return send(server, LONG)["content"]
        except Refused as error:
            if error.status in (401, 429):
                raise
    return "failed"


def retry_nothing_refused(server):
    try:
        return send(server, LONG)["content"]
    except Refused:
        return SAY


def match_phrases_only(server):
    """Know an overflow by its words alone; otherwise retry three times."""
    for _ in range(4):
        try:
            return send(server, LONG)["content"]
        except Refused as error:
            if "maximum context length" in error.text:
                return send(server, SHORT)["content"]
    return "failed"


def honour_the_code(server):
    try:
        return send(server, LONG)["content"]
    except Refused as error:
        if error.code != "context_length_exceeded":
            raise
    half = [{"role": "user", "content": LONG[0]["content"][: len(LONG[0]["content"]) // 2]}]
    summary = send(server, [*half, {"role": "user", "content": "Summarise."}])["content"]
    return send(server, [{"role": "user", "content": summary}])["content"]


def retry_unknown_refusals(server):
    for _ in range(3):
        try:
            return send(server, LONG)["content"]
        except Refused as error:
            if error.status != 400:
                raise
    return "failed"


def consult_the_estimate(server):
    try:
        return send(server, LONG)["content"]
    except Refused:
        estimated = len(LONG[0]["content"]) // 4
        return send(server, SHORT)["content"] if estimated > 200 else SAY


# budget


def request_up_to_the_window(words):
    """Compare messages alone with the window."""
    return lambda server: send(server, user(words), max_tokens=2048)["content"]


def user(words):
    return [{"role": "user", "content": "word" + " word" * (words - 1)}]


def report_a_saving(server, *, really):
    """Shorten a copy and say so; send the original unless it is really meant."""
    call = {"id": "f1", "type": "function", "function": {"name": "load", "arguments": "{}"}}
    history = [
        {"role": "user", "content": "load the API file"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "f1", "content": "word " * 9000},
    ]
    shortened = [*history[:2], {**history[2], "content": history[2]["content"][: 5 * 450]}]
    said = f"shortened to {len(shortened[2]['content']) // 5} tokens; "
    return said + send(server, shortened if really else history)["content"]


# loops


def condense(messages):
    """Remove nothing: five events are kept, none forgotten."""
    return list(messages)


def condense_for_ever(server):
    messages = LONG
    for _ in range(5):
        try:
            return send(server, messages)["content"]
        except Refused:
            messages = condense(messages)
    return "iteration limit"


def stop_at_a_no_op(server):
    try:
        return send(server, LONG)["content"]
    except Refused as error:
        shorter = condense(LONG)
        return f"{SAY} ({error.code})" if shorter == LONG else send(server, shorter)["content"]


# early stop


def model(messages):
    """Read, then write, then say so; asked for a summary, summarise."""
    last = messages[-1]
    if last["role"] == "user" and last["content"] == "Summarise.":
        return "Summary: the file was read."
    done = str(messages)
    if "written" in done:
        return "All done."
    read = "contents" in done or "was read" in done
    return {"tool_calls": [{"name": "write_file" if read else "read_file"}]}


def work(server, *, compact, summary_ends=False):
    """Run the tool loop; compaction, if any, comes after the first tool."""
    messages = [{"role": "user", "content": "Mend the file."}]
    results = {"read_file": "contents", "write_file": "written"}
    while True:
        answer = send(server, messages)
        if not answer.get("tool_calls"):
            return answer["content"]
        call = answer["tool_calls"][0]
        result = results[call["function"]["name"]]
        messages += [answer, {"role": "tool", "tool_call_id": call["id"], "content": result}]
        if compact and result == "contents":
            summary = send(server, [*messages, {"role": "user", "content": "Summarise."}])
            if summary_ends:
                return summary["content"]
            messages = [messages[0], {"role": "user", "content": summary["content"]}]


def compact_while_idle(server, *, go_on):
    asked = [{"role": "user", "content": "Which file holds the routes?"}]
    asked.append(send(server, asked))
    summary = send(server, [*asked, {"role": "user", "content": "Summarise."}])
    if go_on:
        more = "Continue if you have next steps."
        send(server, [{"role": "user", "content": summary["content"] + more}])
    return asked[-1]["content"]
