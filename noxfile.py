"""Sessions that need environments of their own: the adapters, each on its pinned framework."""

from pathlib import Path

import nox

ADAPTERS = Path("tests/policies/adapters")
FRAMEWORKS = sorted(path.stem for path in (ADAPTERS / "requirements").glob("*.txt"))


@nox.session(python=False)
def adapters(session: nox.Session) -> None:
    """Test the adapters named after ``--``, or all of them."""
    for framework in session.posargs or FRAMEWORKS:
        session.notify(f"adapter({framework})", posargs=())


@nox.session(default=False)
@nox.parametrize("framework", FRAMEWORKS, ids=FRAMEWORKS)
def adapter(session: nox.Session, framework: str) -> None:
    """Test one adapter: its vectors, made again and compared; its properties; its examples."""
    session.install(
        "-r", f"{ADAPTERS}/requirements/{framework}.txt", "-e", ".", "hypothesis>=6.100"
    )
    session.run(
        "pytest",
        str(ADAPTERS),
        "-k",
        framework,
        env={"CTXGUARD_ADAPTER": framework},
    )
    session.run(
        "pytest",
        "--ctxguard",
        "--ctxguard-tier=structure",
        f"examples/frameworks/test_{framework}.py",
    )
