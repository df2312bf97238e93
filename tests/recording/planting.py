"""A fake secret, in every place of an exchange."""

import base64
import gzip
import json
import zlib
from dataclasses import dataclass, field
from urllib.parse import quote, quote_plus, urlencode

from vcr.request import Request
from vcr.serialize import serialize
from vcr.serializers import jsonserializer, yamlserializer

CHAT = "https://api.example.com/v1/chat/completions"


@dataclass
class Exchange:
    """One exchange, as vcrpy's stubs see it."""

    uri: str = CHAT
    body: bytes | None = b'{"model":"m","messages":[]}'
    headers: dict = field(default_factory=dict)
    answer: bytes = b'{"choices":[]}'
    answer_headers: dict = field(default_factory=dict)

    @property
    def request(self):
        return Request("POST", self.uri, self.body, dict(self.headers))

    @property
    def response(self):
        return {
            "status": {"code": 200, "message": "OK"},
            "headers": {name: [value] for name, value in self.answer_headers.items()},
            "body": {"string": self.answer},
        }


def file(requests, responses, *, serializer=yamlserializer):
    """Return the bytes vcrpy would write."""
    return serialize({"requests": requests, "responses": responses}, serializer).encode()


SERIALIZERS = {"yaml": yamlserializer, "json": jsonserializer}


def b64(text):
    return base64.b64encode(text.encode()).decode()


def message(content):
    return json.dumps({"messages": [{"role": "user", "content": content}]}).encode()


def events(*contents):
    rows = ({"choices": [{"index": 0, "delta": {"content": content}}]} for content in contents)
    return "".join(f"data: {json.dumps(row)}\n\n" for row in rows).encode() + b"data: [DONE]\n\n"


def blocks(*parts):
    rows = (
        {
            "type": "content_block_delta",
            "index": 1,
            "delta": {"type": "input_json_delta", "partial_json": part},
        }
        for part in parts
    )
    return "".join(
        f"event: content_block_delta\ndata: {json.dumps(row)}\n\n" for row in rows
    ).encode()


def multipart(name, value):
    return (
        f'--xx\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'
        '--xx\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n'
        "Content-Type: text/plain\r\n\r\nordinary\r\n--xx--\r\n"
    ).encode()


GZIP = {"content-encoding": "gzip"}
DEFLATE = {"Content-Encoding": "deflate"}

