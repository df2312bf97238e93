"""Every setting once: options, ini keys and docs/configuration.md are made from this table.

It is imported in every pytest run, so it imports nothing of ours.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

RECORD_MODES = ("none", "once", "new_episodes", "all")  # vcrpy's names
DEFAULT_COUNTER = "qwen2.5"
DEFAULT_TRIALS = 32

Kind = Literal["flag", "choice", "text", "whole", "path", "paths", "texts"]
Source = Literal["option", "theirs", "mark", "fixture", "ini", "default"]


class Setting(NamedTuple):
    """One setting, and the places that can give it.

    Attributes:
        name: the field of ``Settings``, where it is one of the run.
        kind: what its values are. ``whole`` is an integer, ``texts`` a list.
        help: one sentence for ``--help`` and the page.
        option: on the command line.
        theirs: another plugin's option that gives it, too; ours comes before it.
        mark: the marker's argument.
        fixture: the argument of a fixture's call.
        ini: the key.
        default: what holds where no place gives it.
        allowed: the values of a ``choice``; of other kinds what is allowed, in words.
        metavar: stands for the option's value in ``--help``.
        repeatable: whether the option may be given several times.
        call_first: the mark is the default of the call's argument, for a test's several calls.
        page: where docs/ says more.
    """

    name: str
    kind: Kind
    help: str
    option: str = ""
    theirs: str = ""
    mark: str = ""
    fixture: str = ""
    ini: str = ""
    default: object = None
    allowed: tuple[str, ...] = ()
    metavar: str | None = None
    repeatable: bool = False
    call_first: bool = False
    page: str = ""


SETTINGS: tuple[Setting, ...] = (
    Setting(
        "guard",
        "flag",
        "Run the tests that guard context policies.",
        option="--ctxguard",
        default=False,
    ),
    Setting(
        "update",
        "flag",
        "Record what the passing tests measure as the new baseline; not in CI.",
        option="--ctxguard-update",
        default=False,
    ),
    Setting(
        "update_new",
        "flag",
        "Record only what has no baseline entry yet; not in CI.",
        option="--ctxguard-update-new",
        default=False,
    ),
    Setting(
        "compare",
        "text",
        "Compare with the baseline of this git ref instead of the one in the working tree.",
        option="--ctxguard-compare",
        default="",
        metavar="REF",
    ),
    Setting(
        "tier",
        "choice",
        "Which marks are judged: structure leaves out those that need a model.",
        option="--ctxguard-tier",
        default="model",
        allowed=("structure", "model"),
    ),
    Setting(
        "inconclusive",
        "choice",
        "What a verdict that the data cannot decide comes to.",
        option="--ctxguard-inconclusive",
        default="fail",
        allowed=("fail", "warn"),
        page="statistics.md",
    ),
    Setting(
        "reports",
        "paths",
        "Write a report there; may be given several times.",
        option="--ctxguard-report",
        default=(),
        allowed=("a path that ends in .json, .md or .html",),
        metavar="PATH",
        repeatable=True,
    ),
    Setting(
        "model",
        "text",
        "Model that answers: a name, a GGUF file or a folder; where none is named, "
        "qwen2.5-coder-0.5b-instruct.",
        option="--ctxguard-model",
        ini="ctxguard_model",
        default="",
        metavar="NAME",
        page="engine.md",
    ),
    Setting(
        "endpoint",
        "text",
        "Chat-completions endpoint that answers instead of a model in process; its key is the "
        "environment's CTXGUARD_ENDPOINT_KEY.",
        option="--ctxguard-endpoint",
        ini="ctxguard_endpoint",
        default="",
        metavar="URL",
        page="endpoints.md",
    ),
    Setting(
        "endpoint_requests",
        "whole",
        "Requests to the endpoint that are under way at once, of each worker.",
        ini="ctxguard_endpoint_requests",
        default=8,
        allowed=("a whole number from 1",),
        page="endpoints.md",
    ),
    Setting(
        "record",
        "choice",
        "What ctx_record does: none replays only, once records where there is no cassette, "
        "new_episodes records what is not in it, all records everything anew. In CI only the "
        "command line records.",
        option="--ctxguard-record",
        theirs="--record-mode",
        mark="ctx_cassette(record=…)",
        ini="ctxguard_record",
        default="none",
        allowed=RECORD_MODES,
        page="recording.md",
    ),
    Setting(
        "seed",
        "whole",
        "Draws the samples of trials; a claim about them must hold for any.",
        option="--ctxguard-seed",
        fixture="ctx_recall(seed=…)",
        default=0,
        allowed=("a whole number",),
        metavar="N",
        page="statistics.md",
    ),
    Setting(
        "fresh",
        "flag",
        "Ask everything anew; use no answer that an earlier run kept.",
        option="--ctxguard-fresh",
        default=False,
        page="recall.md",
    ),
    Setting(
        "counter",
        "text",
        "Counts budgets and requests: qwen2.5, o200k, cl100k, mistral, deepseek, a name that the "
        "hook pytest_ctxguard_counters gives, a tokenizer.json, or a server's URL.",
        fixture="ctx_replay(counter=…)",
        ini="ctxguard_counter",
        default=DEFAULT_COUNTER,
        page="tokens.md#counters",
    ),
    Setting(
        "controls",
        "choice",
        "Which controls are asked beside the probes: those that tell whether a wording is usable, "
        "or also full history, the fact restated and the same request twice.",
        ini="ctxguard_controls",
        default="usable",
        allowed=("usable", "all"),
        page="recall.md",
    ),
    Setting(
        "engine",
        "choice",
        "Under xdist: one engine process shared by all workers, or each worker its own; auto "
        "decides by memory.",
        ini="ctxguard_engine",
        default="auto",
        allowed=("auto", "shared", "each"),
        page="workers.md",
    ),
    Setting(
        "fetch",
        "choice",
        "Whether a missing model is fetched on first need; never in an xdist worker.",
        ini="ctxguard_fetch",
        default="auto",
        allowed=("auto", "never"),
        page="engine.md",
    ),
    Setting(
        "prefix_cache",
        "whole",
        "MB of computed prompts to keep on disk for the next run.",
        ini="ctxguard_prefix_cache",
        default=0,
        allowed=("a whole number of megabytes",),
        page="engine.md",
    ),
    Setting(
        "prompts",
        "path",
        "Folder into which the rendered prompts of failed recall trials are written.",
        ini="ctxguard_prompts",
        page="recall.md",
    ),
    Setting(
        "special_tokens",
        "choice",
        "Content that spells a control token: data is text; parse acts, as in servers that parse "
        "it, and is a finding.",
        ini="ctxguard_special_tokens",
        default="data",
        allowed=("data", "parse"),
        page="tokens.md",
    ),
    Setting(
        "update_in_ci",
        "flag",
        "Whether CI may update a baseline.",
        ini="ctxguard_update_in_ci",
        default=False,
    ),
    Setting(
        "transcripts",
        "paths",
        "Folders of your own transcripts.",
        ini="ctxguard_transcripts",
        default=(),
        page="transcripts.md",
    ),
    Setting(
        "secrets",
        "texts",
        "Further environment variables whose values are never written to a cassette.",
        ini="ctxguard_secrets",
        default=(),
        page="recording.md",
    ),
    Setting(
        "cache_rules",
        "path",
        "TOML file of prompt-cache rules, beside the built-in ones and over them.",
        ini="ctxguard_cache_rules",
        page="prefix.md",
    ),
    Setting(
        "prices",
        "path",
        "TOML file of prices per million tokens.",
        ini="ctxguard_prices",
        page="prefix.md",
    ),
    Setting(
        "budget",
        "whole",
        "Tokens a policy is given.",
        mark="ctx_budget(limit)",
        fixture="ctx_replay(budget=…)",
        allowed=("a number of tokens",),
        call_first=True,
    ),
    Setting(
        "trials",
        "whole",
        "Trials of each cell of a recall.",
        mark="ctx_needle_recall(trials=…)",
        fixture="ctx_recall(trials=…)",
        default=DEFAULT_TRIALS,
        allowed=("a number of trials",),
        call_first=True,
        page="recall.md#needles",
    ),
)


def setting(name: str) -> Setting:
    """Return the setting of that name."""
    return next(row for row in SETTINGS if row.name == name)
