"""A vocabulary of 267 tokens: bytes, a few merges, and ChatML's control tokens."""

from pytest_ctxguard.tokens.byte_bpe import CONTROL, NORMAL, USER_DEFINED, tokenizer_json
from pytest_ctxguard.tokens.tokenizer_files import TokenizerFiles
from pytest_ctxguard.tokens.vocabulary import byte_letters

MERGES = ("t h", "th e", "Ġ the", "1 2", "i m", "e n")
SPECIAL = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
TAGS = ("<think>", "</think>")
TOKENS = (*byte_letters(), *(merge.replace(" ", "") for merge in MERGES), *SPECIAL, *TAGS)
TYPES = (
    *[NORMAL] * (len(TOKENS) - len(SPECIAL) - len(TAGS)),
    *[CONTROL] * len(SPECIAL),
    *[USER_DEFINED] * len(TAGS),
)
ID = {token: number for number, token in enumerate(TOKENS)}
TEMPLATE = (
    "{% if tools is not none %}<|im_start|>tools\n{% for tool in tools %}{{ tool | tojson }}\n"
    "{% endfor %}<|im_end|>\n{% endif %}"
    "{% for message in messages %}<|im_start|>{{ message.role }}\n"
    "{{ message['content'] }}{% for call in message.tool_calls %}"
    "{{ call.function.name }}({{ call.function.arguments | tojson }}){% endfor %}<|im_end|>\n"
    "{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
STOPS = (ID["<|im_end|>"], ID["<|endoftext|>"])


def tiny_json(*, pre="smollm"):
    return tokenizer_json(TOKENS, TYPES, merges=MERGES, pre=pre)


def tiny_files(*, template=TEMPLATE, text=None, pre="smollm"):
    return TokenizerFiles(text or tiny_json(pre=pre), template, STOPS)
