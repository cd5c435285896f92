"""`make mutants`: plant every fault, one at a time, and demand that the tests it names fail.

Each fault is planted in a copy of the sources; the tests run against that copy in a process of their own.
First the same tests are run on the sound sources, because a test that fails anyway notices nothing.  A fault
that something stands in the way of names the tests that must pass all the same; otherwise it has escaped.
"""

import argparse
import os
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from enum import StrEnum
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

from tests.mutants.fault import ROOT, Fault
from tests.mutants.planting import planted
from tests.mutants.trial import run

SECONDS = 300
"""A fault that makes its tests hang is noticed too: they would not end in a build either."""

PATIENCE = 3600
"""All guards together may take this long on the sound sources."""


def rooms() -> dict[str, tuple[Fault, ...]]:
    """Return the faults of every module beside this one that lists some, by the module's name."""
    found = {}
    for module in iter_modules([str(Path(__file__).parent)]):
        faults = getattr(import_module(f"tests.mutants.{module.name}"), "FAULTS", None)
        if faults is not None:
            found[module.name] = faults
    return found


class Fate(StrEnum):
    """What became of a fault."""

    KILLED = "killed"
    SURVIVED = "SURVIVED"
    ESCAPED = "ESCAPED"


def fate(fault: Fault) -> tuple[Fate, str]:
    """Return whether the tests notice a fault, and the first that fails."""
    with planted(fault) as source:
        passed, first = run(source, fault.tests, SECONDS)
        kept, broken = (True, "") if passed or not fault.passing else run(source, fault.passing, SECONDS)
    if not kept:
        return Fate.ESCAPED, broken
    return (Fate.SURVIVED, "") if passed else (Fate.KILLED, first)


def _fates(faults: Sequence[Fault], jobs: int) -> Iterator[tuple[Fault, tuple[Fate, str]]]:
    with ThreadPoolExecutor(jobs) as pool:
        yield from zip(faults, pool.map(fate, faults), strict=True)


def main() -> int:
    """Plant the chosen faults and print the table; the exit status is 1 if any survives or escapes."""
    parser = argparse.ArgumentParser(prog="make mutants", description=__doc__)
    parser.add_argument("rooms", nargs="*", help="modules of tests/mutants (default: all)")
    parser.add_argument("--containing", default="", help="only faults whose file or reason contains this")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    arguments = parser.parse_args()
    listed = rooms()
    unknown = set(arguments.rooms) - set(listed)
    if unknown:
        parser.error(f"no such room: {', '.join(sorted(unknown))}; there are {', '.join(sorted(listed))}")
    chosen = [
        fault
        for room in arguments.rooms or sorted(listed)
        for fault in listed[room]
        if arguments.containing in fault.name
    ]
    wrong = [reason for fault in chosen if (reason := fault.wrong()) is not None]
    if wrong:
        print(*wrong, sep="\n")
        return 2
    began = time.monotonic()
    guards = sorted({test for fault in chosen for test in (*fault.tests, *fault.passing)})
    _, ended = run(ROOT / "src", guards, PATIENCE)
    if ended != "exit status 0":
        print(f"the tests fail on the sound sources: {ended}")
        return 2
    left: list[tuple[Fate, Fault]] = []
    for number, (fault, (found, by)) in enumerate(_fates(chosen, arguments.jobs), 1):
        print(f"{number:4} {found:8} {fault.name}\n              {by}", flush=True)
        if found is not Fate.KILLED:
            left.append((found, fault))
    minutes = (time.monotonic() - began) / 60
    counted = {kind: sum(found is kind for found, _ in left) for kind in (Fate.SURVIVED, Fate.ESCAPED)}
    print(f"planted {len(chosen)}, killed {len(chosen) - len(left)}", end="")
    print(*(f", {kind.lower()} {count}" for kind, count in counted.items()), sep="", end="")
    print(f", in {minutes:.1f} minutes")
    for found, fault in left:
        print(f"{found} {fault.name}")
    return 1 if left else 0


if __name__ == "__main__":
    sys.exit(main())
