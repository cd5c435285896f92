"""`python -m tests.query.gate [TEXT]`: who stops each fault of `tests.mutants.walk`, and was that needed.

A fault is *caught* when the checker refuses a question because of it; beside it stands whether two neighbours
would break such a question, were it run all the same.  It is *harmless* when everything is accepted and kept,
and has *escaped* when a question is accepted and broken.  Only questions that a fault changes are run.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from tests.mutants.fault import ROOT, Fault
from tests.mutants.planting import planted
from tests.mutants.walk import FAULTS

SHOWN = 40
"""How many refused questions are run to see a violation."""


def main(text: str) -> int:
    """Print who stops each fault; the exit status is 1 if one has escaped."""
    chosen = [fault for fault in FAULTS if text in fault.name]
    with tempfile.TemporaryDirectory() as folder:
        sound = Path(folder) / "sound.json"
        sound.write_text(_run(ROOT / "src", None), encoding="utf-8")
        counted: Counter[str] = Counter()
        for fault, (verdict, why) in _verdicts(chosen, sound):
            counted[verdict] += 1
            print(f"{verdict:22} {fault.name}\n{'':22} {why[:300]}", flush=True)
    print(", ".join(f"{verdict}: {count}" for verdict, count in sorted(counted.items())))
    return 1 if counted["ESCAPED"] else 0


def _verdicts(faults: list[Fault], sound: Path) -> Iterator[tuple[Fault, tuple[str, str]]]:
    for fault in faults:
        with planted(fault) as source:
            verdict, why = json.loads(_run(source, sound))
        yield fault, (verdict, why)


def _run(source: Path, sound: Path | None) -> str:
    command = [sys.executable, "-m", "tests.query.gate", "--here", *([] if sound is None else [str(sound)])]
    path = os.pathsep.join((str(source), str(ROOT)))
    environment = {**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    return done.stdout or json.dumps(("crashed", done.stderr[-300:]))


def here(sound: dict[str, str] | None) -> object:
    """Classify the sources that this process runs; without what sound ones do, return what these do."""
    from tests.query.gate.questions import HOSTILE, QUESTIONS
    from tests.query.gate.walk import Verdict, broken, same, walk

    if sound is None:
        return {str(asked): same(priced) for asked in QUESTIONS if (priced := walk(asked)[1]) is not None}
    refused, stopped = [], ""
    for asked in (*QUESTIONS, *HOSTILE):
        verdict, priced, why = walk(asked)
        if verdict is Verdict.REFUSED:
            refused.append((asked, priced, why))
        elif priced is None:
            stopped = stopped or (f"{asked}: {verdict}: {why}" if asked in QUESTIONS else "")
        elif same(priced) != sound.get(str(asked)):
            wrong = broken(asked, priced)
            if wrong is not None:
                return "ESCAPED", f"{asked}: {wrong}"
    for asked, priced, why in refused[:SHOWN]:
        wrong = None if priced is None else broken(asked, priced)
        if wrong is not None:
            return "caught, shown", f"{len(refused)} refused; {why}; {asked}: {wrong}"
    if refused:
        return "caught, not shown", f"{len(refused)} refused; {refused[0][2]}; {refused[0][0]}"
    return ("stopped before", stopped) if stopped else ("harmless", "")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--here"]:
        held = json.loads(Path(sys.argv[2]).read_text(encoding="utf-8")) if sys.argv[2:] else None
        print(json.dumps(here(held)))
    else:
        sys.exit(main(" ".join(sys.argv[1:])))
