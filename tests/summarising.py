"""Policies that summarise, well and badly, and sessions long enough to need it."""

from tests.factories import assistant, employee, session, system, user

SUMMARY = "Summary of what was left out: "


def long_session(*, turns=12, words=8, facts=None, **changes):
    """A chat; its first turn plants the employee number, each turn adds about 2 * 6 * words."""
    messages = [system("You help."), user("My employee number is 4417.")]
    for turn in range(turns):
        messages += [assistant("noted " * words), user("again " * words + str(turn))]
    fact = employee(asked_at=None)
    fields = {"messages": tuple(messages), "facts": (fact,) if facts is None else facts}
    return session(**{"name": "long", "tools": (), **fields, **changes})


class Compacts:
    """Behaves well: keeps a summary and the newest messages, and gives up on a bad summary."""

    def __init__(self):
        self.summary, self.upto, self.not_before = None, 1, 0

    def head(self, messages, summary):
        return [messages[0], *([user(SUMMARY + summary)] if summary else [])]

    def __call__(self, messages, budget, *, count, summarise):
        request = [*self.head(messages, self.summary), *messages[self.upto :]]
        if count(request) <= budget or len(messages) < self.not_before:
            return request
        cut = next(i for i in range(self.upto, len(messages)) if count(messages[i:]) < budget // 2)
        shown = self.head(messages, self.summary)[1:] + list(messages[self.upto : cut])
        try:
            text = self.ask(summarise, shown)
        except Exception:
            text = None
        smaller = [*self.head(messages, text), *messages[cut:]]
        if not text or count(smaller) >= count(request):
            self.not_before = 2 * len(messages)
            return request
        self.summary, self.upto = text, cut
        return smaller

    def ask(self, summarise, shown):
        return summarise(shown)


class CompactsAsync(Compacts):
    """The same, async."""

    async def __call__(self, messages, budget, *, count, summarise):
        got = []

        def known(shown):
            return got[0]

        def note(shown):
            got.append(shown)
            raise RuntimeError("not yet")

        before = self.not_before
        request = super().__call__(messages, budget, count=count, summarise=note)
        if not got:
            return request
        self.not_before = before
        try:
            got[0] = await summarise(got[0])
        except Exception:
            got[0] = None
        return super().__call__(messages, budget, count=count, summarise=known)


def newest(messages, budget, count):
    """Return where the newest messages begin that fill half of a budget."""
    return next(i for i in range(1, len(messages)) if count(messages[i:]) < budget // 2)
