"""The ctxguard section of pytest's terminal report."""
