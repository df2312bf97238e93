"""What identifies a secret: names of headers and keys, and the forms of well-known tokens.

The forms are the ones their issuers document; a form without a prefix of its own is not listed,
since it could be anything.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

SCRUBBED = "SCRUBBED"  # no digit and no space, so that nothing here takes it for a secret

# Who asks, and for which account. Request ids stay: they identify a call, not a caller.
HEADERS = frozenset(
    {
        "api-key",
        "apikey",
        "authentication",
        "authorization",
        "cookie",
        "set-cookie",
        "openai-organization",
        "openai-project",
        "anthropic-organization-id",
        "anthropic-workspace-id",
        "chatgpt-account-id",
        "x-goog-user-project",
        "x-goog-iam-authorization-token",
        "ocp-apim-subscription-key",
        "x-functions-key",
        "cf-access-client-id",
        "cf-access-client-secret",
        "cf-access-jwt-assertion",
    }
)
HEADER_ENDS = ("-api-key", "-apikey", "-token", "-secret", "-password", "-authorization", "-auth")
COOKIES = frozenset({"cookie", "set-cookie"})

# Names as `plain` writes them: lower case, letters and digits only.
SECRET_KEYS = frozenset(
    {
        "accesskey",
        "accesstoken",
        "apikey",
        "apisecret",
        "apitoken",
        "authorization",
        "authtoken",
        "awssecretaccesskey",
        "awssessiontoken",
        "bearertoken",
        "clientassertion",
        "clientsecret",
        "connectionstring",
        "csrftoken",
        "idtoken",
        "passphrase",
        "passwd",
        "password",
        "privatekey",
        "proxyauthorization",
        "refreshtoken",
        "secretaccesskey",
        "secretkey",
        "securitytoken",
        "sessiontoken",
        "signingkey",
        "subscriptionkey",
        "webhooksecret",
        "xapikey",
        "xgoogapikey",
    }
)
# Secret if the value is random: "token" is also a word's piece in logprobs, "secret" a word.
LIKELY_KEYS = frozenset({"token", "secret", "credential", "credentials", "jwt", "auth", "sas"})
QUERY_KEYS = SECRET_KEYS | {
    "auth",
    "awsaccesskeyid",
    "googleaccessid",
    "jwt",
    "key",
    "secret",
    "sig",
    "signature",
    "token",
    "xamzcredential",
    "xamzsecuritytoken",
    "xamzsignature",
    "xgoogcredential",
    "xgoogsignature",
}
FORM_KEYS = SECRET_KEYS | {"assertion", "secret", "token"}
TYPE_WORDS = frozenset(  # what stands for a value where a document describes one
    {"any", "basic", "bearer", "header", "none", "null", "optional", "query", "required", "string"}
)


@dataclass(frozen=True, slots=True)
class Form:
    """A form that tokens have in any text.

    Attributes:
        what: kind of secret, for messages.
        hints: texts in lower case of which one stands in every match; a quick test.
        pattern: the secret itself, or its group ``value``.
    """

    what: str
    hints: tuple[str, ...]
    pattern: re.Pattern[str]


def plain(name: str) -> str:
    """Return a key's name in lower case, letters and digits only."""
    return re.sub(r"[^a-z0-9]", "", name.lower())


def secret_header(name: str) -> bool:
    """Tell whether a header's value is replaced whatever it is."""
    name = name.lower()
    return name in HEADERS or name.endswith(HEADER_ENDS)


def _token(what: str, hint: str, pattern: str) -> Form:
    """Return the form of a token that has a prefix and is no part of a longer word."""
    return Form(what, (hint,), re.compile(rf"(?<![A-Za-z0-9_-])(?:{pattern})"))


# Some digit, and a run of letters and digits: a slug such as sk-learn-compatible has neither.
_RANDOM = r"(?=[A-Za-z_-]*[0-9])(?=[A-Za-z0-9_-]*[A-Za-z0-9]{12})"
_DIGIT = r"(?=[A-Za-z]*[0-9])"

