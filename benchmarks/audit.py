"""Audits against DP-Sniper's published table, and the audit's own speed and false alarms.

The published bounds (Bichsel, Steffen, Bogunovic, Vechev, IEEE S&P 2021, reference results of the
released tool) are at 90 % confidence with 10.7 million samples for each of three training steps and 200
million for the final bound, per input.  Ours are at 90 % too, with the number of runs per input in the
table: never more than a twentieth of theirs.  Both inputs are given here; theirs were searched.

    python -m benchmarks.audit            the table (several minutes on one core)
    python -m benchmarks.audit NAME ...   some rows
"""

import sys
import time
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from rich.console import Console
from rich.table import Table

from discreet.audit import audit
from discreet.audit import specimens as sp
from discreet.mechanisms.geometric import Geometric
from discreet.mechanisms.laplace import Laplace
from discreet.mechanisms.truncated_geometric import TruncatedGeometric

THEIRS = 3 * 10_700_000 + 200_000_000
EPSILON = 0.1
FLAT5, FLAT10 = (0,) * 5, (0,) * 10
LATE = (*(-1,) * 9, 1)
HALVES = (*(1,) * 5, *(-1,) * 5)


@dataclass(frozen=True)
class Case:
    name: str
    subject: Any
    left: Any
    right: Any
    published: float
    seconds: int
    truth: str
    runs: int
    batched: bool = True


def bloom(first: int) -> tuple[int, ...]:
    """Return a filter of 20 bits in which four are set."""
    return tuple(int(first <= place < first + 4) for place in range(20))


E = EPSILON
CASES = (
    Case("Laplace", Laplace.calibrate(epsilon="0.1"), 0.0, 1.0, 0.098, 21, ".1", 10_000_000, batched=False),
    Case(
        "TruncatedGeometric",
        TruncatedGeometric(Fraction(8, 9), 0, 5),
        2,
        3,
        0.116,
        19,
        ".118",
        10_000_000,
        batched=False,
    ),
    Case("NoisyHist1", sp.histogram(1 / E), FLAT5, (1, 0, 0, 0, 0), 0.098, 38, ".1", 10_000_000),
    Case("NoisyHist2", sp.histogram(E), FLAT5, (1, 0, 0, 0, 0), 4.602, 41, "10", 200_000),
    Case("RNM1", sp.noisy_max(E), (-10, 0, 0, 0, 0), (-11, 1, 1, 1, 1), 0.093, 62, ".1", 11_000_000),
    Case("RNM2", sp.noisy_max(E, one_sided=True), FLAT5, (1, -1, -1, -1, -1), 0.098, 58, ".1", 11_000_000),
    Case("RNM3", sp.noisy_max(E, value=True), FLAT5, (-1,) * 5, 0.249, 62, ".25", 11_000_000),
    Case("RNM4", sp.noisy_max(E, value=True, one_sided=True), FLAT5, (1,) * 5, 0.353, 63, "inf", 1_000_000),
    Case("SVT1", sp.sparse_vector(1, E, 1, 0.5), FLAT10, LATE, 0.086, 126, ".1", 11_000_000),
    Case("SVT2", sp.sparse_vector(2, E), FLAT10, LATE, 0.086, 160, ".1", 11_000_000),
    Case("SVT3", sp.sparse_vector(3, E), FLAT10, LATE, 0.182, 160, "inf", 11_000_000),
    Case("SVT4", sp.sparse_vector(4, E), FLAT10, LATE, 0.170, 130, ".175", 11_000_000),
    Case("SVT5", sp.sparse_vector(5, E), FLAT10, (-1, *(1,) * 9), 1.761, 59, "inf", 200_000),
    Case("SVT6", sp.sparse_vector(6, E), FLAT10, HALVES, 0.272, 96, "inf", 4_000_000),
    Case("NumSVT", sp.numeric_sparse_vector(E), FLAT10, LATE, 0.035, 152, ".1", 11_000_000),
    Case("PrefixSum", sp.prefix_sums(1 / E), FLAT10, (1,) * 10, 0.577, 97, "1", 1_000_000),
    Case("LaplaceParallel", sp.parallel_laplace(20, 0.005), 0, 1, 0.035, 104, ".1", 8_000_000),
    Case(
        "SVT34Parallel",
        sp.both(sp.sparse_vector(3, E, 2), sp.sparse_vector(4, E, 2)),
        FLAT10,
        HALVES,
        0.262,
        364,
        "inf",
        8_000_000,
    ),
    Case("OneTimeRAPPOR", sp.rappor(0.525, 0.475), bloom(0), bloom(4), 0.600, 89, ".8", 2_000_000),
    Case("RAPPOR", sp.rappor(0.5125, 0.4875), bloom(0), bloom(4), 0.301, 145, ".4", 4_000_000),
    Case("float Laplace", sp.float_laplace(E), 0.0, 1.0, 0.252, 2125, "inf", 20_000),
)
"""Published: the better of their two learners; seconds: of the quicker one, on their machine."""


def published(names: list[str]) -> Table:
    """Return our bounds beside the published ones."""
    table = Table(
        "mechanism",
        "true",
        "published",
        "theirs, s",
        "ours",
        "ours, cpu s",
        "runs per input",
        "share of theirs",
        title="Lower bounds at 90 %",
    )
    for case in CASES:
        if names and case.name not in names:
            continue
        start = time.process_time()
        verdict = audit(
            case.subject,
            case.left,
            case.right,
            epsilon="0.1",
            runs=case.runs,
            confidence="0.9",
            batched=case.batched,
        )
        took = time.process_time() - start
        table.add_row(
            case.name,
            case.truth,
            f"{case.published:.3f}",
            str(case.seconds),
            f"{verdict.epsilon_lower:.3f}",
            f"{took:.1f}",
            f"{case.runs:,}",
            f"1/{THEIRS / case.runs:.0f}",
        )
        Console().print(f"[dim]{case.name}: {verdict.epsilon_lower:.4f} in {took:.1f} s[/dim]")
    return table


def by_runs() -> Table:
    """Return how the bound for Laplace noise of epsilon 1 grows with the number of runs."""
    laplace = Laplace.calibrate(epsilon=1)
    table = Table(
        "runs per input", "median bound of 9 at 95 %", "cpu s per audit", title="Laplace, epsilon 1"
    )
    for runs in (1_000, 2_000, 20_000, 200_000, 2_000_000):
        start = time.process_time()
        bounds = sorted(audit(laplace, 0.0, 1.0, epsilon=1, runs=runs).epsilon_lower for _ in range(9))
        table.add_row(f"{runs:,}", f"{bounds[4]:.3f}", f"{(time.process_time() - start) / 9:.2f}")
    return table


def speed() -> Table:
    """Return how long ten million runs per input take."""
    table = Table("claim", "truth", "verdict", "bound", "cpu s", title="Ten million runs per input")
    for truth in ("1", "1.02", "1.1"):
        start = time.process_time()
        verdict = audit(Geometric.calibrate(epsilon=truth), 0, 1, epsilon=1, runs=10_000_000)
        word = "VIOLATED" if verdict.violated else "consistent"
        took = time.process_time() - start
        table.add_row("epsilon 1", truth, word, f"{verdict.epsilon_lower:.4f}", f"{took:.2f}")
    return table


def main() -> None:
    console = Console()
    known = {case.name for case in CASES}
    names = [name for name in sys.argv[1:] if name in known]
    if not names:
        console.print(by_runs())
        console.print(speed())
    console.print(published(names))


if __name__ == "__main__":
    main()
