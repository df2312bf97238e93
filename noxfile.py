"""Sessions that need environments of their own: pytest 8 and 9, a framework, another's server."""

from pathlib import Path

import nox

ADAPTERS = Path("tests/policies/adapters")
FRAMEWORKS = sorted(path.stem for path in (ADAPTERS / "requirements").glob("*.txt"))


@nox.session(default=False)
def pytest8(session: nox.Session) -> None:
    """Test the plugin under pytest 8, without the model."""
    _test_plugin(session, "pytest>=8,<9")


@nox.session(default=False)
def pytest9(session: nox.Session) -> None:
    """Test the plugin under pytest 9, without the model."""
    _test_plugin(session, "pytest>=9,<10")


def _test_plugin(session: nox.Session, host: str) -> None:
    session.install("-e", ".[dev]", host)
    tests = session.posargs or ["-n2", "tests/plugin"]
    session.run("pytest", "-q", "-m", "not model", *tests)


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


@nox.session(default=False)
def endpoint(session: nox.Session) -> None:
    """Test the endpoint backend against llama-cpp-python's server, compiled when installed."""
    session.install("llama-cpp-python[server]>=0.3.36", "-e", ".", "hypothesis>=6.100")
    session.run("pytest", "-m", "endpoint", "tests/endpoint", env={"CTXGUARD_ENDPOINT_TEST": "1"})