# Where a secret may stand: name -> an exchange with it.
PLACES = {
    "bearer": lambda s: Exchange(headers={"Authorization": f"Bearer {s}"}),
    "basic": lambda s: Exchange(headers={"authorization": "Basic " + b64(f"user:{s}")}),
    "proxy": lambda s: Exchange(headers={"Proxy-Authorization": f"Basic {b64(s)}"}),
    "x-api-key": lambda s: Exchange(headers={"X-Api-Key": s}),
    "api-key": lambda s: Exchange(headers={"api-key": s}),
    "google key": lambda s: Exchange(headers={"x-goog-api-key": s}),
    "unknown header": lambda s: Exchange(headers={"x-note": f"as {s} said"}),
    "cookie": lambda s: Exchange(headers={"Cookie": f"theme=dark; session={s}"}),
    "set-cookie": lambda s: Exchange(answer_headers={"Set-Cookie": f"sid={s}; Path=/; Secure"}),
    "echoed header": lambda s: Exchange(answer_headers={"x-echo": s}),
    "location": lambda s: Exchange(answer_headers={"Location": f"/cb?access_token={quote(s)}"}),
    "query": lambda s: Exchange(uri=f"{CHAT}?alt=sse&key={quote(s, safe='')}"),
    "any query": lambda s: Exchange(uri=f"{CHAT}?q={quote_plus('find ' + s)}"),
    "path": lambda s: Exchange(uri=f"https://api.example.com/bot{quote(s, safe='')}/send"),
    "userinfo": lambda s: Exchange(uri=f"https://user:{quote(s, safe='')}@api.example.com/v1"),
    "JSON key": lambda s: Exchange(body=json.dumps({"api_key": s}).encode()),
    "JSON text": lambda s: Exchange(body=message(f"my key is {s}, thanks")),
    "JSON deep": lambda s: Exchange(body=json.dumps({"a": [{"b": {"c": [s]}}]}).encode()),
    "name in JSON": lambda s: Exchange(body=json.dumps({"keys": {s: 1}}).encode()),
    "nested JSON": lambda s: Exchange(body=message(json.dumps({"a": {"n": [1, s]}}))),
    "JSON in JSON in JSON": lambda s: Exchange(body=message(json.dumps(json.dumps({"a": s})))),
    "JSON in prose": lambda s: Exchange(body=message("it says: " + json.dumps({"a": s}) + " so")),
    "escaped JSON": lambda s: Exchange(body=message(s).replace(b"/", b"\\/")),
    "form": lambda s: Exchange(body=urlencode({"grant": "x", "client_secret": s}).encode()),
    "form value": lambda s: Exchange(body=urlencode({"q": f"a {s} b", "n": "1"}).encode()),
    "multipart": lambda s: Exchange(body=multipart("api_key", s)),
    "multipart text": lambda s: Exchange(body=multipart("note", f"the key {s}.")),
    "plain text": lambda s: Exchange(body=f"use {s} here".encode()),
    "binary": lambda s: Exchange(body=b"\xff\xfe\x00" + s.encode() + b"\x80"),
    "base64": lambda s: Exchange(body=message(b64(s))),
    "base64 1": lambda s: Exchange(body=message(f"data:text/plain;base64,{b64('a' + s)}")),
    "base64 2": lambda s: Exchange(body=message(b64("ab" + s + "c"))),
    "base64 wrapped": lambda s: Exchange(
        body=message(base64.encodebytes(f"{'text ' * 15}{s}{' text' * 9}".encode()).decode())
    ),
    "base64 URL-safe": lambda s: Exchange(
        body=message(base64.urlsafe_b64encode(f"??>>{s}??>>".encode()).decode().rstrip("="))
    ),
    "base64 of JSON": lambda s: Exchange(body=message(b64(json.dumps({"token": {"v": s}})))),
    "base64 twice": lambda s: Exchange(body=message(b64(b64(f"x{s}")))),
    "base64 of gzip": lambda s: Exchange(
        body=message(base64.b64encode(gzip.compress(s.encode())).decode())
    ),
    "base64 in a query": lambda s: Exchange(uri=f"{CHAT}?state={quote_plus(b64('st' + s))}"),
    "gzip request": lambda s: Exchange(body=gzip.compress(message(s)), headers=GZIP),
    "gzip": lambda s: Exchange(answer=gzip.compress(message(s)), answer_headers=GZIP),
    "gzip unannounced": lambda s: Exchange(answer=gzip.compress(message(s))),
    "deflate": lambda s: Exchange(answer=zlib.compress(message(s)), answer_headers=DEFLATE),
    "SSE": lambda s: Exchange(answer=events("the key ", f"is {s}", ".")),
    "SSE split": lambda s: Exchange(answer=events("the key is ", s[:5], s[5:9], s[9:], " yes")),
    "SSE in single letters": lambda s: Exchange(answer=events("key ", *s, " is it")),
    "SSE arguments": lambda s: Exchange(
        answer=blocks('{"pass', 'word": "', s[:6], s[6:] + '"', "}")
    ),
    "SSE gzip": lambda s: Exchange(answer=gzip.compress(events(s[:4], s[4:])), answer_headers=GZIP),
    "JSON list of chunks": lambda s: Exchange(
        answer=json.dumps([{"t": {"text": part}} for part in (s[:8], s[8:])], indent=1).encode()
    ),
    "login answer": lambda s: Exchange(answer=json.dumps({"access_token": s}).encode()),
}
