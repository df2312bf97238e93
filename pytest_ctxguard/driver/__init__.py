"""A real tool loop around a policy: run an agent to its end, against a limit that refuses.

A replay asks what a policy keeps of a recorded session. A drive asks whether the session ends at
all: what the policy sends decides what the model is asked next, what it answers decides which
tools run, and a request beyond the limit is refused as a provider refuses it.
"""
