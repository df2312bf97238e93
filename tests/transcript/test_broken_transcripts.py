"""Every way a transcript can be broken: one file each, and the exact words of its error."""

from pathlib import Path

import pytest

from fixtures.broken import make
from pytest_ctxguard.errors import TranscriptError
from pytest_ctxguard.transcript.jsonl import load

FOLDER = Path(__file__).parents[2] / "fixtures" / "broken"

TYPES = "not a transcript line: `type` must be one of transcript, tool, message, compaction, fact"
ROLES = "`message` needs a `role`: one of system, developer, user, assistant, tool"
CALLS = "`tool_calls` must be a list of objects with a `function`; an `id` is text"
PART = "a part of `content` must be text, or an object with a `type`"

MESSAGES = {
    "empty": ": empty; the first line must be a transcript header",
    "not-utf8": ":2: not UTF-8. Save the file as UTF-8.",
    "not-json": ":2: not JSON (Expecting property name enclosed in double quotes: line 1 column 2 "
    "(char 1)). Mend or remove the line.",
    "not-an-object": ":2: a row must be a JSON object. Mend or remove the line.",
    "type-unknown": f":2: {TYPES}",
    "type-a-list": f":2: {TYPES}",
    "key-unknown": ":2: unknown key 'comment'; a message line has: call, message, type",
    "header-missing": ":1: the first line is a message line, not the transcript header. Put "
    '{"type": "transcript", "version": 1, "name": …} before it.',
    "header-twice": ":2: a second transcript header; one file holds one transcript",
    "version-newer": ":1: version 2 is not supported; this release reads 1. Upgrade "
    "pytest-ctxguard, or correct `version`.",
    "name-missing": ":1: the header has no `name`",
    "provenance-a-text": ":1: `provenance` must be an object",
    "no-messages": ": has no messages; nothing could be replayed",
    "cut-in-a-line": ":4: not JSON (Unterminated string starting at: line 1 column 49 (char 48)). "
    "The file may be truncated.",
    "cut-after-a-message": ": truncated or edited: the header says 3 messages, 2 are here. "
    "Restore the file, or correct `messages` in line 1.",
    "cut-before-the-facts": ": truncated or edited: the header says 1 facts, 0 are here. "
    "Restore the file, or correct `facts` in line 1.",
    "tools-missing": ": truncated or edited: the header says 1 tools, 0 are here. "
    "Restore the file, or correct `tools` in line 1.",
    "role-unknown": f":2: {ROLES}",
    "message-a-text": f":2: {ROLES}",
    "content-a-number": ":2: `content` must be text, a list of parts, or null",
    "content-part-a-number": f":2: {PART}",
    "content-part-without-type": f":2: {PART}",
    "tool-calls-an-object": f":2: {CALLS}",
    "tool-call-a-text": f":2: {CALLS}",
    "tool-call-id-a-list": f":2: {CALLS}",
    "result-before-its-call": ":3: tool result for call 'c1', which no earlier message makes, "
    "or which has its result already. Restore the assistant message that makes the call, before "
    'this line; if it was recorded so, say "orphan_results": 1 in line 1.',
    "result-twice": ":4: tool result for call 'c1', which no earlier message makes, or which has "
    "its result already. Restore the assistant message that makes the call, before this line; if "
    'it was recorded so, say "orphan_results": 1 in line 1.',
    "orphan-results-fewer": ": the header says 2 orphan_results, 1 are here. Restore the file, or "
    "correct `orphan_results` in line 1.",
    "tool-call-id-a-number": ":2: `tool_call_id` must be text, the `id` of a call",
    "compactions-missing": ": truncated or edited: the header says 1 compactions, 0 are here. "
    "Restore the file, or correct `compactions` in line 1.",
    "compaction-a-text": ":5: `compaction` must have: at, kept_from, inserted, recorded",
    "compaction-beyond-the-end": ":5: `at` is 4; there are 3 messages",
    "compaction-keeps-what-comes-later": ":5: `kept_from` and `at` are message indices, and "
    "0 <= kept_from <= at",
    "compaction-inserts-a-text": ":5: `inserted` must be a list of messages, `recorded` an object",
    "compaction-inserts-no-message": f":5: {ROLES}",
    "call-a-number": ":3: `call` must be an object",
    "call-on-a-user-message": ":2: `call` belongs on an assistant message, the answer to the call",
    "tool-without-name": ":2: `tool` must be an OpenAI tool definition with `function.name`",
    "fact-a-text": ":5: `fact` must be an object",
    "fact-key-unknown": ":5: unknown key 'colour'; a fact has: accepts, asked_at, kind, "
    "lifetime, links, look_alikes, match, name, planted_at, shape, supersedes, tool, "
    "value, wordings",
    "fact-key-missing": ":5: the fact has no 'shape'",
    "fact-value-empty": ":5: 'value' must be text, and not empty",
    "fact-wordings-a-text": ":5: 'wordings' must be a list of texts",
    "fact-wordings-numbers": ":5: 'wordings' must be a list of texts",
    "fact-accepts-empty-text": ":5: 'accepts' must be a list of texts",
    "fact-planted-at-a-text": ":5: 'planted_at' must be the index of a message, from 0",
    "fact-asked-at-a-bool": ":5: 'asked_at' must be the index of a message, from 0",
    "fact-kind-unknown": ":5: fact 'shard': kind 'number' is not one of identifier, rule, "
    "update, forbidden, multi-hop",
    "fact-without-wordings": ":5: fact 'shard': has no wordings, so nothing could be asked",
    "fact-planted-nowhere": ":5: fact 'shard': planted_at 3 is not a message; there are 3",
    "fact-planted-elsewhere": ":5: fact 'shard': its value 'pay-shard-7' is not in message 1, "
    "where it is planted",
    "fact-asked-at-an-answer": ":5: fact 'shard': asked_at 1 is not a user message after the one "
    "that plants it",
    "fact-asked-before-planted": ":5: fact 'shard': asked_at 0 is not a user message after the "
    "one that plants it",
    "fact-wording-tells": ":5: fact 'shard': the wording 'Is it pay-shard-7?' gives the answer "
    "away",
    "fact-look-alike-accepted": ":5: fact 'shard': the look-alike 'Pay-Shard-7' stands in an "
    "accepted answer, so nothing could hit",
    "fact-shape-broken": ":5: fact 'shard': shape '[a-z' is not a regular expression "
    "(unterminated character set at position 0)",
    "fact-shape-too-long": ":5: fact 'shard': shape 'a{99999999999999999999}' is not a regular "
    "expression (the repetition number is too large)",
    "fact-shape-of-something-else": ":5: fact 'shard': its value does not match its shape '\\\\d+'",
    "fact-expression-broken": ":5: fact 'shard': accepts 'shard-(', which is not a regular "
    "expression (missing ), unterminated subpattern at position 6)",
    "fact-expression-of-anything": ":5: fact 'shard': accepts 'x*', which matches any text, so "
    "nothing could miss",
    "fact-expression-of-something-else": ":5: fact 'shard': its value 'pay-shard-7' is matched by "
    "none of the expressions it accepts",
    "fact-forbidden-for-ever": ":5: fact 'shard': is forbidden, so it has no lifetime 'durable'; "
    "leave `lifetime` out",
    "fact-lifetime-a-number": ":5: 'lifetime' must be text, and not empty",
    "fact-lifetime-unknown": ":5: fact 'shard': lifetime 'forever' is not one of turn, session, "
    "durable",
    "fact-links-but-has-one-hop": ":5: fact 'shard': has `links`, which only kind 'multi-hop' has; "
    "it is of kind 'identifier'",
    "fact-links-to-itself": ":5: fact 'shard': links to 'shard'; the other facts are: none",
    "fact-links-to-nothing": ":5: fact 'shard': links to 'owner'; the other facts are: none",
    "fact-links-to-what-comes-later": ":6: fact 'shard': links to 'owner', which is planted only "
    "after message 2 is asked",
    "fact-links-to-what-the-wording-tells": ":5: fact 'owner': the wording 'Whose is pay-shard-7?' "
    "gives 'shard' away, so nothing is left to link",
    "fact-links-to-what-must-be-gone": ":5: fact 'shard': links to 'secret', which must be gone by "
    "then",
    "fact-match-unknown": ":5: fact 'shard': match 'fuzzy' is not one of word, exact, text, "
    "number, regex",
    "fact-no-number": ":5: fact 'shard': 'pay-shard-7' is no number alone, which "
    "match='number' needs",
    "fact-nothing-but-punctuation": ":5: fact 'shard': '--' is nothing but punctuation, "
    "which match='text' ignores",
    "fact-of-a-turn-before-the-first": ":5: fact 'shard': is of one turn, but message 0 stands "
    "before the first turn. Plant it at a user message or later, or give it another lifetime.",
    "fact-supersedes-a-text": ":5: 'supersedes' must be a list of texts",
    "fact-supersedes-but-is-no-update": ":5: fact 'shard': has `supersedes`, which only kind "
    "'update' has; it is of kind 'identifier'",
    "fact-supersedes-itself": ":5: fact 'shard': the older value 'pay-shard-7' stands in an "
    "accepted answer, so nothing could hit",
    "fact-supersedes-nothing": ":5: fact 'shard': is of kind 'update', which needs `supersedes`: "
    "the older values that must be gone",
    "fact-supersedes-what-was-never-said": ":5: fact 'shard': the older value 'pay-shard-3' stands "
    "in no message before message 0, so nothing could be superseded",
    "fact-tool-a-text": ":5: 'tool' must be an object with `name`, `argument` and, if need be, "
    "`arguments`",
    "fact-tool-argument-a-number": ":5: 'tool' must be an object with `name`, `argument` and, if "
    "need be, `arguments`; names and values are texts",
    "fact-tool-argument-twice": ":6: fact 'shard': argument 'shard' of its tool must have the "
    "fact's value; it cannot be listed in `arguments`, too",
    "fact-tool-argument-unknown": ":6: fact 'shard': tool 'open_ticket' has no argument 'host'; it "
    "has: shard",
    "fact-tool-key-unknown": ":5: 'tool' must be an object with `name`, `argument` and, if need "
    "be, `arguments`",
    "fact-tool-unknown": ":5: fact 'shard': its tool 'open_ticket' is not one of: none",
    "fact-without-expressions": ":5: fact 'shard': match='regex' needs `accepts`: the expressions "
    "of accepted answers",
    "fact-without-links": ":5: fact 'shard': is of kind 'multi-hop', which needs `links`: the "
    "names of the other facts it needs",
    "fact-twice": ":6: a second fact named 'shard'; rename one",
}


