"""The error tree, grouped by what the caller can do about it.

::

    CtxguardError
    ├── InputError              mend the file at the place named
    │   ├── TranscriptError     a transcript that cannot be read whole
    │   ├── BaselineError       a baseline file that cannot be read
    │   └── ReportError         a JSON report that cannot be read
    ├── UsageError              mend the call, marker or option
    │   └── FrameworkMissing    install the framework that an adapter adapts
    ├── PolicyError             mend the policy: it raised, or returned what is not a message list
    ├── RecordingError          record the request, or mend what sent it
    │   └── SecretFound         a secret would have been written; keep it out of what is sent
    ├── ModelError              fetch or mend the model
    │   ├── ModelMissing        it is not in the cache, with the command that fetches it
    │   ├── FetchError          it could not be downloaded
    │   ├── ModelCorrupt        its bytes are not the ones expected
    │   └── ModelLost           the process that ran it has ended
    ├── BackendError            the model could not answer this request
    │   └── PromptTooLong       the prompt is beyond the context window
    └── ContextGateFailure      a promise was broken (also an AssertionError)
        └── NothingChecked      there was nothing to judge, which no xfail excuses
"""

from __future__ import annotations

from typing import Literal


class CtxguardError(Exception):
    """Any error this package raises on purpose."""


class InputError(CtxguardError):
    """A file that cannot be used as it is.

    The message has the form ``path:line: what is wrong. Remedy.``
    """

    def __init__(self, what: str, *, path: object = None, line: int | None = None) -> None:
        self.what, self.path, self.line = what, path, line
        place = "" if path is None else f"{path}:{line}: " if line is not None else f"{path}: "
        super().__init__(place + what)


class TranscriptError(InputError):
    """A transcript that cannot be read whole."""


class BaselineError(InputError):
    """A baseline file that cannot be read."""


class ReportError(InputError):
    """A JSON report of a run that cannot be read."""


class UsageError(CtxguardError):
    """A call, marker or option that asks for something impossible."""


class FrameworkMissing(UsageError):
    """An adapter whose framework is not installed, with the command that installs it."""


class PolicyError(CtxguardError):
    """A policy that raised, or returned something that is not a list of messages."""


class RecordingError(CtxguardError):
    """A request that is not recorded, or cannot be."""


class SecretFound(RecordingError):
    """A secret that would have been written to a file; nothing was written.

    The message has the form ``path:line: what. Remedy.`` and never holds the secret.
    """

    def __init__(self, what: str, *, path: object, line: int | None = None) -> None:
        self.what, self.path, self.line = what, path, line
        super().__init__(f"{path}:{line}: {what}" if line is not None else f"{path}: {what}")


class ModelError(CtxguardError):
    """The model cannot be used."""


class ModelMissing(ModelError):
    """The model is not in the cache and may not be fetched now."""


class FetchError(ModelError):
    """The model could not be downloaded."""


class ModelCorrupt(ModelError):
    """The model's bytes are not the ones expected."""


class ModelLost(ModelError):
    """The process that ran the model has ended; what it was asked has no answer."""


class BackendError(CtxguardError):
    """The model could not answer this request."""


class PromptTooLong(BackendError):
    """The prompt is longer than the context window.

    Attributes:
        tokens: length of the prompt, in tokens.
        limit: the context window, in tokens.
    """

    def __init__(self, tokens: int, limit: int) -> None:
        self.tokens, self.limit = tokens, limit
        super().__init__(f"the prompt has {tokens} tokens; the context window holds {limit}")


class ContextGateFailure(CtxguardError, AssertionError):
    """One or more promises about the context were broken.

    Attributes:
        verdict: ``inconclusive`` where the data cannot decide, which fails by default.
    """

    def __init__(self, message: str, *, verdict: Literal["fail", "inconclusive"] = "fail") -> None:
        super().__init__(message)
        self.verdict = verdict

    __module__ = "pytest_ctxguard"  # its public name, which every failing test prints


class NothingChecked(ContextGateFailure):
    """A guarded test ended without anything that could be judged."""
