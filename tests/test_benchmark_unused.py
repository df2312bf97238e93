"""The benchmark of an unused plugin: what it runs; nothing here is timed."""

import ast

import pytest

from benchmarks import unused


def test_the_suite_has_a_thousand_tests(tmp_path):
    unused.write_suite(tmp_path)

    trees = [ast.parse(path.read_text()) for path in tmp_path.glob("test_*.py")]
    names = [node.name for tree in trees for node in tree.body if isinstance(node, ast.FunctionDef)]
    assert sum(name.startswith("test_") for name in names) == 1000


def test_the_plugin_is_what_differs():
    without, loaded = unused.arguments("without"), unused.arguments("with")

    assert without == [*loaded, "-p", "no:ctxguard"]
    assert "no:xdist" in loaded


def test_a_run_that_does_not_pass_is_no_measurement(tmp_path):
    (tmp_path / "test_one.py").write_text("def test_one(): assert False")

    with pytest.raises(RuntimeError, match="1 failed"):
        unused.processor_seconds(tmp_path, "with")


def test_the_ratios_are_of_medians_and_of_pairs():
    seconds = unused.Measured((1.0, 2.0, 4.0), (1.1, 2.0, 4.0), calls_without=100, calls_loaded=101)

    assert seconds.ratio == 1.0
    assert seconds.ratio_within_pairs == 1.0
    assert seconds.as_json()["dearer"] == 1
    assert seconds.as_json()["ratio_of_calls"] == 1.01
