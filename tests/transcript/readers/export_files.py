"""Files for the readers of exports: written, read, and broken one key at a time."""

import json
from pathlib import Path

import pytest

from pytest_ctxguard.errors import TranscriptError
from pytest_ctxguard.transcript.document import Document
from pytest_ctxguard.transcript.reading import Reading

EXPORTS = Path(__file__).parents[3] / "fixtures" / "exports"
WRONG = [
    *(None, 0, "text", True, [], {}, [0], ["x"], [{}], [None], {"type": 3}, 1.5, [[]]),
    *(10**400, float("inf"), "9" * 30),
]


def document(value, name="a.json"):
    data = value if isinstance(value, bytes) else json.dumps(value).encode()
    return Document(name, data)


def read(reader, value, name="a.json"):
    found = document(value, name)
    assert reader.recognises(found)
    return reader.read(found)


def refused(reader, value, name="a.json"):
    """Return the error of a file that is recognised."""
    found = document(value, name)
    assert reader.recognises(found)
    with pytest.raises(TranscriptError) as error:
        reader.read(found)
    return str(error.value)


def places(value, path=()):
    """Yield the path of every value inside a JSON value."""
    items = value.items() if isinstance(value, dict) else ()
    for key, item in enumerate(value) if isinstance(value, list) else items:
        yield (*path, key)
        yield from places(item, (*path, key))


def mutants(value):
    """Yield a value as bytes, with each of its places deleted or replaced by a wrong one."""
    for path in list(places(value)):
        *above, last = path
        at = value
        for key in above:
            at = at[key]
        for wrong in WRONG:
            right, at[last] = at[last], wrong
            yield json.dumps(value).encode()
            at[last] = right
        right = at.pop(last)
        yield json.dumps(value).encode()
        at.insert(last, right) if isinstance(at, list) else at.update({last: right})


def survives(reader, value):
    """Read every mutant: only typed errors may leave the reader; return how many it read."""
    whole = 0
    for mutant in mutants(value):
        found = document(mutant)
        if reader.recognises(found):
            try:
                reading = reader.read(found)
            except TranscriptError:
                continue
            assert isinstance(reading, Reading)
            assert all(run.messages for run in reading.runs)
            assert reading.runs
            whole += 1
    return whole
