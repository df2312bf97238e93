"""Context policies of agent frameworks, run as their users run them.

One module per framework, reached as ``pytest_ctxguard.adapt.<name>``. An adapter takes a policy of
its framework, exactly as it is used there, and returns a policy of this package. It shows the
framework the history as the framework's own messages and turns what comes back into OpenAI-format
messages: a message that the policy left alone comes back as it was, to the last key.
A framework is imported when a policy of it runs, never before.
"""
