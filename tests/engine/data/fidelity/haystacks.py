"""Long contexts: a drawn mixture of logs, prose, code and data, with written passages in it.

The mixture makes the length; the positions that are scored lie mostly in the passages, which
stand at the middle and at the end of a context and occur nowhere else, so that the next token
cannot be had by copying.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path

PASSAGES = Path(__file__).with_name("passages")
# name: drawn pieces, passages in the middle, passages at the end
CONTEXTS = {
    "long-8k-harbour": (118, ("loom-zh", "order-sql"), ("retry-py", "ferry-en")),
    "long-8k-campus": (118, ("plan-en", "kite-ru"), ("well-ar", "budget-ts")),
    "long-4k-valley": (58, ("voice-ko", "cause-en"), ("mill-hi", "clock-ja")),
}
THINGS = (
    "valve", "ferry", "lantern", "archive", "turbine", "orchard", "kiln", "ledger", "beacon",
    "loom", "cistern", "tram",
)  # fmt: skip
PARTS = (
    "intake", "router", "planner", "mirror", "counter", "relay", "warden", "index", "cutter",
    "spool",
)  # fmt: skip
STATES = (
    "late", "stuck", "empty", "doubled", "unreachable", "stale", "overheated", "unpaid", "locked",
    "mislabelled",
)  # fmt: skip
PEOPLE = ("Ilse", "Marek", "Adaeze", "Tomás", "Wen", "Priya", "Stellan", "Ruth", "Karim", "Noa")
PLACES = ("the north quay", "hall 3", "the annex", "pier 9", "the old mint", "depot Lisse")
RU_THINGS = ("насос", "причал", "архив", "счётчик", "маяк", "станок", "склад", "трамвай")
RU_STATES = ("молчит", "опаздывает", "перегрелся", "заблокирован", "пуст", "отключён")
ZH_THINGS = ("水泵", "码头", "档案库", "计数器", "灯塔", "织机", "仓库", "电车")
ZH_STATES = ("没有响应", "延迟了", "温度过高", "被锁定", "是空的", "已断开")

Draw = random.Random


def haystacks() -> dict[str, tuple[str, int]]:
    """Return each context's text by its name, and after how many characters its middle ends."""
    return {
        name: _context(Draw(name), pieces, middle=middle, end=end)
        for name, (pieces, middle, end) in CONTEXTS.items()
    }


def _context(
    draw: Draw, pieces: int, *, middle: tuple[str, ...], end: tuple[str, ...]
) -> tuple[str, int]:
    kinds = [KINDS[index % len(KINDS)] for index in range(pieces)]
    draw.shuffle(kinds)
    drawn = [kind(draw) for kind in kinds]
    half = pieces // 2
    first = "\n".join((*drawn[:half], *map(_passage, middle)))
    return "\n".join((first, *drawn[half:], *map(_passage, end))), len(first)


def _passage(name: str) -> str:
    return (PASSAGES / f"{name}.txt").read_text("utf-8")


def _service(draw: Draw) -> str:
    return f"{draw.choice(THINGS)}-{draw.choice(PARTS)}"


def _log(draw: Draw) -> str:
    service, minute = _service(draw), draw.randrange(60)
    lines = []
    for _ in range(draw.randrange(4, 7)):
        minute += draw.randrange(3)
        stamp = f"2033-09-{draw.randrange(10, 28)} 1{draw.randrange(10)}:{minute % 60:02}"
        event = draw.choice(
            (
                f"{draw.choice(THINGS)} {draw.randrange(100)} is {draw.choice(STATES)}",
                f"retry {draw.randrange(1, 9)} of job {draw.randrange(16**5):05x}",
                f"{draw.randrange(5000)} rows in {draw.randrange(900)} ms",
                f"lease passed to {draw.choice(PEOPLE)}",
            )
        )
        lines.append(f"{stamp} {draw.choice(('info', 'warn', 'error'))} {service}: {event}")
    return "\n".join(lines) + "\n"


