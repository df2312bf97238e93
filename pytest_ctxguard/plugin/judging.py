"""Judge what one test did by what it promises, once its body has passed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from pytest_ctxguard.checks.finding import Judgement
from pytest_ctxguard.checks.guarded import enforce
from pytest_ctxguard.checks.promise import judge
from pytest_ctxguard.errors import ContextGateFailure, CtxguardError, NothingChecked
from pytest_ctxguard.plugin.record import Judged, JudgedRecall, TestRecord


def judge_record(record: TestRecord, *, recorded: bool, tolerate_inconclusive: bool) -> None:
    """Judge every replay and recall of a test; add what each came to, to the record.

    Args:
        record: what the test promises and did.
        recorded: whether it recorded or replayed what it sent.
        tolerate_inconclusive: whether what the data cannot decide passes.

    Raises:
        ContextGateFailure: a promise is broken, or there is nothing to check.
        CtxguardError: a promise could not be judged.
    """
    judgements = [*record.agents]  # broken all the same where the body caught what that raised
    if not _something_to_check(record, recorded=recorded):
        enforce(tuple(judgements), tolerate_inconclusive=tolerate_inconclusive)
        return
    errors: list[CtxguardError] = []
    for judged, judges in _to_judge(record):
        for judge_one in judges:
            try:
                judged.judgements.append(judge_one())
            except CtxguardError as error:  # the other promises are judged all the same
                errors.append(error)
        judgements += judged.judgements
    judgements += [result.judgement for result in record.laws]
    judgements += [judgement for _, judgement in record.estimates]
    unjudged = list(dict.fromkeys(f"not judged: {error}" for error in errors))
    record.note = "\n  ".join(unjudged)
    try:
        enforce(tuple(judgements), tolerate_inconclusive=tolerate_inconclusive)
    except ContextGateFailure as failure:
        tests = [result.paste for result in record.laws if result.tests]
        text = "\n\n".join([str(failure), *tests, *unjudged])
        raise ContextGateFailure(text, verdict=failure.verdict) from None
    if errors:
        raise errors[0] from None


def judge_skipped(record: TestRecord, *, tolerate_inconclusive: bool) -> None:
    """Fail a test that skips itself although what it checked in its body is broken.

    Raises:
        ContextGateFailure: so.
    """
    checked = [judgement for judged in record.replays for judgement in judged.judgements]
    enforce((*checked, *record.agents), tolerate_inconclusive=tolerate_inconclusive)


def _something_to_check(record: TestRecord, *, recorded: bool) -> bool:
    """Tell whether anything is judged here.

    Raises:
        NothingChecked: nothing is, and something should be.
    """
    if not all(requests() for requests in record.servers):
        raise NothingChecked(
            "nothing to check: a server of this test got no request. Point the agent at its "
            ".openai_base_url or .anthropic_base_url."
        )
    replays = any(judged.wanted for judged in record.replays)
    recalls = any(judged.wanted for judged in record.recalls)
    if record.claims and not recalls:
        raise NothingChecked(
            "nothing to check: this test promises something about needles, and no recall was "
            "judged. Call ctx_recall(policy) in its body."
        )
    if record.bounds and not record.estimates:
        raise NothingChecked(
            "nothing to check: this test promises something about an estimator, and none was "
            "judged. Call ctx_estimate(estimator) in its body."
        )
    if replays or ((recalls or record.laws or record.estimates) and not record.promises):
        return True
    elsewhere = record.servers or record.agents or recorded  # judged where it ran, or not at all
    if not record.laws and elsewhere and not record.promises:
        return False
    raise NothingChecked(
        "nothing to check: this test promises something about a context, and no replay "
        "was judged. Call ctx_replay(transcript, policy), or ctx_session(recording), in its body."
    )


def _to_judge(
    record: TestRecord,
) -> Iterator[tuple[Judged | JudgedRecall, Sequence[Callable[[], Judgement]]]]:
    """Yield each replay and recall that is judged, with what judges it."""
    for judged in record.replays:
        if judged.wanted:
            judged.judgements.append(judged.replay.guard)
            yield judged, [partial(judge, p, judged.replay.case) for p in record.promises]
    for recall in record.recalls:
        if recall.wanted:
            yield recall, [partial(claim.judge, recall.case) for claim in record.claims]
