"""Tests run against one copy of the sources, in a process of its own that has loaded the libraries before.

The processes are forked from one that holds what every test needs and nothing of the package itself: a fault
is tried in half of the time.
"""

import os
import signal
import sys
import tempfile
from collections.abc import Sequence
from multiprocessing import get_context
from pathlib import Path

import pytest
from tests.mutants.fault import ROOT

LIBRARIES = (
    *("hypothesis.extra.numpy", "numpy", "pandas", "pytest", "_pytest.assertion.rewrite", "pytest_timeout"),
    *(
        "duckdb",
        "flint",
        "polars",
        "pyarrow",
        "rich",
        "scipy.stats",
        "sqlglot",
        "typer",
        "xdist.plugin",
        "z3",
    ),
)
"""What is loaded once; a library that is missing is loaded by nobody."""

_processes = get_context("forkserver")
_processes.set_forkserver_preload([*LIBRARIES])


def run(source: Path, tests: Sequence[str], seconds: int) -> tuple[bool, str]:
    """Run tests against the package in `source`; return whether all passed, and the first failure's name.

    Tests of which none is run, because they belong to the long searches, notice nothing.
    """
    with tempfile.NamedTemporaryFile("r", encoding="utf-8", errors="replace") as said:
        trial = _processes.Process(target=_trial, args=(str(source), [*tests], said.name))
        trial.start()
        trial.join(seconds)
        if trial.is_alive():
            # What the tests started ends with them.
            os.killpg(trial.pid or 0, signal.SIGKILL)
            trial.join()
            return False, "did not end"
        named = [line for line in said.read().splitlines() if line.startswith(("FAILED ", "ERROR "))]
    if named:
        return False, named[0].split(" - ")[0]
    # A process that could not begin has tested nothing; one that broke down has told so to everybody.
    return (trial.exitcode or 0) >= 0, f"exit status {trial.exitcode}"


def _trial(source: str, tests: list[str], said: str) -> None:
    os.setsid()
    with open(said, "w", encoding="utf-8") as out:
        os.dup2(out.fileno(), 1)
        os.dup2(out.fileno(), 2)
    os.chdir(ROOT)
    # Properties try the same examples each time, so that a fault is noticed always or never.
    os.environ |= {"PYTHONPATH": source, "PYTHONDONTWRITEBYTECODE": "1", "CI": "true"}
    sys.dont_write_bytecode = True
    sys.path.insert(0, source)
    loaded = [name for name in sys.modules if name.partition(".")[0] == "discreet"]
    if loaded:
        raise SystemError(f"the sound sources are loaded already: {', '.join(loaded)}")
    # Plugins that are loaded already assert nothing themselves.
    loaded_before = "ignore::pytest.PytestAssertRewriteWarning"
    options = ("-q", "-x", "--no-header", "--tb=no", "-p", "no:cacheprovider", "-W", loaded_before)
    status = pytest.main([*options, "-o", f"pythonpath={source} . docs/_ext", *tests])
    sys.stdout.flush()
    # Neither what a test left running nor how libraries end decides anything.
    os._exit(int(status))
