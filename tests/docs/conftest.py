"""The project that the blocks of the pages run in has a conftest of its own."""

collect_ignore = ["project"]
