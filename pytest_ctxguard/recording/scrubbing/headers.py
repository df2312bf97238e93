"""Secrets in headers and in addresses."""

from __future__ import annotations

import base64
import re
from urllib.parse import unquote

from pytest_ctxguard.recording.scrubbing.patterns import (
    COOKIES,
    QUERY_KEYS,
    SCRUBBED,
    secret_header,
)
from pytest_ctxguard.recording.scrubbing.scrubber import Scrubber

ADDRESSES = frozenset({"location", "content-location", "referer", "link", "origin"})
COOKIE = re.compile(r"(?P<name>[^=;,\s]+=)(?P<value>[^;]*)")
SET_COOKIE = re.compile(r"(?P<before>^|,\s*)(?P<name>[^=;,\s]+=)(?P<value>[^;,]*)")
ADDRESS = re.compile(
    r"(?P<scheme>[A-Za-z][\w+.-]*://)?(?P<user>(?<=//)[^/?#@]*@)?(?P<rest>[^?#]*)"
    r"(?P<query>\?[^#]*)?(?P<fragment>#.*)?",
    re.S,
)
LONG = 16  # characters of a header's value that is searched for elsewhere; no key is shorter


def scrub_header(scrubber: Scrubber, name: str, value: str) -> str:
    """Return a header's value without its secrets; cookies keep their names."""
    name = name.lower()
    if name in COOKIES:
        return _cookies(scrubber, name, value)
    if secret_header(name):
        return _credentials(scrubber, name, value)
    return scrub_address(scrubber, value) if name in ADDRESSES else scrubber.text(value)


def scrub_address(scrubber: Scrubber, address: str) -> str:
    """Return a URL without its secrets: user and password, keys of the query, anything else."""
    match = ADDRESS.fullmatch(address)
    if match is None:
        return scrubber.text(address)
    user = match["user"] or ""
    if user and user != f"{SCRUBBED}@":
        for part in user[:-1].split(":", 1):
            scrubber.whole(unquote(part), "the user or password of a URL")
        user = f"{SCRUBBED}@"
    query, fragment = match["query"] or "", match["fragment"] or ""
    return "".join(
        (
            match["scheme"] or "",
            user,
            scrubber.text(match["rest"]),
            query[:1],
            scrubber.form(query[1:], keys=QUERY_KEYS),
            fragment[:1],
            scrubber.form(fragment[1:], keys=QUERY_KEYS),
        )
    )


def _credentials(scrubber: Scrubber, name: str, value: str) -> str:
    what = f"the header {name}"
    words = value.split()
    if len(words) == 2:  # a scheme, and what it carries
        scrubber.known.learn(words[1], what, length=LONG)
        if words[0].lower() == "basic":
            scrubber.known.learn(_password(words[1]), what)
    return scrubber.whole(value, what, length=LONG) if value else value


def _password(credentials: str) -> str:
    try:
        return base64.b64decode(credentials).partition(b":")[2].decode("utf-8")
    except ValueError:
        return ""


def _cookies(scrubber: Scrubber, name: str, value: str) -> str:
    def cookie(match: re.Match[str]) -> str:
        before, what = match.groupdict().get("before", ""), f"a cookie in the header {name}"
        new = scrubber.whole(match["value"], what, length=LONG) if match["value"] else ""
        return f"{before}{match['name']}{new}"

    if "=" not in value:
        return scrubber.whole(value, f"the header {name}") if value else value
    pattern = SET_COOKIE if name == "set-cookie" else COOKIE
    return scrubber.text(pattern.sub(cookie, value))
