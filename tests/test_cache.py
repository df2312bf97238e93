"""Where dear things are kept, and how they are written."""

from pathlib import Path

import platformdirs
import pytest

from pytest_ctxguard.cache import cache_folder, write_atomically


def test_the_environment_names_the_folder(monkeypatch):
    monkeypatch.setenv("CTXGUARD_CACHE", "some/where")
    assert cache_folder() == Path("some/where")


@pytest.mark.parametrize("unset", [True, False])
def test_else_it_is_the_platforms_own(monkeypatch, unset):
    if unset:
        monkeypatch.delenv("CTXGUARD_CACHE", raising=False)
    else:
        monkeypatch.setenv("CTXGUARD_CACHE", "")
    assert cache_folder() == platformdirs.user_cache_path("pytest-ctxguard")


def test_folders_are_made_and_the_file_is_readable_by_all(tmp_path):
    path = tmp_path / "a" / "b" / "file"
    write_atomically(path, lambda temporary: temporary.write_text("new"))
    assert path.read_text() == "new"
    assert path.stat().st_mode & 0o777 == 0o644
    assert list(path.parent.iterdir()) == [path]


def test_readers_see_the_old_file_until_the_new_one_is_whole(tmp_path):
    path = tmp_path / "file"
    path.write_text("old")

    def write(temporary):
        assert temporary.parent == path.parent
        temporary.write_text("half")
        assert path.read_text() == "old"
        temporary.write_text("whole")

    write_atomically(path, write)
    assert path.read_text() == "whole"


def test_a_writer_that_raises_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "file"
    path.write_text("old")

    def write(temporary):
        temporary.write_text("half")
        raise RuntimeError("out of luck")

    with pytest.raises(RuntimeError, match="out of luck"):
        write_atomically(path, write)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]
