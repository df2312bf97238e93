"""Contract vectors, checked everywhere: no framework is needed."""

import json
from dataclasses import asdict

import pytest

from tests.policies.adapters.contracts import (
    framework,
    judge,
    names,
    unpacked,
    vectors_path,
)
from tests.policies.adapters.histories import BUILDERS, digest


def vectors(name):
    return json.loads(vectors_path(name).read_text(encoding="utf-8"))


CASES = [
    pytest.param(case, id=f"{name}-{case.name}")
    for name in names()
    for case in framework(name).cases
]


@pytest.mark.parametrize("name", names())
def test_the_vectors_are_those_of_the_cases(name):
    stored = vectors(name)
    assert stored["framework"] == name
    assert list(stored["versions"]) == list(framework(name).packages)
    assert [made["case"] for made in stored["cases"]] == [c.name for c in framework(name).cases]


@pytest.mark.parametrize("name", names())
def test_the_pinned_requirements_are_the_versions_of_the_vectors(name):
    path = vectors_path(name).parents[1] / "requirements" / f"{name}.txt"
    pins = dict(
        line.split("#")[0].strip().split("==")
        for line in path.read_text(encoding="utf-8").splitlines()
        if "==" in line
    )
    assert vectors(name)["versions"].items() <= pins.items()


@pytest.mark.parametrize("case", CASES)
def test_our_verdict_on_what_the_framework_returned(case, request):
    name = request.node.callspec.id.removesuffix(f"-{case.name}")
    made = next(m for m in vectors(name)["cases"] if m["case"] == case.name)
    assert made["input_sha256"] == digest(BUILDERS[case.builder](**case.arguments))
    pairs = zip(case.histories(), made["requests"], strict=True)
    verdict = asdict(judge(case, [unpacked(*pair) for pair in pairs]))
    assert verdict == made["expect"] == asdict(case.expect)