@pytest.mark.parametrize("name", MESSAGES)
def test_a_broken_transcript_says_where_and_what(name):
    path = FOLDER / f"{name}.jsonl"
    with pytest.raises(TranscriptError) as caught:
        load(path)
    assert str(caught.value) == f"{path}{MESSAGES[name]}"
    assert caught.value.path == path


def test_every_broken_transcript_has_its_message():
    assert {path.stem for path in FOLDER.glob("*.jsonl")} == set(MESSAGES)


def test_the_broken_files_are_those_that_the_script_writes(tmp_path, capsys):
    make.main(tmp_path)
    written = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert capsys.readouterr().out == f"{len(written)} files written to {tmp_path}\n"
    assert written == {path.name: path.read_bytes() for path in FOLDER.glob("*.json*")}


def test_what_is_wrong_is_the_only_thing_wrong(tmp_path):
    """The good file they are made from loads, so each error is about its own mistake."""
    path = tmp_path / "good.jsonl"
    path.write_text(make.lines(make.HEADER, *make.SESSION, make.fact()))
    assert [fact.name for fact in load(path).facts] == ["shard"]


def test_a_file_that_is_not_there():
    with pytest.raises(TranscriptError, match=r"nowhere\.jsonl: cannot be read: No such file"):
        load("nowhere.jsonl")


def test_a_folder(tmp_path):
    with pytest.raises(TranscriptError, match="cannot be read"):
        load(tmp_path)


def test_json_too_deep_to_parse(tmp_path):
    path = tmp_path / "deep.jsonl"
    path.write_text(make.lines(make.HEADER, "[" * 100_000))
    with pytest.raises(TranscriptError, match=r"deep\.jsonl:2: nested too deep"):
        load(path)
