"""A chat endpoint on loopback over any backend: OpenAI's and Anthropic's shapes."""
