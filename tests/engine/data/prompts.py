"""The requests that make_reference.py answers; deterministic, written for this project."""

from __future__ import annotations

import random
from typing import Any

Request = dict[str, Any]

NAMES = ("Anna Weber", "Ivan Petrov", "Mei Lin", "Omar Haddad", "Sofia Rossi", "Tom Baker")
TEAMS = ("payments", "search", "billing", "mobile", "storage")
ENGLISH = ("Register of badges:", "{name} of team {team} has badge number {number}.")
RUSSIAN = ("Реестр пропусков:", "Сотрудник {name}, отдел {team}, пропуск номер {number}.")
CHINESE = ("工牌登记表：", "{team}组的{name}的工牌号是{number}。")
QUESTIONS = {
    ENGLISH: "What is the badge number of {name} of team {team}? Answer with the number only.",
    RUSSIAN: "Какой номер пропуска у сотрудника {name}, отдел {team}? Ответь только номером.",
    CHINESE: "{team}组的{name}的工牌号是多少？只回答数字。",
}
EVENTS = (
    "connection pool exhausted, waiting={n}",
    "retry {n} of upstream ledger-{n} after timeout",
    "GET /v1/charges/{n} 200 in {n} ms",
    "circuit breaker half-open for shard pay-shard-{n}",
    "gc pause {n} ms, heap {n} MB",
)
CODE = """def merge(left, right):
    result = []
    while left and right:
        result.append(left.pop(0) if left[0] <= right[0] else right.pop(0))
    return result
"""
POLICY_RU = (
    "Пункт {n}. При сбое службы {team} дежурный инженер открывает обращение, указывает номер {n} "
    "и время обнаружения, а затем сообщает руководителю смены. "
)
POLICY_ZH = "第{n}条：{team}服务出现故障时，值班工程师应在{n}分钟内记录事件，并通知当班负责人。"


def requests() -> list[Request]:
    """Return every request: a name, messages, and tools."""
    registers = [
        _register(form, records=records, depth=depth)
        for form, records, depth in (
            (ENGLISH, 1, 0.0),
            (ENGLISH, 3, 0.5),
            (ENGLISH, 8, 0.0),
            (ENGLISH, 8, 0.5),
            (ENGLISH, 8, 1.0),
            (ENGLISH, 25, 0.0),
            (ENGLISH, 25, 0.5),
            (ENGLISH, 25, 1.0),
            (RUSSIAN, 8, 0.5),
            (CHINESE, 8, 0.5),
        )
    ]
    return [*registers, *_short(), *_long(), *_with_tools()]


def _register(form: tuple[str, str], *, records: int, depth: float) -> Request:
    draw = random.Random(f"{form[0]} {records} {depth}")
    people = draw.sample([(name, team) for name in NAMES for team in TEAMS], records)
    rows = [(name, team, str(draw.randrange(1000, 9999))) for name, team in people]
    title, line = form
    body = [line.format(name=n, team=t, number=number) for n, t, number in rows]
    name, team, _ = rows[round(depth * (records - 1))]
    question = QUESTIONS[form].format(name=name, team=team)
    label = {ENGLISH: "en", RUSSIAN: "ru", CHINESE: "zh"}[form]
    return _ask(f"register-{label}-{records}-{depth}", "\n".join([title, *body, "", question]))


def _short() -> list[Request]:
    return [
        _ask("capital", "What is the capital of France? One word."),
        _ask("boiling", "At what temperature does water boil at sea level, in Celsius?"),
        _ask("system", "Who are you?", system="You are Rook, a terse assistant for chess players."),
        _ask("reverse", "Write a Python function that reverses a string. Code only."),
        _ask("explain", f"What is the time complexity of this, and why?\n\n```python\n{CODE}```"),
        _ask("sql", "Write one SQL query: the ten customers with the most orders in 2024."),
        _ask("spring-ru", "Напиши одно предложение о весне."),
        _ask("list-ru", "Назови три реки России."),
        _ask("sky-zh", "天空为什么是蓝色的？用一句话回答。"),
        _ask("sort-zh", "用Python写一个冒泡排序函数。"),
        {
            "name": "turns",
            "messages": [
                {"role": "user", "content": "My employee number is 4417. Remember it."},
                {"role": "assistant", "content": "I will remember 4417."},
                {"role": "user", "content": "The affected shard is pay-shard-7."},
                {"role": "assistant", "content": "Noted: pay-shard-7."},
                {"role": "user", "content": "Repeat my employee number and the shard."},
            ],
            "tools": [],
        },
    ]


