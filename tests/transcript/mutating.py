"""Files with one thing wrong: bytes, lines, or a value of their JSON."""

import copy
import json
from functools import cached_property

import yaml
from hypothesis import strategies as st

LIMIT = 120_000  # bytes of a file that is mutated; of longer JSON Lines, the first rows
DEEP = 4000
ODD = (
    None,
    True,
    0,
    -1,
    1.5,
    10**400,
    float("nan"),
    float("inf"),
    "",
    "x",
    "\ud800",
    "9" * 30,
    "2026-13-45T99:99:99Z",
    [],
    {},
    [None],
    [[]],
    ["x"],
    [{}],
    {"type": "x"},
    {"type": 3, "role": 3, "text": []},
    {"role": "user", "content": "x"},
)
SCALARS = tuple(value for value in ODD if not isinstance(value, list | dict))
RAW = (
    b"NaN",
    b"1e999",
    b"9" * 5000,
    b'"\\ud800"',
    b"[" * 50_000,
    b"{}",
    b"\xff",
    b"\x00",
    b"&a *a",
)
CASSETTE = (".yaml", ".yml")


class Seed:
    """A good file.

    Attributes:
        name: of the file.
        data: its bytes; of long JSON Lines the first rows.
        reader: the name of the reader that recognises it.
    """

    def __init__(self, name, data, reader):
        self.name, self.reader = name, reader
        self.is_cassette = name.endswith(CASSETTE)
        self.is_lines = name.endswith(".jsonl")
        whole = len(data) <= LIMIT or not self.is_lines
        self.data = data if whole else data[: data.rindex(b"\n", 0, LIMIT) + 1]

    @cached_property
    def value(self):
        """The JSON values of its rows, or of the file; ``None`` where it has none."""
        if self.is_lines:
            return [json.loads(line) for line in self.data.split(b"\n") if line.strip()]
        try:
            return json.loads(self.data)
        except ValueError:
            return Cassette.load(self.data) if self.is_cassette else None

    def dump(self, value):
        if self.is_lines:
            return "".join(json.dumps(row) + "\n" for row in value).encode()
        if self.is_cassette and not self.data.lstrip().startswith(b"{"):
            return Cassette.dump(value)
        return json.dumps(value).encode()

    @cached_property
    def paths(self):
        return tuple(paths(self.value))


class Cassette:
    """YAML whose bodies are JSON texts: the JSON is part of the value, and a text again after."""

    @staticmethod
    def load(data):
        value = yaml.load(data, Loader=yaml.CSafeLoader)
        for holder, key in bodies(value):
            if isinstance(holder[key], str):
                holder[key] = {"__lines__": list(map(Cassette._row, holder[key].split("\n")))}
        return value

    @staticmethod
    def dump(value):
        value = copy.deepcopy(value)
        for holder, key in bodies(value):
            rows = holder[key].get("__lines__") if isinstance(holder[key], dict) else None
            if isinstance(rows, list):
                holder[key] = "\n".join(map(Cassette._text, rows))
        return yaml.dump(value, Dumper=yaml.CDumper, allow_unicode=True).encode()

    @staticmethod
    def _row(row):
        before = "data: " if row.startswith("data: ") else ""
        try:
            return {"__before__": before, "__json__": json.loads(row.removeprefix(before))}
        except ValueError:
            return row

    @staticmethod
    def _text(row):
        if isinstance(row, dict) and "__json__" in row:
            return f"{row.get('__before__', '')}{json.dumps(row['__json__'])}"
        return str(row)


def bodies(value):
    """Yield where the bodies of a cassette stand: the mapping and the key."""
    rows = value.get("interactions") if isinstance(value, dict) else None
    for row in rows if isinstance(rows, list) else ():
        request = row.get("request") if isinstance(row, dict) else None
        if isinstance(request, dict) and "body" in request:
            yield request, "body"
        response = row.get("response") if isinstance(row, dict) else None
        body = response.get("body") if isinstance(response, dict) else None
        if isinstance(body, dict) and isinstance(body.get("string"), str | dict):
            yield body, "string"


def paths(value, path=()):
    """Yield the path of every value in a JSON value."""
    items = value.items() if isinstance(value, dict) else ()
    for key, inner in enumerate(value) if isinstance(value, list) else items:
        yield (*path, key)
        yield from paths(inner, (*path, key))


def edited(seed, path, change):
    """Return a seed's bytes with the value at a path changed by ``change(holder, key)``."""
    value = copy.copy(seed.value)
    holder = value
    for step in path[:-1]:
        holder[step] = copy.copy(holder[step])
        holder = holder[step]
    change(holder, path[-1])
    try:
        return seed.dump(value)
    except UnicodeEncodeError:  # half a surrogate pair, outside JSON; YAML has no escape for it
        return seed.data.replace(b": ", b": \xed\xa0\x80", 1)


def put(new):
    def change(holder, key):
        holder[key] = new

    return change


def drop(holder, key):
    del holder[key]


def deepen(holder, key):
    for _ in range(DEEP // 100):
        holder[key] = {"content": [{"type": "x", "parts": holder[key]}]}


def twice(holder, key):
    if isinstance(holder, list):
        holder.insert(key, copy.deepcopy(holder[key]))
    else:
        holder[f"{key}2"] = holder[key]


@st.composite
def mutants(draw, seed):
    """A seed's bytes with one to three things wrong."""
    data = seed.data
    if seed.value is not None and draw(st.integers(0, 3)):
        change = draw(st.sampled_from(ODD).map(put) | st.sampled_from([drop, deepen, twice]))
        return edited(seed, draw(st.sampled_from(seed.paths)), change)
    for _ in range(draw(st.integers(1, 3))):
        data = draw(st.sampled_from([flipped, cut, removed, inserted, moved]))(draw, data)
    return data


def flipped(draw, data):
    at = draw(st.integers(0, max(len(data) - 1, 0)))
    return data[:at] + bytes([draw(st.integers(0, 255))]) + data[at + 1 :]


def cut(draw, data):
    return data[: draw(st.integers(0, len(data)))]


def removed(draw, data):
    at = draw(st.integers(0, len(data)))
    return data[:at] + data[at + draw(st.integers(1, 400)) :]


def inserted(draw, data):
    at = draw(st.integers(0, len(data)))
    return data[:at] + draw(st.sampled_from(RAW) | st.binary(max_size=4)) + data[at:]


def moved(draw, data):
    """A line again, elsewhere, or not at all."""
    lines = data.split(b"\n")
    one, other = (draw(st.integers(0, len(lines) - 1)) for _ in range(2))
    if draw(st.booleans()):
        lines[one], lines[other] = lines[other], lines[one]
    else:
        lines.insert(one, lines[other])
        del lines[draw(st.integers(0, len(lines) - 1))]
    return b"\n".join(lines)
