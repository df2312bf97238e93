"""Contents in ASCII that are drawn from a seed: logs, hex, digits, JSON and the like."""

from __future__ import annotations

import base64
import json
import urllib.parse
import uuid
from collections.abc import Callable, Mapping, Sequence
from random import Random

WORDS = (
    "refund", "payment", "order", "customer", "database", "disk", "replica", "timeout", "retry",
    "queue", "worker", "charge", "settle", "ledger", "invoice", "account", "region", "cluster",
    "deploy", "rollback", "latency", "warning", "gateway", "currency", "batch",
)  # fmt: skip
LEVELS = ("INFO", "WARN", "ERROR", "DEBUG")
ALPHANUMERIC = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"


def pick(rng: Random, items: Sequence[str]) -> str:
    """Return one of some texts."""
    return items[rng.randrange(len(items))]


def _lines(count: int, line: Callable[[int], str]) -> str:
    return "\n".join(line(number) for number in range(count))


def _time(rng: Random, number: int) -> str:
    return f"2026-03-03T18:{number % 60:02}:{rng.randrange(60):02}.{rng.randrange(1000):03}Z"


def log(rng: Random) -> str:
    """Draw lines of a service's log."""
    return _lines(
        14,
        lambda n: (
            f"{_time(rng, n)} {pick(rng, LEVELS)} pay-core-{rng.randrange(40):02} "
            f"[{rng.randrange(1, 32)}] {pick(rng, WORDS)} {rng.randrange(10**6)} "
            f"{pick(rng, WORDS)} took {rng.randrange(9000)} ms"
        ),
    )


def access_log(rng: Random) -> str:
    """Draw lines of a web server's log."""
    return _lines(
        10,
        lambda n: (
            f"10.{rng.randrange(256)}.{rng.randrange(256)}.{rng.randrange(256)} - - "
            f'[03/Mar/2026:18:{n:02}:{rng.randrange(60):02} +0000] "POST /v2/{pick(rng, WORDS)}/'
            f'{rng.randrange(10**5)} HTTP/1.1" {200 + rng.randrange(304)} {rng.randrange(99999)}'
        ),
    )


def hex_run(rng: Random) -> str:
    """Draw hexadecimal digits without a break."""
    return rng.randbytes(400).hex()


def hex_dump(rng: Random) -> str:
    """Draw a dump of bytes, as by xxd."""

    def line(number: int) -> str:
        data = rng.randbytes(16)
        pairs = " ".join(data[i : i + 2].hex() for i in range(0, 16, 2))
        shown = "".join(chr(b) if 32 <= b < 127 else "." for b in data)
        return f"{number * 16:08x}: {pairs}  {shown}"

    return _lines(12, line)


def base64_run(rng: Random) -> str:
    """Draw base64 without a break."""
    return base64.b64encode(rng.randbytes(600)).decode("ascii")


def uuids(rng: Random) -> str:
    """Draw UUIDs, one a line."""
    return _lines(20, lambda n: str(uuid.UUID(bytes=rng.randbytes(16), version=4)))


def digits(rng: Random) -> str:
    """Draw digits without a break."""
    return _lines(1, lambda n: "".join(str(rng.randrange(10)) for _ in range(600)))


def grouped_numbers(rng: Random) -> str:
    """Draw amounts with their thousands marked."""
    return "; ".join(f"{rng.randrange(10**9):,}.{rng.randrange(100):02} EUR" for _ in range(40))


def embedding(rng: Random) -> str:
    """Draw a vector as JSON writes it."""
    return json.dumps([rng.randrange(-(10**8), 10**8) / 10**8 for _ in range(60)])


def _records(rng: Random) -> list[dict[str, object]]:
    return [
        {
            "id": f"pay_{rng.randrange(16**8):08x}",
            "amountCents": rng.randrange(10**6),
            "state": pick(rng, WORDS),
            "tags": [pick(rng, WORDS), pick(rng, WORDS)],
            "retry": {"count": rng.randrange(5), "last": _time(rng, number), "ok": number % 2 == 0},
        }
        for number in range(6)
    ]


