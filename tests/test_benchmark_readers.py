"""The readers' benchmark: its inputs and its arithmetic; nothing here is timed."""

import json
from itertools import islice

import pytest

from benchmarks import readers, recordings
from pytest_ctxguard.transcript.loading import read


def test_copies_of_a_session_share_no_call_id_and_no_beginning():
    copies = list(islice(recordings.sessions(), 8))
    firsts = [copy.messages[0]["content"] for copy in copies]
    assert len(set(firsts)) == 8
    ids = [call["id"] for copy in copies for m in copy.messages for call in m.get("tool_calls", ())]
    assert len(ids) == len(set(ids)) > 0
    answered = [m["tool_call_id"] for copy in copies for m in copy.messages if "tool_call_id" in m]
    assert set(answered) <= set(ids)


@pytest.mark.parametrize("name", sorted(recordings.FORMATS))
def test_files_of_every_format_are_read(tmp_path, name):
    make, suffix = recordings.FORMATS[name]
    path = tmp_path / f"long{suffix}"
    size = recordings.write(path, make(), size=200_000)
    assert 200_000 <= size == path.stat().st_size
    if not any(reader.name.startswith(name) for reader in _known()):
        pytest.skip(f"no reader of {name} yet")
    reading = read(path)
    assert reading.passed_over == {}
    assert sum(len(run.messages) for run in reading.runs) > 100
    assert readers.read_peer(path)


def _known():
    from pytest_ctxguard.transcript.readers.catalogue import READERS

    return READERS


def test_growth_is_the_power_of_the_size():
    assert readers.exponent([1, 2, 4, 8], [3, 6, 12, 24]) == pytest.approx(1)
    assert readers.exponent([1, 2, 4, 8], [1, 4, 16, 64]) == pytest.approx(2)
    assert readers.exponent([1], [5]) == 0


def row(size, speed, memory, *, peer_speed=50):
    peer = {"mb_per_s": peer_speed, "memory_mb": size / 1e6}
    return {"bytes": size, "ours": {"mb_per_s": speed, "memory_mb": memory}, "peer": peer}


def test_what_grows_faster_than_the_file_is_not_linear():
    steady = readers.growth([row(1e6, 10, 5), row(2e6, 10, 10), row(4e6, 10, 20)])
    assert steady == {
        "time_exponent": 1.0,
        "peer_time_exponent": 1.0,
        "time_linear": True,
        "memory_exponent": 1.0,
        "peer_memory_exponent": 1.0,
        "memory_linear": True,
    }
    slower = readers.growth([row(1e6, 10, 5), row(2e6, 5, 10), row(4e6, 2.5, 20)])
    assert (slower["time_exponent"], slower["time_linear"]) == (2.0, False)
    assert slower["memory_linear"]


def test_what_grows_as_the_peer_does_is_linear():
    rows = [row(n * 1e6, 10 / n, n, peer_speed=50 / n) for n in (1, 2, 4)]
    found = readers.growth(rows)
    assert (found["time_exponent"], found["peer_time_exponent"]) == (2.0, 2.0)
    assert found["time_linear"]


def test_one_measurement_and_the_table(tmp_path, capsys):
    path = tmp_path / "long.jsonl"
    recordings.write(path, recordings.ctxguard(), size=50_000)
    readers.main(["--one", str(path), "ours"])
    told = json.loads(capsys.readouterr().out)
    assert told["format"] == "ctxguard"
    assert told["seconds"] > 0
    figures = {"mb_per_s": 10.0, "memory_mb": 4.0}
    rows = [
        {"bytes": n * 10**6, "messages": n, "ours": figures, "peer": figures, "speed_ratio": 1.0}
        for n in (1, 2)
    ]
    found = {"sizes": rows, **readers.growth(rows)}
    text = readers.table({"formats": {"ctxguard": found}, "skipped": {"cassette": "no reader"}})
    assert " ".join(text.splitlines()[1].split()) == "ctxguard 1.0 1 10.0 10.0 1.00 4.0 4.0"
    assert "time grows with size^1.0, the peer's with size^1.0 (linear)" in text
    assert text.endswith("cassette: skipped, no reader")
