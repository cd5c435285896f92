"""`make mutants`: plant every fault, one at a time, and demand that the tests it names fail.

Each fault is planted in a copy of the sources; the tests run against that copy in a process of their own.
First the same tests are run on the sound sources, because a test that fails anyway notices nothing.  A fault
that something stands in the way of names the tests that must pass all the same; otherwise it has escaped.

Without a word the faults of the sources that every answer and every payment rests on are planted, within half
an hour on two cores; `all` plants those of every room.
"""

import argparse
import os
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
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

FOUNDATION = ("exact/", "privacy/", "mechanisms/", "ledger/", "release/")
"""Sources that every answer rests on, whichever room lists their faults."""

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


def chosen(names: Sequence[str], containing: str, listed: Mapping[str, tuple[Fault, ...]]) -> list[Fault]:
    """Return the faults of the rooms named, of `all` of them, or of the foundation if none is."""
    among = [room for room in sorted(listed) if not names or "all" in names or room in names]
    faults = [fault for room in among for fault in listed[room] if containing in fault.name]
    return faults if names else [fault for fault in faults if fault.file.startswith(FOUNDATION)]


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
    parser.add_argument("rooms", nargs="*", help="modules of tests/mutants, or all")
    parser.add_argument("--containing", default="", help="only faults whose file or reason contains this")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    arguments = parser.parse_args()
    listed = rooms()
    unknown = set(arguments.rooms) - {*listed, "all"}
    if unknown:
        parser.error(f"no such room: {', '.join(sorted(unknown))}; there are {', '.join(sorted(listed))}")
    faults = chosen(arguments.rooms, arguments.containing, listed)
    wrong = [reason for fault in faults if (reason := fault.wrong()) is not None]
    if wrong:
        print(*wrong, sep="\n")
        return 2
    began = time.monotonic()
    guards = sorted({test for fault in faults for test in (*fault.tests, *fault.passing)})
    _, ended = run(ROOT / "src", guards, PATIENCE)
    if ended != "exit status 0":
        print(f"the tests fail on the sound sources: {ended}")
        return 2
    left: list[tuple[Fate, Fault]] = []
    for number, (fault, (found, by)) in enumerate(_fates(faults, arguments.jobs), 1):
        print(f"{number:4} {found:8} {fault.name}\n              {by}", flush=True)
        if found is not Fate.KILLED:
            left.append((found, fault))
    minutes = (time.monotonic() - began) / 60
    counted = {kind: sum(found is kind for found, _ in left) for kind in (Fate.SURVIVED, Fate.ESCAPED)}
    print(f"planted {len(faults)}, killed {len(faults) - len(left)}", end="")
    print(*(f", {kind.lower()} {count}" for kind, count in counted.items()), sep="", end="")
    print(f", in {minutes:.1f} minutes")
    for found, fault in left:
        print(f"{found} {fault.name}")
    return 1 if left else 0


if __name__ == "__main__":
    sys.exit(main())
