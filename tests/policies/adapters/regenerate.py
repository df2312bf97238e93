"""Make the contract vectors of frameworks: ``python -m tests.policies.adapters.regenerate NAME…``.

Each framework runs in an environment of its own (``nox -s adapters -- NAME``); a run prints what
our code says of each case, so that the expectation in ``cases_NAME.py`` is compared by eye first.
"""

import sys
from dataclasses import asdict

from tests.policies.adapters.contracts import framework, judge, render, run_case, vectors_path


def main(chosen):
    """Write the vectors of each framework named; return 1 if a verdict is not the expected one."""
    wrong = 0
    for name in chosen:
        cases = framework(name)
        if cases.versions() is None:
            sys.exit(f"{name}: install {', '.join(cases.packages)}")
        for case in cases.cases:
            requests, shown = run_case(case)
            verdict, expected = asdict(judge(case, requests)), asdict(case.expect)
            differ = {k: (expected[k], v) for k, v in verdict.items() if v != expected[k]}
            wrong += bool(differ)
            said = ", ".join(f"{key}={value}" for key, value in verdict.items() if value)
            note = f"  EXPECTED {differ}" if differ else ""
            sys.stdout.write(f"{case.name}: {said}; summariser called {len(shown)}{note}\n")
            first = next((r for r in requests if isinstance(r, Exception)), None)
            if first is not None:
                sys.stdout.write(f"    {type(first).__name__}: {first}\n")
        if not wrong:
            vectors_path(name).write_text(render(cases), encoding="utf-8")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