def _note(draw: Draw) -> str:
    who, other = draw.sample(PEOPLE, 2)
    thing, second = draw.sample(THINGS, 2)
    first = draw.choice(
        (
            f"{who} called from {draw.choice(PLACES)}: the {thing} was {draw.choice(STATES)} again",
            f"At {draw.randrange(24)}:{draw.randrange(10, 60)} {who} found the {thing} "
            f"{draw.choice(STATES)}",
            f"Nobody told {who} that the {thing} at {draw.choice(PLACES)} had been replaced",
        )
    )
    then = draw.choice(
        (
            f"{other} suspects the {second}, since both share a {draw.choice(PARTS)}",
            f"we moved {draw.randrange(2, 90)} orders to the {second} and waited",
            f"restarting the {draw.choice(PARTS)} helped for {draw.randrange(2, 50)} minutes",
        )
    )
    last = draw.choice(
        (
            f"{who} will look at it on {draw.choice(('Monday', 'Wednesday', 'Saturday'))}.",
            f"The bill so far: {draw.randrange(100, 9000)} crowns.",
            f"Keep the {second} running until {other} is back from {draw.choice(PLACES)}.",
        )
    )
    return f"{first}; {then}. {last}\n"


def _russian(draw: Draw) -> str:
    thing, second = draw.sample(RU_THINGS, 2)
    return (
        f"{draw.choice(('Утром', 'Ночью', 'После обеда'))} {thing} номер {draw.randrange(90)} "
        f"{draw.choice(RU_STATES)}, а {second} {draw.choice(RU_STATES)} уже "
        f"{draw.randrange(2, 60)} минут. Смену принял {draw.choice(PEOPLE)}.\n"
    )


def _chinese(draw: Draw) -> str:
    thing, second = draw.sample(ZH_THINGS, 2)
    return (
        f"{draw.randrange(1, 13)}月{draw.randrange(1, 29)}日，{draw.randrange(1, 90)}号{thing}"
        f"{draw.choice(ZH_STATES)}，{second}{draw.choice(ZH_STATES)}，"
        f"由{draw.choice(PEOPLE)}负责检查。\n"
    )


def _python(draw: Draw) -> str:
    thing, part = draw.choice(THINGS), draw.choice(PARTS)
    body = draw.choice(
        (
            f"    return [each for each in {thing}s if each.{part} > {draw.randrange(9, 400)}]\n",
            f"    for {part} in {thing}s:\n        if {part}.{draw.choice(STATES)}:\n"
            f"            {part}.wait({draw.randrange(1, 60)})\n    return len({thing}s)\n",
            f"    total = sum({thing}s.values())\n    return total % {draw.randrange(7, 97)}\n",
        )
    )
    return f"def {part}_{draw.choice(STATES)}({thing}s):\n{body}"


def _json(draw: Draw) -> str:
    record = {
        "id": f"{draw.randrange(16**6):06x}",
        draw.choice(PARTS): {"name": _service(draw), "load": round(draw.random(), 3)},
        "seen": [draw.randrange(1000) for _ in range(draw.randrange(2, 6))],
        "state": draw.choice(STATES),
        "owner": draw.choice((*PEOPLE, None)),
    }
    return json.dumps(record, ensure_ascii=False, indent=draw.choice((None, 2))) + "\n"


def _sql(draw: Draw) -> str:
    thing, part = draw.choice(THINGS), draw.choice(PARTS)
    return (
        f"SELECT {part}, count(*) FROM {thing} WHERE state = '{draw.choice(STATES)}'\n"  # noqa: S608 - a text, never run
        f"  AND moved_at > date '2033-0{draw.randrange(1, 10)}-1{draw.randrange(10)}'\n"
        f"GROUP BY {part} HAVING count(*) > {draw.randrange(2, 300)} ORDER BY 2 DESC;\n"
    )


def _series(draw: Draw) -> str:
    level = draw.uniform(5, 80)
    rows = []
    for index in range(draw.randrange(5, 9)):
        level += draw.gauss(0, 3)
        rows.append(f"{index * 15},{level:.1f},{draw.choice(('ok', 'ok', 'ok', 'gap'))}")
    return f"minute,{draw.choice(PARTS)},quality\n" + "\n".join(rows) + "\n"


def _change(draw: Draw) -> str:
    part, old, new = draw.choice(PARTS), draw.randrange(90), draw.randrange(90)
    return (
        f"--- a/{draw.choice(THINGS)}/{part}.toml\n+++ b/{draw.choice(THINGS)}/{part}.toml\n"
        f"@@ -{old},3 +{old},3 @@\n [{draw.choice(PARTS)}]\n-limit = {old}\n+limit = {new}\n"
    )


KINDS: tuple[Callable[[Draw], str], ...] = (
    _log, _note, _russian, _python, _json, _note, _chinese, _sql, _log, _series, _change, _note,
)  # fmt: skip
