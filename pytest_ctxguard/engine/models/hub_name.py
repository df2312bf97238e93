"""How a model on a hub is written: ``org/repo``, ``org/repo@revision``, ``…:file-or-folder``."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import quote

PATTERN = re.compile(
    r"(?P<repo>[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*)(?:@(?P<revision>[\w./-]+))?(?::(?P<file>[^:]+))?"
)


@dataclass(frozen=True, slots=True)
class HubName:
    """A model on a hub as a user names it.

    Attributes:
        repo: owner and repository.
        revision: a branch, tag or commit; empty is the default branch.
        file: a file, or a folder with one model, where the repository holds several.
    """

    repo: str
    revision: str = ""
    file: str = ""

    @classmethod
    def parse(cls, text: str) -> HubName | None:
        """Read a name; None if it has not this form."""
        match = PATTERN.fullmatch(text)
        if match is None or ".." in text:
            return None
        return cls(match["repo"], match["revision"] or "", match["file"] or "")

    @property
    def base(self) -> str:
        """The name without the file."""
        return f"{self.repo}@{self.revision}" if self.revision else self.repo

    def __str__(self) -> str:
        return f"{self.base}:{self.file}" if self.file else self.base

    @property
    def key(self) -> str:
        """A folder name that no other model has."""
        return "hub--" + quote(str(self), safe="@")
