"""Time per program: the search, the independent check, and the verdict, for every example.

The last lines compare with what two tools publish in their abstracts: ShadowDP (PLDI 2019) verifies each of
its programs within 3 seconds, CheckDP (CCS 2020) decides each of its own, right or wrong, within 70 seconds.
"""

import time
from pathlib import Path

from discreet.verify import Proved, Refuted, check_certificate, verify

ROOT = Path(__file__).parents[1]
CORPUS = [
    ROOT / "tests" / "verify" / "corpus" / f"{name}.dp" for name in ("above_threshold", "bad_adaptive_svt")
]
PROGRAMS = [*sorted((ROOT / "examples" / "programs").glob("*.dp")), *CORPUS]
SHADOWDP = [
    "noisy_max",
    "above_threshold",
    "svt",
    "num_svt",
    "gap_svt",
    "partial_sum",
    "prefix_sum",
    "smart_sum",
]
CHECKDP = [*SHADOWDP, *["svt_monotone", "adaptive_svt", "noisy_max_value", "svt_without_query_noise"]]
CHECKDP += ["svt_without_cutoff", "svt_too_little_noise", "bad_gap_svt", "bad_adaptive_svt"]
CHECKDP += ["bad_smart_sum", "bad_partial_sum"]


def main() -> None:
    print(f"{'program':<30} {'stated':<9} {'verdict':<9} {'seconds':>8} {'cpu':>7} {'check':>7}  detail")
    spent: dict[str, float] = {}
    proved: dict[str, float] = {}
    wrong = 0
    for path in PROGRAMS:
        text = path.read_text()
        stated = text.splitlines()[0].removeprefix("# verdict: ")
        start, cpu = time.perf_counter(), time.process_time()
        verdict = verify(text)
        seconds, used = time.perf_counter() - start, time.process_time() - cpu
        spent[path.stem] = used
        name = type(verdict).__name__.lower()
        checking = ""
        match verdict:
            case Proved(certificate):
                proved[path.stem] = used
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
    total = sum(spent.values())
    print(f"{len(PROGRAMS)} programs, {wrong} unexpected verdicts, {total:.1f} s of processor time")
    print(f"slowest proof: {max(proved.values()):.2f} s ({max(proved, key=proved.__getitem__)}); 2 s asked")
    for tool, names, published in (("ShadowDP", SHADOWDP, 3), ("CheckDP", CHECKDP, 70)):
        slowest = max(names, key=spent.__getitem__)
        print(f"{tool}'s {len(names)}: at most {spent[slowest]:.2f} s here ({slowest}), {published} s there")


if __name__ == "__main__":
    main()
