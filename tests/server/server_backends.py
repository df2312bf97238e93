"""Backends for the tests of the server."""

from __future__ import annotations

import threading

from pytest_ctxguard.backend import Completion

SECONDS = 20  # after which a test that waits has failed


class Recording:
    """Gives one answer again and again, and keeps what it was asked."""

    def __init__(self, completion):
        self.completion, self.asked = completion, []
        self.identity = {"model": "recording", "numerics": "exact"}

    def complete(self, messages, *, watch=None, **asked):
        self.asked.append({"messages": messages, **asked})
        if isinstance(self.completion, Exception):
            raise self.completion
        if watch is not None:
            watch(self.completion.text)
        return self.completion


class Stepwise:
    """Decodes one piece for each ``go``, as a slow model would, until it is not wanted."""

    def __init__(self, pieces=("one", " two", " three"), *, window=None):
        self.pieces, self.window = pieces, window
        self.identity = {"model": "stepwise", "numerics": "exact"}
        self.began = threading.Semaphore(0)
        self.go = threading.Semaphore(0)
        self.ended = threading.Event()
        self.told, self.finished = [], False

    def complete(self, messages, *, watch=None, **asked):
        self.began.release()
        for piece in self.pieces:
            if not self.go.acquire(timeout=SECONDS):
                raise TimeoutError("the test did not let it go on")
            self.told.append(piece)
            if not watch(piece):
                break
        else:
            self.finished = True
        self.ended.set()
        return Completion("".join(self.told))

    def stopped_before_its_end(self):
        """Let it go on step by step, with time for the server to hear of what happened."""
        for _ in self.pieces:
            self.go.release()
            if self.ended.wait(0.3):
                return not self.finished
        return False
