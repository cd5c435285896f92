"""Time per program: the search, the independent check, and the verdict, for every example."""

import time
from pathlib import Path

from discreet.verify import Proved, Refuted, check_certificate, verify

PROGRAMS = sorted((Path(__file__).parents[1] / "examples" / "programs").glob("*.dp"))


def main() -> None:
    print(f"{'program':<30} {'stated':<9} {'verdict':<9} {'seconds':>8} {'cpu':>7} {'check':>7}  detail")
    total = 0.0
    wrong = 0
    for path in PROGRAMS:
        text = path.read_text()
        stated = text.splitlines()[0].removeprefix("# verdict: ")
        start, cpu = time.perf_counter(), time.process_time()
        verdict = verify(text)
        seconds, used = time.perf_counter() - start, time.process_time() - cpu
        total += used
        name = type(verdict).__name__.lower()
        checking = ""
        match verdict:
            case Proved(certificate):
                start = time.process_time()
                accepted = check_certificate(text, certificate)
                checking = f"{time.process_time() - start:.2f}"
                detail = f"{accepted.claim}; {accepted.obligations} obligations"
            case Refuted(witness):
                detail = f"loss {witness.loss:.4g} against {float(witness.epsilon):g} ({witness.method})"
            case other:
                detail = other.reason[:60]
        wrong += name != stated
        print(f"{path.stem:<30} {stated:<9} {name:<9} {seconds:>8.2f} {used:>7.2f} {checking:>7}  {detail}")
    print(f"{len(PROGRAMS)} programs, {wrong} unexpected verdicts, {total:.1f} s of processor time")


if __name__ == "__main__":
    main()
