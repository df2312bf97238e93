"""A real browser, without network: the system's Chromium, driven by playwright."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from pytest_ctxguard.report.html import render_html

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
QUIET = (
    "--no-sandbox",  # a container's root may not use it
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


def missing(what: str) -> None:
    """Skip, or fail where a browser is promised."""
    if os.environ.get("CTXGUARD_REQUIRE_BROWSER") == "1":
        pytest.fail(f"CTXGUARD_REQUIRE_BROWSER=1, and {what}")
    pytest.skip(what)


@pytest.fixture(scope="module")
def browser():
    """The browser; of one module, since while it runs no event loop can be started."""
    path = next(filter(None, map(shutil.which, NAMES)), None)
    if path is None:
        missing(f"no browser is installed ({', '.join(NAMES)}): apt-get install chromium")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        missing("playwright is not installed: pip install -e '.[dev]'")
    with sync_playwright() as driver:
        running = driver.chromium.launch(executable_path=path, args=list(QUIET))
        yield running
        running.close()


@dataclass
class Opened:
    """Pages that one test opened, and what went wrong on them.

    Attributes:
        browser: the browser.
        folder: where the files are written.
        asked: addresses that any page asked for, but its own.
        complaints: what stood in a console, and what a script raised.
    """

    browser: object
    folder: Path
    asked: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)
    contexts: list[object] = field(default_factory=list)

    def __call__(self, run, *, width=1280, scheme="light", media="screen", scripts=True):
        """Return the page of a run, or of what was rendered of one."""
        file = self.folder / f"report-{len(self.contexts)}.html"
        text = run if isinstance(run, str) else render_html(run)
        file.write_text(text, encoding="utf-8")
        context = self.browser.new_context(
            viewport={"width": width, "height": 900},
            color_scheme=scheme,
            java_script_enabled=scripts,
        )
        self.contexts.append(context)
        page = context.new_page()
        page.emulate_media(media=media, color_scheme=scheme)
        own = file.as_uri()
        page.on("request", lambda made: made.url.startswith(own) or self.asked.append(made.url))
        page.on("console", lambda message: self.complaints.append(message.text))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("dialog", lambda dialog: self.complaints.append(f"dialog: {dialog.message}"))
        page.goto(own)
        return page


@pytest.fixture
def opened(browser, tmp_path):
    """Opens pages; at the end none may have asked for anything, or complained."""
    opener = Opened(browser, tmp_path)
    yield opener
    for context in opener.contexts:
        context.close()
    assert opener.asked == []
    assert opener.complaints == []
