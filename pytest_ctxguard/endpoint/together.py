"""Do several things at once, and give the results in order."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


def together(
    work: Callable[[Item], Result], items: Sequence[Item], *, at_once: int
) -> tuple[Result, ...]:
    """Return the work's result for each item, in order.

    The threads are daemons and begin nothing new once the caller has left, so that Ctrl-C waits
    for no answer; an executor would.

    Args:
        work: done in threads; the first thing it raises is raised here.
        items: what it is done to, begun in this order.
        at_once: the most that are under way.
    """
    results: dict[int, Result] = {}
    raised: list[BaseException] = []
    waiting, turn, left = iter(enumerate(items)), threading.Lock(), threading.Event()

    def run() -> None:
        while not left.is_set():
            with turn:
                place = next(waiting, None)
            if place is None:
                return
            index, item = place
            try:
                results[index] = work(item)
            except BaseException as error:
                raised.append(error)
                left.set()

    threads = [threading.Thread(target=run, daemon=True) for _ in range(min(at_once, len(items)))]
    for thread in threads:
        thread.start()
    try:
        for thread in threads:
            thread.join()
    finally:
        left.set()
    if raised:
        raise raised[0]
    return tuple(results[index] for index in range(len(items)))
