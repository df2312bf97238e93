"""pytest-ctxguard."""
