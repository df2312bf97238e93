"""Where an endpoint is, and the key to it."""

from __future__ import annotations

from urllib.parse import urlsplit

from pytest_ctxguard.errors import UsageError

LOOPBACK = ("127.0.0.1", "localhost", "::1")


def base_url(url: str) -> str:
    """Return the base URL of an endpoint, without a slash at its end.

    Raises:
        UsageError: it is no http URL, or carries a user name or password.
    """
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise UsageError("an endpoint is a URL such as http://127.0.0.1:8000/v1")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise UsageError(
            f"the endpoint's URL for {parts.hostname} has a user name, password, query or "
            "fragment; give scheme, host, port and path only, and the key by environment variable"
        )
    return url.rstrip("/") + ("" if parts.path.strip("/") else "/v1")


def server_url(base: str) -> str:
    """Return where a server has the routes that are its own: the base URL without ``/v1``."""
    return base.removesuffix("/v1")


def is_loopback(url: str) -> bool:
    """Tell whether a URL is on this machine, where a proxy has no business."""
    return urlsplit(url).hostname in LOOPBACK


def bearer(key: str | None) -> str:
    """Return a key as a header can carry it; nothing where there is none.

    White space around it goes: a secret read from a file often ends in a newline.

    Raises:
        UsageError: a header cannot carry it; the text does not hold the key.
    """
    key = (key or "").strip()
    if not all("!" <= letter <= "~" for letter in key):
        raise UsageError(
            "the endpoint's key has white space or letters beyond ASCII in it, which no header "
            "carries; give the key alone"
        )
    return key