def json_minified(rng: Random) -> str:
    """Draw JSON without a space."""
    return json.dumps(_records(rng), separators=(",", ":"))


def json_indented(rng: Random) -> str:
    """Draw JSON indented by four."""
    return json.dumps(_records(rng), indent=4)


def json_nested(rng: Random) -> str:
    """Draw JSON that stands, escaped, as a string in JSON."""
    inner = json.dumps({"items": _records(rng)[:4]})
    return json.dumps({"arguments": json.dumps({"body": inner})})


def csv(rng: Random) -> str:
    """Draw a table with commas."""
    return "host,time,used,free,note\n" + _lines(
        14,
        lambda n: (
            f"pay-db-{rng.randrange(40):02},{_time(rng, n)},{rng.randrange(1000) / 10},"
            f"{rng.randrange(10**7)},{pick(rng, WORDS)}"
        ),
    )


def tsv(rng: Random) -> str:
    """Draw a table with tabs."""
    return _lines(14, lambda n: "\t".join(str(rng.randrange(10 ** (1 + i % 6))) for i in range(12)))


def ansi(rng: Random) -> str:
    """Draw coloured output of a terminal."""
    return _lines(
        12,
        lambda n: (
            f"\x1b[{31 + rng.randrange(6)};1m{pick(rng, LEVELS)}\x1b[0m "
            f"\x1b[38;5;{rng.randrange(256)}m{pick(rng, WORDS)}\x1b[39m \x1b[2K\r"
            f"[{'#' * rng.randrange(20):20}] {rng.randrange(100)}%"
        ),
    )


def urls(rng: Random) -> str:
    """Draw links with queries."""
    return _lines(
        8,
        lambda n: (
            f"https://pay.example.com/api/v2/{pick(rng, WORDS)}/{rng.randrange(16**12):012x}?"
            f"utm_source={pick(rng, WORDS)}&page={rng.randrange(99)}&token={_key(rng, 22)}#top"
        ),
    )


def percent_encoded(rng: Random) -> str:
    """Draw form data with escapes."""
    text = "Zahlung für Café Müller, 3 × 4,50 €; お支払い; платёж"
    return "&".join(f"{pick(rng, WORDS)}={urllib.parse.quote(text)}" for _ in range(4))


def random_keys(rng: Random) -> str:
    """Draw keys of letters and digits."""
    return _lines(16, lambda n: f"key_live_{_key(rng, 32)}")


def long_line(rng: Random) -> str:
    """Draw words that no line break ends."""
    return " ".join(pick(rng, WORDS) for _ in range(300))


def whitespace(rng: Random) -> str:
    """Draw words far apart."""
    gaps = (" " * 7, "\n\n\n", "\t\t", " \n ", " " * 31)
    return "".join(pick(rng, WORDS) + pick(rng, gaps) for _ in range(60))


def punctuation(rng: Random) -> str:
    """Draw marks without letters."""
    return "".join(pick(rng, "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~") for _ in range(400))


def one_character(rng: Random) -> str:
    """Draw a run of one letter."""
    return pick(rng, "aexz") * 800


def _key(rng: Random, length: int) -> str:
    return "".join(pick(rng, ALPHANUMERIC) for _ in range(length))


ASCII_KINDS: Mapping[str, Callable[[Random], str]] = {
    "access-log": access_log,
    "ansi": ansi,
    "base64": base64_run,
    "csv": csv,
    "digits": digits,
    "embedding": embedding,
    "grouped-numbers": grouped_numbers,
    "hex": hex_run,
    "hex-dump": hex_dump,
    "json-indented": json_indented,
    "json-minified": json_minified,
    "json-nested": json_nested,
    "log": log,
    "long-line": long_line,
    "one-character": one_character,
    "percent-encoded": percent_encoded,
    "punctuation": punctuation,
    "random-keys": random_keys,
    "tsv": tsv,
    "urls": urls,
    "uuid": uuids,
    "whitespace": whitespace,
}
