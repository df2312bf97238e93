"""The rules of prompt caches, and users' own."""

from dataclasses import fields
from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest

from pytest_ctxguard.errors import InputError, UsageError
from pytest_ctxguard.prefix.rules import (
    COMMON,
    MATCHES,
    USED,
    Rule,
    find_rule,
    load_rules,
)

OWN = """
dated = 2026-10-01

[mine]
source = "our proxy's manual"
seen = 2026-09-30
match = "prefix"
order = "tools, system, messages"
read = 0.2
write = 1
"""


def own(tmp_path, text):
    path = tmp_path / "rules.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_each_built_in_rule_has_a_date_and_a_source():
    rules = load_rules()
    assert {"anthropic", "openai", "gemini", "deepseek", "vllm", "sglang", "llama-cpp"} <= set(
        rules
    )
    for name, rule in rules.items():
        assert rule.name == name
        assert rule.source
        assert rule.seen <= rule.dated
        assert rule.match in MATCHES


def test_some_of_the_rules():
    rules = load_rules()
    assert rules["anthropic"].minimum == 1024
    assert (rules["anthropic"].read, rules["anthropic"].write) == (Decimal("0.1"), Decimal("1.25"))
    assert (rules["anthropic"].look_back, rules["anthropic"].max_marks) == (20, 4)
    assert rules["anthropic-1h"].write == 2
    assert rules["anthropic-1h"].look_back == 20  # as in the one it is like
    assert rules["anthropic-opus-4-5"].minimum == 4096
    assert rules["openai-gpt-4o"].read == Decimal("0.5")
    assert rules["openai-5-6"].latest_marks == 80
    assert rules["vllm"].granularity == 16


def test_users_add_and_replace(tmp_path):
    text = OWN + '[anthropic]\nlike = "anthropic-1h"\nsource = "x"\nseen = 2026-10-01\nminimum = 7'
    rules = load_rules(own(tmp_path, text))
    assert rules["mine"].dated == date(2026, 10, 1)
    assert (rules["mine"].read, rules["mine"].ttl_seconds) == (Decimal("0.2"), None)
    assert rules["anthropic"].minimum == 7
    assert rules["openai"] == load_rules()["openai"]


def test_every_field_is_used_by_some_kind_of_cache():
    used = COMMON.union(*USED.values())
    assert {field.name for field in fields(Rule)} - {"name", "dated"} == used


def test_unknown_rules_name_the_known_ones():
    with pytest.raises(UsageError, match=r"no cache rules for 'x'; there are: anthropic, .*ini"):
        find_rule(load_rules(), "x")


WRONG = {
    "no date": (OWN.replace("dated = 2026-10-01", ""), "needs `dated ="),
    "no rules": ("dated = 2026-10-01", "has no rules"),
    "no TOML": ("dated = ", "no TOML file"),
    "another match": (OWN.replace('"prefix"', '"radix"'), "match is 'radix'; it may be prefix, "),
    "an unknown field": (OWN + "colour = 1", "'colour' is not used with match = 'prefix'"),
    "another kind's field": (OWN + "look_back = 3", "'look_back' is not used with match = 'pre"),
    "a missing field": (OWN.replace("read = 0.2", ""), "'read' is missing; needed are: "),
    "a negative price": (OWN.replace("0.2", "-0.2"), r"read = Decimal\('-0.2'\) is not a number"),
    "no number": (OWN.replace("0.2", "nan"), "is not a number of 0 or more"),
    "no count": (OWN + "minimum = 0", "minimum = 0 is not a whole number of 1 or more"),
    "a flag for a count": (OWN + "granularity = true", "granularity = True is not a whole"),
    "another order": (OWN.replace("tools, system", "system, tools"), "order = .* is not one of"),
    "no date read": (OWN.replace("2026-09-30", '"today"'), "seen = 'today' is not a date"),
    "like itself": (OWN + 'like = "mine"', "like = 'mine' is no other table"),
    "like none": (OWN + 'like = "theirs"', "like = 'theirs' is no other table"),
    "no table": ("dated = 2026-10-01\nmine = 3", "like = 'mine' is no other table"),
}


@pytest.mark.parametrize(("text", "says"), WRONG.values(), ids=WRONG)
def test_a_broken_file_is_refused_with_its_place(tmp_path, text, says):
    with pytest.raises(InputError, match=says) as caught:
        load_rules(own(tmp_path, text))
    assert caught.value.path == tmp_path / "rules.toml"


def test_a_missing_file_is_refused(tmp_path):
    with pytest.raises(InputError, match="no TOML file of cache rules"):
        load_rules(Path(tmp_path / "none.toml"))