def _long() -> list[Request]:
    draw = random.Random("logs")
    log = "\n".join(
        f"2024-03-0{draw.randrange(1, 9)}T{draw.randrange(10, 24)}:{draw.randrange(10, 60)}:00Z "
        f"{draw.choice(('INFO', 'WARN', 'ERROR'))} payments-api "
        + draw.choice(EVENTS).format(n=draw.randrange(1, 900))
        for _ in range(30)
    )
    russian = "".join(POLICY_RU.format(n=n, team=TEAMS[n % 5]) for n in range(1, 15))
    chinese = "".join(POLICY_ZH.format(n=n, team=TEAMS[n % 5]) for n in range(1, 21))
    return [
        _ask("log-worst", f"{log}\n\nWhich problem in this log is the most serious?"),
        _ask("log-first", f"{log}\n\nQuote the first ERROR line, nothing else."),
        _ask("policy-ru", f"{russian}\n\nЧто делает дежурный инженер при сбое? Ответь кратко."),
        _ask("policy-zh", f"{chinese}\n\n值班工程师应该做什么？请简短回答。"),
        _ask("code-long", f"```python\n{CODE * 8}```\n\nWhat does this file define?"),
    ]


def _with_tools() -> list[Request]:
    tools = [
        _tool(
            "get_metrics", "Read a metric series of a service.", service="string", metric="string"
        ),
        _tool("search_logs", "Search a service's logs.", service="string", query="string"),
        _tool("create_ticket", "Open an incident ticket.", employee="string", shard="string"),
        _tool("list_deploys", "List the latest deploys of a service.", service="string"),
    ]
    asked = {"role": "user", "content": "Why is payments-api slow? Look at its p99 latency."}
    call = {"name": "get_metrics", "arguments": '{"service": "payments-api", "metric": "p99"}'}
    calls = [{"id": "call_1", "type": "function", "function": call}]
    result = {"role": "tool", "tool_call_id": "call_1", "content": '{"p99_ms": [210, 950, 1900]}'}
    round_trip = [asked, {"role": "assistant", "content": "", "tool_calls": calls}, result]
    ticket = "Open an incident ticket: employee 4417, shard pay-shard-7."
    return [
        _ask("tool-latency", asked["content"], tools=tools),
        _ask("tool-ticket", ticket, tools=tools),
        _ask("tool-system", "What was deployed last on search?", tools=tools, system="Be brief."),
        _ask("tool-none", "Thank you, that is all.", tools=tools),
        _ask("tool-ru", "Найди в логах billing ошибки тайм-аута.", tools=tools),
        {"name": "tool-result", "messages": round_trip, "tools": tools},
        {"name": "tool-result-hidden", "messages": round_trip, "tools": []},
    ]


def _tool(name: str, description: str, **parameters: str) -> dict[str, Any]:
    properties = {key: {"type": kind} for key, kind in parameters.items()}
    schema = {"type": "object", "properties": properties, "required": list(parameters)}
    function = {"name": name, "description": description, "parameters": schema}
    return {"type": "function", "function": function}


def _ask(name: str, text: str, *, system: str = "", tools: list[Any] | None = None) -> Request:
    messages = [{"role": "system", "content": system}] if system else []
    return {
        "name": name,
        "messages": [*messages, {"role": "user", "content": text}],
        "tools": tools or [],
    }
