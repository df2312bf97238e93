"""The policy protocol and the reference policies."""