TOKENS = (
    Form(
        "a private key",
        ("private key-----",),
        re.compile(
            r"-----BEGIN [A-Z ]*PRIVATE KEY-----(?:(?!-----).)+-----END [A-Z ]*PRIVATE KEY-----",
            re.S,
        ),
    ),
    Form(  # plain enough to be found also where nothing sets them off from a word before
        "an API key",
        ("sk-ant-", "sk-proj-", "sk-or-", "ghp_", "github_pat_"),
        re.compile(
            rf"sk-(?:ant|proj|or)-{_RANDOM}[A-Za-z0-9_-]{{20,}}|ghp_[A-Za-z0-9]{{36}}"
            r"|github_pat_[A-Za-z0-9_]{22,}"
        ),
    ),
    _token("an sk- API key", "sk-", rf"sk-{_RANDOM}[A-Za-z0-9_-]{{20,}}"),
    _token("a Google API key", "aiza", r"AIza[0-9A-Za-z_-]{30,}"),
    _token("a Google access token", "ya29.", r"ya29\.[0-9A-Za-z_-]{20,}"),
    _token("a GitHub token", "gh", r"gh[pousr]_[A-Za-z0-9]{20,}"),
    _token("a GitLab token", "glpat-", r"glpat-[A-Za-z0-9_-]{20,}"),
    _token("a Slack token", "xox", r"xox[abeoprs]-(?=[A-Za-z-]*[0-9])[A-Za-z0-9-]{10,}"),
    _token("a Slack token", "xapp-", r"xapp-(?=[A-Za-z-]*[0-9])[A-Za-z0-9-]{10,}"),
    _token("an AWS access key id", "akia", r"AKIA[0-9A-Z]{16}(?![0-9A-Za-z])"),
    _token("an AWS access key id", "asia", r"ASIA[0-9A-Z]{16}(?![0-9A-Za-z])"),
    _token("a Hugging Face token", "hf_", rf"hf_{_DIGIT}[A-Za-z0-9]{{20,}}"),
    _token("a Groq key", "gsk_", rf"gsk_{_DIGIT}[A-Za-z0-9]{{20,}}"),
    _token("an xAI key", "xai-", rf"xai-{_DIGIT}[A-Za-z0-9]{{20,}}"),
    _token("a Perplexity key", "pplx-", rf"pplx-{_DIGIT}[A-Za-z0-9]{{20,}}"),
    _token("a Replicate token", "r8_", rf"r8_{_DIGIT}[A-Za-z0-9]{{20,}}"),
    _token("an NVIDIA key", "nvapi-", rf"nvapi-{_RANDOM}[A-Za-z0-9_-]{{20,}}"),
    _token("a Tavily key", "tvly-", rf"tvly-{_RANDOM}[A-Za-z0-9_-]{{20,}}"),
    _token("a Stripe key", "k_", r"[srp]k_(?:live|test)_[A-Za-z0-9]{16,}"),
    _token("an npm token", "npm_", rf"npm_{_DIGIT}[A-Za-z0-9]{{30,}}"),
    _token("a PyPI token", "pypi-", r"pypi-AgE[A-Za-z0-9_-]{40,}"),
    _token("a SendGrid key", "sg.", r"SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}"),
    _token("a LangSmith key", "lsv2_", r"lsv2_[a-z]{2}_[0-9a-f]{32}_[0-9a-f]{10}"),
    _token("a Telegram bot token", ":aa", r"(?:bot)?[0-9]{8,10}:AA[A-Za-z0-9_-]{32,}"),
    _token("an OpenAI organisation id", "org-", rf"org-{_DIGIT}[A-Za-z0-9]{{20,}}"),
    _token("an OpenAI project id", "proj_", rf"proj_{_DIGIT}[A-Za-z0-9]{{20,}}"),
    _token(
        "a JSON web token",
        "eyj",
        r"eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*"
        r"|eyJ[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]+){4}",
    ),
)

USERINFO = "a password in a URL"
_NAME = (
    r"[A-Za-z0-9_-]*(?:api[_-]?key|access[_-]?key|secret[_-]?key|private[_-]?key|[_-]token"
    r"|[_-]secret|client[_-]?secret|password|passwd)"
)
# In any text, if the value is random: a header, a setting, a key of JSON, of a URL, a password.
WORDED = (
    Form("a bearer token", ("bearer",), re.compile(r"(?i)\bbearer\s+(?P<value>[\w.~+/=-]{12,})")),
    Form(
        "an authorization header",
        ("authorization",),
        re.compile(
            r"""(?i)authorization\\*["']?\s*[:=]\s*\\*["']?\w+\s+(?P<value>[\w.~+/=-]{8,})"""
        ),
    ),
    Form(
        USERINFO,
        ("://",),
        re.compile(r"""://[^\s/:@"'<>\\]{0,200}:(?P<value>[^\s/:@"'<>\\]{6,200})@"""),
    ),
    Form(
        "a key in a URL",
        ("=",),
        re.compile(
            rf"(?i)[?&](?:{_NAME}|token|sig|x-\w+-signature|key)=(?P<value>[\w.~+/%-]{{12,}})"
        ),
    ),
    Form(
        "a secret setting",
        ("key", "token", "secret", "passw"),
        re.compile(
            rf"""(?i)(?<![A-Za-z0-9_-]){_NAME}\\*["']?\s*[:=]\s*\\*["']?"""
            r"(?P<value>[\w+/=~-]{12,})(?![\w.(\[])"
        ),
    ),
)
QUOTED_PAIR = re.compile(
    r"""\\*["'](?P<key>[A-Za-z0-9_.-]{3,40})\\*["']\s*:\s*\\*["'](?P<value>[^"'\\\s]{6,})\\*["']"""
)
