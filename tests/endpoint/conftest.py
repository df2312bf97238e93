"""Another server than ours, as each of the programs that speak chat completions answers."""

from __future__ import annotations

import json
import threading
from collections import deque
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from pytest_ctxguard.endpoint import EndpointBackend
from tests.endpoint.servers import MODELS


class Handler(BaseHTTPRequestHandler):
    """Answers a question with the next reply of the server's queue, any other path by a table."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.reply()

    do_POST = do_GET

    def reply(self):
        length = int(self.headers.get("content-length") or 0)
        body = json.loads(self.rfile.read(length)) if length else None
        server = self.server
        headers = {name.lower(): value for name, value in self.headers.items()}
        with server.turn:
            server.seen.append((self.path, headers, body))
            if self.path.endswith("/chat/completions"):
                reply = server.replies.popleft() if server.replies else None
            else:
                reply = server.routes.get(self.path, (404, {}, {"error": "no such route"}))
        if callable(reply):
            reply = reply(body)
        if reply is None:  # what a server does that is killed
            self.close_connection = True
            return
        status, headers, data = reply if isinstance(reply, tuple) else (200, {}, reply)
        data = data if isinstance(data, bytes) else json.dumps(data).encode()
        self.send_response(status)
        for name, value in {**headers, "content-length": str(len(data))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


class Other(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.replies, self.seen, self.turn = deque(), [], threading.Lock()
        self.routes = {"/v1/models": MODELS}

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}/v1"

    @property
    def asked(self):
        """The questions that were sent."""
        return [body for path, _, body in self.seen if path.endswith("/chat/completions")]


@pytest.fixture
def other():
    """Another server than ours: ``other.replies`` are what it answers, in order."""
    server = Other()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


class Time:
    """A clock that stands still until somebody sleeps."""

    def __init__(self):
        self.now, self.waits = 0.0, []

    def clock(self):
        return self.now

    def sleep(self, seconds):
        self.waits.append(seconds)
        self.now += seconds


@pytest.fixture
def time():
    return Time()


@pytest.fixture
def endpoint(time):
    """Make backends that never really wait, and are closed after the test."""
    made = []

    def make(url, **options):
        known = {"clock": time.clock, "sleep": time.sleep, "chance": lambda: 1.0}
        made.append(EndpointBackend(url, **{**known, **options}))
        return made[-1]

    yield make
    for backend in made:
        backend.close()
