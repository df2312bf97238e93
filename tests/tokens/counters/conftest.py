"""Files and a server that counters are made of."""

import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest


@pytest.fixture
def answering():
    """Return what serves, on loopback, the answers that a function gives: (path, body) -> row.

    A row is (status, text or JSON). The requests are kept in the server's ``seen``.
    """
    with _serving() as serve:
        yield serve


@contextmanager
def _serving():
    running = []

    def serve(answer):
        class Handler(BaseHTTPRequestHandler):
            def _reply(self):
                length = int(self.headers.get("content-length") or 0)
                body = json.loads(self.rfile.read(length)) if length else None
                self.server.seen.append((self.path, body, self.headers.get("authorization")))
                status, said = answer(self.path, body)
                data = (said if isinstance(said, str) else json.dumps(said)).encode()
                self.send_response(status)
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            do_GET = do_POST = _reply

            def log_message(self, *_):
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.seen = []
        server.url = f"http://127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        running.append((server, thread))
        return server

    yield serve
    for server, thread in running:
        server.shutdown()
        server.server_close()
        thread.join()
