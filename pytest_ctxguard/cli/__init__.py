"""The ``pytest-ctxguard`` command."""
