"""A folder of transcripts, and the command run in this process."""

import pytest
from click.testing import CliRunner

from pytest_ctxguard.cli import table
from pytest_ctxguard.cli.main import cli
from pytest_ctxguard.transcript.jsonl import dump
from tests.factories import encoder, session


@pytest.fixture
def folder(tmp_path):
    dump(session(), tmp_path / "small.jsonl")
    return tmp_path


@pytest.fixture
def command(monkeypatch):
    """Run the command with the encoder that is loaded already.

    An error of ours stays in the result, where ``main`` would print it.
    """
    monkeypatch.setattr(table, "RequestEncoder", encoder)

    def run(*args):
        return CliRunner().invoke(cli, [str(arg) for arg in args])

    return run
