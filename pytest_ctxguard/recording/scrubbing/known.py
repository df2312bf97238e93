"""The secrets whose values are known: from the environment, from the user, from the traffic."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import quote, quote_plus, unquote, urlsplit

from pytest_ctxguard.errors import UsageError
from pytest_ctxguard.recording.scrubbing.patterns import SCRUBBED, SECRET_KEYS, plain

NAMES = re.compile(
    r"_KEY$|^KEY$|API_?KEY|ACCESS_KEY|TOKEN$|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIAL|_PAT$"
    r"|_ORG(?:ANI[SZ]ATION)?(?:_ID)?$|^OPENAI_PROJECT|_PROJECT_ID$|_ACCOUNT_ID$|CONNECTION_STRING"
)
SHORTEST = 8  # characters; a shorter value stands in ordinary text by chance
SHORTEST_GIVEN = 4  # of what the user names
WORDS = frozenset(
    re.findall(
        r"[a-z]+",
        "a admin and any api app auth bearer change changeme default demo dev development disabled"
        " dummy empty enabled example fake false foo bar baz for here in insert is it key local"
        " localhost me mock my needed no none not null of on open openai anthropic password"
        " placeholder postgres prod production public put required root sample secret sk staging"
        " test testing tests the to token true undefined unset unused user x xx xxx yes you your",
    )
)
PATH = re.compile(r"(?:~|\.{1,2}|[A-Za-z]:)?(?:[/\\][\w.@ -]+)+[/\\]?")
RANDOM_PART = re.compile(r"(?=.*[a-z])(?=.*[A-Z])(?=.*[0-9]).{20,}")


def is_secret_value(value: str) -> bool:
    """Tell whether a variable with a secret's name can hold one: no path, plain word or number."""
    if len(value) < SHORTEST or SCRUBBED in value:
        return False
    if all(part in WORDS for part in re.split(r"[^a-z]+", value.lower()) if part):
        return bool(re.search(r"[0-9]{10}", value))
    if PATH.fullmatch(value) and not any(map(RANDOM_PART.fullmatch, re.split(r"[/\\]", value))):
        return False
    if re.fullmatch(r"[A-Za-z_ -]+", value):
        return len(value) >= 16
    if value.isdigit():
        return len(value) >= 10
    return not re.fullmatch(r"\w+://[^@\s]*", value)  # an address with no password in it


def is_random(value: str, *, length: int = 12, digits: int = 2) -> bool:
    """Tell whether a value in traffic looks like a key: letters and digits in one long word."""
    return (
        len(value) >= length
        and sum(c.isdigit() for c in value) >= digits
        and any(c.isalpha() for c in value)
        and not re.search(r"\s", value)
        and SCRUBBED not in value
    )


def from_environment(environ: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield the secret values of an environment, each with what it is."""
    for name, value in sorted(environ.items()):
        value = value.strip()
        password = _password(value)
        if password:
            yield password, f"the password in {name}"
        elif NAMES.search(name.upper()):
            for secret in (value, *_in_json(value)):
                if is_secret_value(secret):
                    yield secret, f"the value of {name}"


def given(extra: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield the values the user named.

    Raises:
        UsageError: one is so short that ordinary text would be changed.
    """
    for number, value in enumerate(extra, 1):
        if len(value) < SHORTEST_GIVEN:
            raise UsageError(
                f"secret {number} of `extra` has {len(value)} characters; ordinary text would be "
                f"replaced. Give whole secrets, of {SHORTEST_GIVEN} characters or more."
            )
        yield value, f"secret {number} of `extra`"


class Known:
    """Values that must not be written, and every way they are spelled in text.

    Attributes:
        clean: texts that were searched and hold no secret; a request repeats most of the one
            before it. Empty again as soon as there is more to search for.
        clean_runs: the same, of runs of text that can be base64.
    """

    def __init__(self, values: Iterable[tuple[str, str]]) -> None:
        self.clean: set[str] = set()
        self.clean_runs: set[str] = set()
        self._what: dict[str, str] = {}
        self._names: dict[str, str] = {}
        self._pattern: re.Pattern[str] | None = None
        for value, what in values:
            self._add(value, what)

    def __len__(self) -> int:
        return len(self._what)

    def learn(self, value: str, what: str, *, length: int = SHORTEST) -> None:
        """Remember a value that traffic shows to be secret, if it is random enough to search for.

        Args:
            value: the value.
            what: where it was seen, for messages.
            length: least number of characters.
        """
        if is_random(value, length=length):
            self._add(value, what)

    def spans(self, text: str) -> Iterator[tuple[int, int, str]]:
        """Yield where a value stands in a text, spelled in any way: start, end, what it is."""
        if self._pattern is None:
            longest = sorted(self._names, key=len, reverse=True)
            self._pattern = re.compile("|".join(map(re.escape, longest)) or r"(?!)")
        for match in self._pattern.finditer(text):
            yield match.start(), match.end(), self._names[match[0]]

    def cores(self) -> Iterator[tuple[str, str, str]]:
        """Yield what of each value's base64 does not depend on its neighbours.

        At each of the three alignments, in both alphabets; with what it is, and its short hash.
        Of values so short that they would be found by chance, none.
        """
        for value, what in self._what.items():
            data = encode(value)
            if len(data) < SHORTEST:
                continue
            for shift in range(3):
                whole = base64.b64encode(b"\0" * shift + data).decode("ascii")
                core = whole[(0, 2, 3)[shift] : (shift + len(data)) * 8 // 6]
                yield core, what, digest(value)
                yield core.translate(str.maketrans("+/", "-_")), what, digest(value)

    def _add(self, value: str, what: str) -> None:
        if value not in self._what:
            self._what[value] = what
            for spelling in _spellings(value):
                self._names.setdefault(spelling, what)
            self._pattern = None
            self.clean.clear()
            self.clean_runs.clear()


def encode(text: str) -> bytes:
    """Return a text's bytes; what stood for undecodable bytes becomes them again."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")


def digest(secret: str) -> str:
    """Return a short hash, by which a reader who has the secret recognises it."""
    return hashlib.sha256(encode(secret)).hexdigest()[:6]


def _spellings(value: str) -> set[str]:
    escaped = {json.dumps(value, ensure_ascii=ascii)[1:-1] for ascii in (True, False)}
    escaped |= {one.replace("/", "\\/") for one in escaped}
    escaped |= {json.dumps(one, ensure_ascii=False)[1:-1] for one in escaped}
    data = encode(value)
    quoted = {quote(data), quote(data, safe=""), quote_plus(data)}
    quoted |= {re.sub(r"%[0-9A-F]{2}", lambda m: m[0].lower(), one) for one in quoted}
    return {value, *escaped, *quoted}


def _password(value: str) -> str | None:
    if "://" not in value:
        return None
    try:
        found = unquote(urlsplit(value).password or "")
    except ValueError:
        return None
    return found if len(found) >= SHORTEST and is_secret_value(found) else None


def _in_json(value: str) -> Iterator[str]:
    """Yield the secrets of a JSON value, such as a service account's credentials."""
    if not value.startswith("{"):
        return
    try:
        found = json.loads(value)
    except (ValueError, RecursionError):
        return
    stack: list[Any] = [found]
    while stack:
        for key, inner in stack.pop().items():
            if isinstance(inner, dict):
                stack.append(inner)
            elif isinstance(inner, str) and plain(key) in SECRET_KEYS:
                yield inner
