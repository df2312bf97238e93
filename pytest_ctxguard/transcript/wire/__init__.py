"""One file per provider: the JSON that crosses the wire, as OpenAI-format chat messages."""
