"""A counter that encodes, for requests whose tokens a person can count."""

from pytest_ctxguard.prefix.sent import Sent
from pytest_ctxguard.transcript.messages import full_text

BEGIN, END = 1, 2


class LetterEncoder:
    """A token per letter, and two around each message; one for the generation prompt.

    As in Qwen's template, tools stand behind the system message.
    """

    name = "letters, encoded"

    def encode(self, messages, *, tools=(), generation_prompt=True):
        lead = 1 if messages and messages[0]["role"] == "system" else 0
        ids = [token for message in messages[:lead] for token in framed(message)]
        ids += [ord(letter) for tool in tools for letter in str(tool["function"]["name"])]
        ids += [token for message in messages[lead:] for token in framed(message)]
        return [*ids, BEGIN] if generation_prompt else ids

    def count(self, messages, *, tools=(), generation_prompt=True):
        return len(self.encode(messages, tools=tools, generation_prompt=generation_prompt))


def framed(message):
    return [BEGIN, *map(ord, full_text(message).strip()), END]


def sent(*messages, **fields):
    return Sent(messages=messages, **fields)
