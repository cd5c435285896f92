"""Draws per second: exact and secure, against NumPy's non-secure generators and the peers, in one run.

Ours and NumPy's are counted in processor time, so that what else the machine does weighs on neither.
"""

import subprocess
import sys
import time
from fractions import Fraction

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks.peer import ask
from discreet.mechanisms.exponential import Exponential
from discreet.mechanisms.gaussian import Gaussian
from discreet.mechanisms.geometric import Geometric
from discreet.mechanisms.laplace import Laplace
from discreet.mechanisms.permute_and_flip import PermuteAndFlip
from discreet.mechanisms.staircase import Staircase

DRAWS = 4_000_000
REPEATS = 5


def rate(draw, count: int = DRAWS) -> float:
    """The best of a few passes: what the code can do when the machine lets it."""
    best = float("inf")
    draw(count)
    for _ in range(REPEATS):
        start = time.process_time()
        draw(count)
        best = min(best, time.process_time() - start)
    return count / best


def millions(value: float | None) -> str:
    return "-" if value is None else f"{value / 1e6:,.2f} M/s"


def ratio(ours: float, theirs: float | None) -> str:
    return "" if theirs is None else f"{ours / theirs:,.1f}x"


def main() -> None:
    peers = ask("sampler")
    generator = np.random.default_rng()
    shown = Table(title="draws per second, one core")
    for column in (
        "law",
        "scale",
        "discreet",
        "NumPy (not secure)",
        "ratio",
        "OpenDP",
        "ratio",
        "diffprivlib",
    ):
        shown.add_column(column, justify="right")
    for scale in (1, 10, 1000, 10**6, 10**9, 10**12, 10**15):
        law = Geometric.calibrate(epsilon=Fraction(1, scale))
        p = 1 - float(law.alpha)
        ours = rate(lambda n, law=law: law.sample(np.zeros(n, dtype=np.int64)))
        plain = rate(lambda n, p=p: generator.geometric(p, n) - generator.geometric(p, n))
        opendp, other = peers.get(f"OpenDP laplace {scale}"), peers.get(f"diffprivlib geometric {scale}")
        shown.add_row(
            "geometric", f"{scale:,}", millions(ours), millions(plain), ratio(ours, plain), millions(opendp),
            ratio(ours, opendp), millions(other),
        )  # fmt: skip
    for scale in (1, 10, 1000, 10**6, 10**9, 10**12, 10**15):
        bell = Gaussian(Fraction(scale) ** 2)
        ours = rate(lambda n, bell=bell: bell.sample(np.zeros(n, dtype=np.int64)), DRAWS // 2)
        plain = rate(lambda n, s=scale: np.rint(generator.normal(0, s, n)), DRAWS // 2)
        opendp = peers.get(f"OpenDP gaussian {scale}")
        shown.add_row(
            "gaussian", f"{scale:,}", millions(ours), millions(plain), ratio(ours, plain), millions(opendp),
            ratio(ours, opendp), "",
        )  # fmt: skip
    for scale in (1, 10, 1000, 10**6, 10**9, 10**12, 10**15, 10**18):
        noise = Laplace.calibrate(epsilon=Fraction(1, scale))
        ours = rate(lambda n, noise=noise: noise.sample(np.zeros(n)), DRAWS // 2)
        plain = rate(lambda n, s=scale: generator.laplace(0, s, n), DRAWS // 2)
        shown.add_row(
            "Laplace, floats", f"{scale:,}", millions(ours), millions(plain), ratio(ours, plain), "", "", ""
        )
    console = Console(width=150)
    console.print(shown)
    for name, law, value in (
        ("geometric 0.1", Geometric.calibrate(epsilon="0.1"), 0),
        ("Gaussian 10", Gaussian(Fraction(100)), 0),
        ("Gaussian 1,000,000", Gaussian(Fraction(10**12)), 0),
        ("Laplace 1", Laplace.calibrate(epsilon=1), 0.5),
        ("Laplace 10^12", Laplace.calibrate(epsilon="1e-12"), 0.5),
        ("Staircase 1,000", Staircase.calibrate(epsilon=1, sensitivity=1000), 0),
    ):
        scalar = 1e6 / rate(lambda n, law=law, value=value: [law.sample(value) for _ in range(n)], 5_000)
        theirs = peers.get("OpenDP scalar us") if law.__class__ is Geometric else None
        beside = f" (OpenDP {theirs:.1f} us)" if theirs else ""
        console.print(f"one draw, {name}: {scalar:.1f} us" + beside)
    console.print(selections())
    console.print(f"import discreet: {import_seconds():.3f} s")


def selections() -> Table:
    """Selections for many rows at once against one call for each row."""
    shown = Table(title="selections per second, one core")
    for column in ("mechanism", "rows", "candidates", "one by one", "together", "ratio"):
        shown.add_column(column, justify="right")
    generator = np.random.default_rng()
    for mechanism in (Exponential.calibrate(epsilon=1), PermuteAndFlip.calibrate(epsilon=1)):
        for rows, candidates in ((20_000, 5), (20_000, 20), (2_000, 200)):
            scores = generator.integers(0, 50, (rows, candidates))
            few = scores[:500]
            alone = rate(lambda n, few=few, m=mechanism: [m.sample(row) for row in few], len(few))
            together = rate(lambda n, scores=scores, m=mechanism: m.sample_each(scores), rows)
            name = type(mechanism).__name__
            shown.add_row(
                name,
                f"{rows:,}",
                f"{candidates}",
                f"{alone:,.0f}",
                f"{together:,.0f}",
                ratio(together, alone),
            )
    return shown


def import_seconds() -> float:
    """The best of a few fresh interpreters, less the time an empty one takes."""

    def fresh(code: str) -> float:
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", code], check=True)
        return time.perf_counter() - start

    return min(fresh("import discreet") for _ in range(5)) - min(fresh("pass") for _ in range(5))


if __name__ == "__main__":
    main()
