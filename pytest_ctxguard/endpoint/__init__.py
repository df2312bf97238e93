"""A backend over any chat-completions endpoint: a served model that many processes share."""

from pytest_ctxguard.endpoint.address import base_url
from pytest_ctxguard.endpoint.client import EndpointBackend
from pytest_ctxguard.endpoint.retrying import Patience

__all__ = ["EndpointBackend", "Patience", "base_url"]
