"""The page of field notes is what the kept measurements render to."""

from __future__ import annotations

from benchmarks import field_notes


def test_the_page_is_rendered_from_what_was_measured():
    assert field_notes.PAGE.read_text(encoding="utf-8") == field_notes.render()


def test_every_kept_measurement_names_the_command_that_made_it():
    for path in field_notes.NOTES.glob("*.json"):
        command = " ".join(field_notes.EXPERIMENTS[path.stem])
        assert f'"command": "{command}"' in path.read_text(encoding="utf-8")
