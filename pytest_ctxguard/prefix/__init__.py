"""Which beginning of a request a provider has seen before, and what it costs when it has not."""
