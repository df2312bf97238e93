import json
from itertools import product
from random import Random

import pytest

from fixtures.record.incident.environment import ANSWERS, Environment
from fixtures.record.incident.facts import OTHER_SHARDS, PLANTED
from fixtures.record.incident.tools import definitions

CALLS = (
    ("search_logs", {"service": "payments-api", "level": "error"}),
    ("get_metrics", {"service": "ledger", "metric": "latency_p99", "window_minutes": 30}),
    ("list_deploys", {"service": "payments-api"}),
    ("query_tickets", {"text": "timeouts"}),
)


def play(seed, calls=CALLS):
    environment = Environment(seed)
    return [environment.call(name, arguments) for name, arguments in calls]


def random_value(rng, rule):
    if "enum" in rule and rng.random() < 0.9:
        return rng.choice(rule["enum"])
    if rule["type"] == "integer":
        return rng.choice([0, 5, 60, 4417])
    if rule["type"] == "array":
        return ["database", *PLANTED]
    if rule["type"] == "object":
        return {key: random_value(rng, sub) for key, sub in rule["properties"].items()}
    if rule["type"] == "boolean":
        return rng.random() < 0.5
    return rng.choice([*PLANTED, f"shard {PLANTED[1]} under {PLANTED[0]}", "timeouts", ""])


def test_the_same_calls_give_the_same_answers_and_another_seed_others():
    assert play(3) == play(3)
    assert play(3) != play(4)


def test_an_answer_depends_on_the_number_of_the_call():
    first, second = play(3, (CALLS[0], CALLS[0]))
    assert first != second


def test_planted_values_are_never_emitted_whatever_is_asked():
    rng = Random(11)
    schemas = {d["function"]["name"]: d["function"]["parameters"] for d in definitions()}
    answered = set()
    for seed in range(60):
        environment = Environment(seed)
        for _ in range(60):
            name = rng.choice([*schemas, PLANTED[1], "read_log"])
            properties = schemas.get(name, {"properties": {}})["properties"]
            arguments = {key: random_value(rng, rule) for key, rule in properties.items()}
            if name == "get_deploy" and rng.random() < 0.7:
                arguments["deploy_id"] = environment.deploys[0]
            text = environment.call(name, arguments)
            assert not any(value in text for value in PLANTED), (name, arguments, text)
            if not text.startswith("error"):
                answered.add(name)
    assert answered == set(schemas), "every tool gave at least one real answer"


def test_a_value_that_would_be_emitted_is_drawn_again():
    hunted = OTHER_SHARDS[1]
    flood = [CALLS[0], ("search_logs", {"service": "ledger", "level": "warn"})] * 6
    plain = [Environment(seed, planted=()) for seed in range(30)]
    guarded = [Environment(seed, planted=(hunted,)) for seed in range(30)]
    said = [env.call(*call) for env, call in product(plain, flood)]
    kept = [env.call(*call) for env, call in product(guarded, flood)]
    assert any(hunted in text for text in said)
    assert not any(hunted in text for text in kept)


def test_a_text_that_always_has_a_planted_value_is_an_error():
    environment = Environment(1, planted=("RUNBOOK",))
    with pytest.raises(ValueError, match="get_runbook gave a planted value"):
        environment.call("get_runbook", {"topic": "rollback"})


def test_errors_read_as_a_service_writes_them():
    environment = Environment(1)
    assert environment.call("read_log", {}).startswith("error 404: no such tool; there are: sea")
    assert environment.call("get_metrics", {"service": "ledger"}) == (
        "error 400: missing required parameter 'metric'"
    )
    assert environment.call("get_runbook", {"topic": "tea"}).startswith(
        "error 422: 'topic' must be one of connection-pool, rollback"
    )
    assert environment.call("get_deploy", {"deploy_id": "dep-none"}).startswith("error 404")


def test_the_incident_mends_as_the_session_goes_on():
    environment = Environment(1)
    asked = ("get_metrics", {"service": "payments-api", "metric": "error_rate"})
    answers = [json.loads(environment.call(*asked)) for _ in range(24)]
    assert answers[0]["last"] > 10
    assert answers[-1]["last"] < 1


def test_every_defined_tool_has_an_answer():
    names = [definition["function"]["name"] for definition in definitions()]
    assert len(names) == 12
    assert set(names) == set(ANSWERS)
