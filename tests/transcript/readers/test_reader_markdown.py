"""Markdown chats: read where it is plain who speaks, left alone otherwise."""

import pytest
from export_files import document, read, refused

from pytest_ctxguard.transcript.readers.markdown import READER

HEADINGS = """# My chat

Exported 2026-01-02

## User

How do I list files?

## Assistant

### With a shell

```sh
ls
## User
```

## User

Thanks.
"""


def pairs(text):
    (run,) = read(READER, text.encode(), "chat.md").runs
    return [(message["role"], message["content"]) for message in run.messages]


def test_headings():
    reading = read(READER, HEADINGS.encode(), "chat.md")
    (run,) = reading.runs
    assert [m["role"] for m in run.messages] == ["user", "assistant", "user"]
    assert run.messages[0]["content"] == "How do I list files?"
    assert run.messages[1]["content"] == "### With a shell\n\n```sh\nls\n## User\n```"
    assert reading.passed_over == {"line before the first message": 2}
    assert run.name == "chat"


def test_bold_names_with_the_text_beside_them_and_windows_lines():
    text = "**System:** Be brief.\r\n\r\n**You:** Hi.\r\nMore.\r\n\r\n**ChatGPT:**\r\nHello.\r\n"
    assert pairs(text) == [("system", "Be brief."), ("user", "Hi.\nMore."), ("assistant", "Hello.")]
    assert pairs("**User**: a\n\n**Assistant**: b\n") == [("user", "a"), ("assistant", "b")]


def test_lines_between_messages_belong_to_none_only_if_all_have_them():
    text = "## User\na\n\n---\n\n## Assistant\nb\n\n---\n\n## User\nc\n\n---\n"
    assert pairs(text) == [("user", "a"), ("assistant", "b"), ("user", "c")]
    assert read(READER, text.encode()).passed_over == {"line between messages": 3}
    assert pairs("## User\na\n\n---\n## Assistant\nb\n## User\nc") == [
        ("user", "a\n\n---"),
        ("assistant", "b"),
        ("user", "c"),
    ]


def test_a_name_in_another_form_is_text():
    text = "## User\na\n**Assistant:** quoted\n## Assistant\nb\n### User\n"
    assert pairs(text) == [
        ("user", "a\n**Assistant:** quoted"),
        ("assistant", "b\n### User"),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "# A document\n\nAbout users.\n",
        "User: a\nAssistant: b\n",
        "## Assistant\nb\n## User\na\n",
        "## User\na\n## User\nb\n## Assistant\nc\n",
        "## User\nonly one\n",
        "## System\na\n## Assistant\nb\n",
        "line\n" * 11 + "## User\na\n## Assistant\nb\n",
        '{"## User": 1}',
    ],
)
def test_what_is_not_plain_is_not_recognised(text):
    assert not READER.recognises(document(text.encode()))


def test_bytes_that_are_no_text_are_not_recognised():
    assert not READER.recognises(document(b"## User\n\xff\n## Assistant\n"))


def test_an_open_code_block_is_an_error_at_its_line():
    text = "## User\na\n## Assistant\nb\n## User\n```sh\nls\n"
    assert refused(READER, text.encode(), "c.md").startswith("c.md:6: a code block begins here")
