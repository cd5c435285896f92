"""Workloads: every error forecast, measured and compared with the baselines, in one run.

Run with `python -m benchmarks.workload [section ...]`: table, sql, ranges, marginals, streams, real,
adaptive, large.
Timings are processor seconds; with OPENBLAS_NUM_THREADS=1 they are what an idle core needs.
"""

import os
import sys
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from math import sqrt
from pathlib import Path
from time import process_time

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from discreet.privacy.adjacency import Adjacency
from discreet.privacy.guarantee import Concentrated, Pure
from discreet.workload.adaptive import AdaptivePlan, MeasuredSums
from discreet.workload.certified import lower_bound
from discreet.workload.dummy import EachItem, EachPrefix
from discreet.workload.forecast import error, unit_error
from discreet.workload.linear import AllRange, Marginals, Prefix
from discreet.workload.marginal import plan_marginals
from discreet.workload.noise import spread
from discreet.workload.optimise import certified_optimum, optimised
from discreet.workload.pidentity import error_and_gradient
from discreet.workload.plan import plan
from discreet.workload.reconcile import MeasuredStrategy, nearest_nonnegative, reconcile
from discreet.workload.root import (
    BLOCKS_PER_SIZE,
    DyadicBlock,
    coefficients,
    column_weights,
    line,
    longest_column,
    merged,
)
from discreet.workload.strategy import Hierarchy, Wavelet, identity, rounded, sensitivity
from discreet.workload.table import answer_marginals, measure_marginals, tabulate
from discreet.workload.tree import TreeCounter

UNIT = Concentrated(Fraction(1, 2))
PURE = Pure(Fraction(1))
DATA = Path(os.environ.get("DISCREET_BENCHMARK_DATA", "data"))
ADULT_SIZES = (100, 100, 100, 99, 85, 42, 16, 15, 9, 7, 6, 5, 2, 2)
console = Console(width=150)
Counts = NDArray[np.int64]


def _show(title: str, heads: list[str], rows: list[list[str]]) -> None:
    table = Table(title=title, title_justify="left")
    for k, head in enumerate(heads):
        table.add_column(head, justify="left" if k == 0 else "right")
    for row in rows:
        table.add_row(*row)
    console.print(table)


def _laplace(workload, strategy) -> float:
    """Mean squared error with continuous Laplace noise at epsilon 1, as the papers report it."""
    return (
        2
        * float(sensitivity(strategy, Adjacency.ADD_REMOVE).l1) ** 2
        * unit_error(workload, strategy)
        / workload.queries
    )


def _random_start(workload, extra: int, steps: int = 250) -> float:
    """The same template descended from a random start, as the reference implementation does."""
    from scipy.optimize import minimize

    cells = workload.cells
    diagonal = np.diagonal(workload.gram()).copy()

    def descend(flat):
        value, slope = error_and_gradient(flat.reshape(extra, cells), workload.gram_apply, diagonal)
        return value, slope.reshape(-1)

    start = np.random.default_rng(0).random(extra * cells)
    bounds = [(0, None)] * start.size
    found = minimize(descend, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": steps})
    return 2 * found.fun / workload.queries


def ranges() -> None:
    """One ordered domain: pure at epsilon 1, and Gaussian at unit l2."""
    rows = []
    for cells in (256, 1024):
        for workload in (AllRange(cells), Prefix(cells)):
            label = f"{type(workload).__name__} {cells}"
            for strategy in (
                identity(cells),
                Hierarchy(cells, 2),
                Hierarchy(cells, 4),
                Hierarchy(cells, 16),
                Hierarchy(cells, 16, rooted=False),
                Wavelet(cells),
            ):
                pure, bell = error(workload, strategy, PURE).mean, error(workload, strategy, UNIT).mean
                rows.append(
                    [
                        label,
                        strategy.name,
                        f"{_laplace(workload, strategy):.1f}",
                        f"{pure:.2f}",
                        f"{bell:.4f}",
                        "",
                    ]
                )
            began = process_time()
            baseline = _random_start(workload, cells // 16)
            rows.append(
                [
                    label,
                    "HDMM template, random start",
                    f"{baseline:.2f}",
                    "",
                    "",
                    f"{process_time() - began:.1f}",
                ]
            )
            began = process_time()
            found = optimised(workload, PURE)
            took = process_time() - began
            rows.append(
                [
                    label,
                    "[bold]optimised, integers",
                    f"{_laplace(workload, found):.2f}",
                    f"{error(workload, found, PURE).mean:.2f}",
                    "",
                    f"{took:.1f}",
                ]
            )
            began = process_time()
            best = certified_optimum(workload)
            took = process_time() - began
            real = error(workload, rounded("certified", best.matrix), UNIT).mean
            rows.append([label, "[bold]certified optimum, integers", "", "", f"{real:.5f}", f"{took:.1f}"])
            inside = f"[{best.lower / workload.queries:.5f}, {best.upper / workload.queries:.5f}]"
            rows.append([label, "  certificate: optimum within", "", "", inside.replace("[", "\\["), ""])
            bound = lower_bound(workload.gram()) / workload.queries
            rows.append([label, "  singular-value bound", f"{2 * bound:.1f}", "", f"{bound:.3f}", ""])
    _show(
        "mean squared error per query",
        ["workload", "strategy", "Laplace eps=1", "geometric eps=1", "Gaussian unit l2", "s"],
        rows,
    )


def large() -> None:
    """All ranges over 4096 cells, planned from nothing."""
    rows = []
    for guarantee in (UNIT, PURE):
        began = process_time()
        made = plan(AllRange(4096), guarantee, progress=lambda what: console.print(f"  {what}", style="dim"))
        took = process_time() - began
        lower = "" if made.lower is None else f"{made.lower / made.workload.queries:.3f}"
        names = "; ".join(f"{c.name} {c.error.mean:.3f}" for c in made.candidates)
        rows.append([type(guarantee).__name__, f"{made.error.mean:.3f}", lower, f"{took:.1f}", names])
    _show("all ranges over 4096 cells", ["guarantee", "mse", "lower bound", "s", "candidates"], rows)


def marginals() -> None:
    """Adult, all marginals up to order three: 21 million cells."""
    workload = Marginals.of_order(ADULT_SIZES, 0, 1, 2, 3)
    rows = []
    for guarantee in (UNIT, PURE):
        for adjacency in Adjacency:
            began = process_time()
            made = plan_marginals(workload, guarantee, adjacency)
            took = process_time() - began
            split = made.candidates[1][1].root
            rows.append(
                [type(guarantee).__name__, adjacency, f"{made.error.root:.4f}", f"{split:.4f}", f"{took:.3f}"]
            )
    title = f"marginals up to order 3 of 14 attributes, {workload.queries} cells"
    _show(title, ["guarantee", "adjacency", "root mse", "equal split", "s"], rows)
    records = _adult()
    began = process_time()
    made = plan_marginals(workload, UNIT)
    exact = tabulate(records, ADULT_SIZES, made.needs)
    counted = process_time()
    with console.status("measuring") as status:
        measured = measure_marginals(
            made, exact, progress=lambda i, n: status.update(f"measuring table {i} of {n}")
        )
    drawn = process_time()
    answers = answer_marginals(measured)
    square = sum(float(np.square(answers.table(a) - exact[a]).sum()) for a in made.needs)
    expected = sum(made.variance(a) * exact[a].size for a in made.needs)
    done = process_time()
    console.print(
        f"tabulate {counted - began:.1f} s, measure {drawn - counted:.1f} s, reconcile {done - drawn:.1f} s; "
        f"realised over predicted squared error {square / expected:.5f}"
    )


def _adult() -> np.ndarray:
    file = DATA / "adult.csv"
    if not file.exists():
        return np.column_stack([np.random.default_rng(0).integers(0, n, 48842) for n in ADULT_SIZES])
    columns = np.loadtxt(file, delimiter=",", skiprows=1, dtype=np.int64)
    order = np.argsort(-columns.max(axis=0), kind="stable")
    return columns[:, order]


def streams() -> None:
    """Continual counting: exact means, and the long stream simulated against a known control."""
    rows = []
    for power in (8, 10):
        length = 2**power
        mean, largest = _root_exactly(length)
        plain = _plain_root(length)
        rows.append([f"2^{power}", f"{plain:.3f}", f"{mean:.3f}", f"{largest:.3f}", _pure_row(length)])
    for power in (16, 20):
        length = 2**power
        rows.append([f"2^{power}", f"{_plain_root(length):.3f}", "", "", _pure_row(length)])
    _show(
        "continual counting: mean squared error",
        [
            "steps",
            "square root",
            "ours, Gaussian",
            "largest",
            "pure eps=1: ours / balanced binary / textbook binary / each item",
        ],
        rows,
    )
    for power, replicas in ((10, 512), (16, 128), (20, 64)):
        began = process_time()
        estimate, off, known = _root_simulated(2**power, replicas)
        console.print(
            f"2^{power} steps, {replicas} streams: Gaussian mse {estimate:.3f} +- {3 * off:.3f} "
            f"(3 sigma; the plain square root: {known:.3f} exactly), {process_time() - began:.0f} s"
        )
    began = process_time()
    counter = TreeCounter.calibrate(2**20, PURE)
    state = counter.start()
    square = 0
    for step in range(1, 2**20 + 1):
        state, answer = counter.step(state, 1)
        square += (answer - step) ** 2
    took = process_time() - began
    console.print(
        f"2^20 steps of one pure stream, one by one: {took / 2**20 * 1e6:.1f} us each, realised mse "
        f"{square / 2**20:.0f}, predicted {counter.mean_squared_error():.0f} (one stream, correlated errors)"
    )


def _pure_row(length: int) -> str:
    ours = TreeCounter.calibrate(length, PURE).mean_squared_error()
    binary = TreeCounter.calibrate(length, PURE, radix=2).mean_squared_error()
    height = length.bit_length()
    textbook = (height - 1) / 2 * 2 * height**2  # half the bits set, Laplace noise, equal shares
    item = EachItem.calibrate(length, PURE).mean_squared_error()
    prefix = EachPrefix.calibrate(length, PURE).mean_squared_error()
    return f"{ours:.1f} / {binary:.0f} / {textbook:.0f} / {item:.0f} / each prefix {prefix:.2g}"


def _plain_root(length: int) -> float:
    series = coefficients(length)[:length] / float(coefficients(length)[0])
    squares = np.cumsum(np.square(series))
    return float(squares[-1] * squares.mean())


def _root_exactly(length: int) -> tuple[float, float]:
    from scipy.linalg import solve_triangular

    matrix = np.zeros((length, length))
    blocks: tuple[DyadicBlock, ...] = ()
    for step in range(1, length + 1):
        blocks = merged(blocks, step)
        for block in blocks:
            value, slope = line(length, block.level, step - block.last)
            inside = np.arange(block.first, block.last + 1)
            matrix[step - 1, block.first - 1 : block.last] = value + slope * (inside - block.last)
        matrix[step - 1, step - 1] = line(length, 0, 0)[0]
        blocks = (*blocks, DyadicBlock(0, step, 0, 0, 0.0, 0.0))
    matrix = matrix * column_weights(length)
    back = solve_triangular(matrix.T, np.tril(np.ones((length, length))).T, lower=False).T
    each = np.square(back).sum(axis=1) * longest_column(length)
    return float(each.mean()), float(each.max())


def _root_simulated(length: int, replicas: int, bins: int = 64) -> tuple[float, float, float]:
    """Return the mean squared error by simulation, its standard error, and the plain square root's exact one.

    With random signs for noise the expectation is exact.  The plain square root runs on the same signs; its
    exact variance at every time is known, so in each stretch of time its deviation is regressed out.
    """
    from scipy.signal import fftconvolve

    signs = np.random.default_rng(1).choice([-1.0, 1.0], size=(length, replicas)).astype(np.float32)
    table = coefficients(length)
    weights = column_weights(length).astype(np.float64)
    series = table[:length] / float(table[0])
    known = np.cumsum(np.square(series))
    stretch = np.arange(length) * bins // length
    starts = np.searchsorted(stretch, np.arange(bins))
    control = np.empty((bins, replicas))
    for k in range(replicas):
        plain = fftconvolve(signs[:, k].astype(np.float64), series)[:length]
        control[:, k] = np.add.reduceat(np.square(plain) - known, starts) * known[-1] / length
    width = 512
    sums, moments = np.zeros((width, replicas)), np.zeros((width, replicas))
    levels, lasts = np.zeros(width, np.int64), np.zeros(width, np.int64)
    used, running, ours = 0, np.zeros(replicas), np.zeros((bins, replicas))
    front = float(table[0])
    for step in range(1, length + 1):
        while (places := _joining(levels, lasts, used, step)).size:
            i = int(places[0])
            shift = 1 << int(levels[i])
            moments[i] += moments[i + 1] - shift * sums[i]
            sums[i] += sums[i + 1]
            levels[i], lasts[i] = levels[i] + 1, lasts[i + 1]
            for array in (sums, moments, levels, lasts):
                array[i + 1 : used - 1] = array[i + 2 : used]
            used -= 1
        half = (1 << levels[:used]) >> 1
        lag = step - lasts[:used] + half
        slope = np.where(half > 0, (table[np.maximum(lag - 1, 0)] - table[lag + 1]) // 2, 0)
        value = table[lag] + slope * half
        past = value.astype(np.float64) @ sums[:used] + slope.astype(np.float64) @ moments[:used]
        guess = (signs[step - 1] - past) / front
        running += guess / weights[step - 1]
        ours[stretch[step - 1]] += running**2
        sums[used], moments[used], levels[used], lasts[used] = guess, 0, 0, step
        used += 1
    ours *= longest_column(length) / length
    centred = control - control.mean(axis=1, keepdims=True)
    slopes = (centred * ours).sum(axis=1) / np.square(centred).sum(axis=1)
    each = (ours - slopes[:, None] * control).sum(axis=0)
    return float(each.mean()), float(each.std() / sqrt(replicas)), float(known[-1] * known.mean())


def _joining(levels: np.ndarray, lasts: np.ndarray, used: int, step: int) -> np.ndarray:
    """Return where two neighbours are the halves of one aligned block that is old enough to be one."""
    left, right = levels[: used - 1], levels[1:used]
    first = lasts[: used - 1] - (1 << left)
    old = step - lasts[1:used] >= BLOCKS_PER_SIZE * (2 << right)
    return np.flatnonzero((left == right) & (first % (2 << left) == 0) & old) if used > 1 else np.zeros(0)


def table() -> None:
    """Ten records of three bits: eight cumulative counts one by one, and together."""
    records = ["000", "101", "010", "101", "000", "001", "110", "000", "010", "101"]
    counts = np.bincount([int(r, 2) for r in records], minlength=8)
    together = plan(Prefix(8), PURE, Adjacency.REPLACE)
    rows = [["histogram", " ".join(map(str, counts))], ["cumulative", " ".join(map(str, np.cumsum(counts)))]]
    rows.append(["eight separate releases, Laplace, total eps 1", f"{2 * 8**2 / 100:.2f}"])
    rows.append(["seven separate releases (the eighth is public)", f"{2 * 7**2 / 100:.2f}"])
    laplace = [0.08 * j * (8 - j) / 8 for j in range(1, 8)]
    rows.append(["histogram and least squares, Laplace, mean over 7", f"{np.mean(laplace):.4f}"])
    rows.append(
        [f"planned together ({together.strategy.name}), mean over 7", f"{together.error.total / 7 / 100:.4f}"]
    )
    _show(
        "the table of ten records: variance of a normalised cumulative value", ["release", "variance"], rows
    )


def sql() -> None:
    """Questions in SQL on 200,000 rows: one by one at equal shares of the price, and together.

    Under a budget with delta shares are of rho, so each costs its error the root of their number.
    """
    import pyarrow

    import discreet as dp

    rng = np.random.default_rng(0)
    rows = 200_000
    visits = pyarrow.table(
        {
            "person": np.arange(rows) % 100_000,
            "ward": rng.choice(list("ABCDEFGH"), rows),
            "quarter": rng.integers(1, 5, rows),
            "urgent": rng.random(rows) < 0.2,
            "waited": rng.gamma(2, 20, rows).clip(0, 240).astype(np.int64),
        }
    )
    columns = {
        "ward": {"values": list("ABCDEFGH"), "nullable": False},
        "quarter": {"type": "integer", "low": 1, "high": 4, "nullable": False},
        "urgent": {"type": "boolean", "nullable": False},
        "waited": {"type": "integer", "low": 0, "high": 240, "nullable": False},
    }
    one = "SELECT COUNT(*) AS n FROM visits"
    asked: list[tuple[str, str | list[str], int]] = [
        ("CDF(waited), 241 values", "SELECT CDF(waited) FROM visits", 241),
        ("CDF(waited, 60) by ward", "SELECT ward, CDF(waited, 60) FROM visits GROUP BY ward", 60),
        (
            "CUBE (ward, quarter, urgent)",
            "SELECT COUNT(*) FROM visits GROUP BY CUBE (ward, quarter, urgent)",
            8,
        ),
        (
            "ten conditions, one batch",
            [f"{one} WHERE waited > {20 * k} AND quarter <= {1 + k % 4}" for k in range(10)],
            10,
        ),
    ]
    lines = []
    for delta in (0, "1e-6"):
        with dp.open(
            visits=visits, unit="person", rows_per_unit=2, epsilon=100, delta=delta, columns=columns
        ) as data:
            for name, question, separate in asked:
                start = process_time()
                priced = data.quote(question, epsilon=1)
                planned = process_time() - start
                share = priced.shares[0]
                together = float(np.sqrt(share.mechanism.variances.mean())) / share.measured.scale
                part = Fraction(1, separate) if not delta else Fraction(1)
                alone = data.quote(one, epsilon=part).shares[0]
                apart = sqrt(float(spread(alone.mechanism))) / alone.measured.scale
                apart *= sqrt(separate) if delta else 1
                start = process_time()
                if isinstance(question, str):
                    data.query(question, epsilon=1)
                else:
                    data.batch(question, epsilon=1)
                asking = process_time() - start
                kind = "pure" if not delta else f"delta {delta}"
                errors = [f"{apart:.1f}", f"{together:.1f}", f"{apart / together:.1f}"]
                lines.append([name, kind, *errors, f"{planned:.2f}", f"{asking:.2f}"])
    heads = ["question", "budget", "alone", "together", "ratio", "plan s", "ask s"]
    _show("From SQL: root mean squared error of an answer, epsilon 1", heads, lines)


def real() -> None:
    """Real histograms: realised error against predicted."""
    rows = []
    for name in ("HEPTH", "MEDCOST", "SEARCHLOGS"):
        file = DATA / "dpbench" / f"{name}.npy"
        if not file.exists():
            console.print(f"{name}: not installed (set DISCREET_BENCHMARK_DATA)")
            continue
        counts = np.load(file).astype(np.int64)
        coarse = counts.reshape(512, -1).sum(axis=1)
        for guarantee in (PURE, UNIT):
            made = plan(AllRange(512), guarantee)
            truth = made.workload.apply(coarse)
            errors, clipped = [], []
            for _ in range(40):
                measured = made.measure(coarse)
                free = made.estimate(measured).answer(made.workload).values
                errors.append(float(np.square(free - truth).mean()))
                firm = made.estimate(measured, nonnegative=True).answer(made.workload).values
                clipped.append(float(np.square(firm - truth).mean()))
            off = np.std(errors) / sqrt(len(errors))
            rows.append(
                [
                    name,
                    type(guarantee).__name__,
                    f"{made.error.mean:.3f}",
                    f"{np.mean(errors):.3f} +- {off:.3f}",
                    f"{np.mean(clipped):.3f}",
                ]
            )
    _show(
        "all ranges over 512 cells of real histograms",
        ["data", "guarantee", "predicted", "realised", "non-negative"],
        rows,
    )


FEW_PEOPLE = 1_000, 10_000
"""So many people, drawn from a real histogram, are a small set of the same shape."""

MANY_CELLS = 4096
"""Histograms of so many cells are measured a third as often: each takes a second."""


def adaptive(runs: int = 200) -> None:
    """Random ranges and single cells: the same measurements for all data against blocks found privately.

    What is measured for all data is shown as drawn, reconciled but with negative cells (`postprocess=False`),
    and as it is shown by default, with none.  Gains are their errors over that of the adaptive plan.
    """
    rng = np.random.default_rng(1)
    tables: dict[bool, list[list[str]]] = {True: [], False: []}
    for name, counts in _histograms(rng):
        ends = np.sort(rng.integers(0, counts.size + 1, (2000, 2)), axis=1)
        for epsilon in (Fraction(1, 100), Fraction(1, 10), Fraction(1)):
            for ranges in (True, False):
                began = process_time()
                made = AdaptivePlan.calibrate(epsilon=epsilon, cells=counts.size, ranges=ranges)
                often = runs if counts.size < MANY_CELLS else runs // 3
                drawn, firm, ours = _errors(made, counts, ends if ranges else None, often)
                way = "tree" if made.splits(int(counts.sum())) else "fixed"
                found = [
                    f"{drawn:.4g}",
                    f"{firm:.4g}",
                    f"{ours:.4g}",
                    f"{drawn / ours:.2f}",
                    f"{firm / ours:.2f}",
                ]
                took = f"{(process_time() - began) / often:.2f}"
                tables[ranges].append([name, str(float(epsilon)), way, *found, took])
    heads = [
        "data",
        "epsilon",
        "way",
        "as drawn",
        "not negative",
        "adaptive",
        "gain",
        "gain, not neg.",
        "CPU s",
    ]
    for ranges, title in ((True, "random ranges"), (False, "single cells")):
        _show(f"{title}, root mean squared error", heads, tables[ranges])
        for way in ("tree", "fixed"):
            gains = sorted(float(row[-2]) for row in tables[ranges] if row[2] == way)
            if gains:
                console.print(f"{title}, {way}: gain over not negative {gains[0]:.2f} to {gains[-1]:.2f}")


def _histograms(rng: np.random.Generator) -> Iterator[tuple[str, Counts]]:
    for name in ("HEPTH", "MEDCOST", "SEARCHLOGS"):
        file = DATA / "dpbench" / f"{name}.npy"
        if not file.exists():
            console.print(f"{name}: not installed (set DISCREET_BENCHMARK_DATA)")
            continue
        whole = np.load(file).astype(np.int64)
        for counts in (whole, *(rng.multinomial(people, whole / whole.sum()) for people in FEW_PEOPLE)):
            for size in (256, 1024, 4096):
                yield f"{name}, {counts.sum():,} in {size:,}", counts.reshape(size, -1).sum(axis=1)


def _errors(made: AdaptivePlan, counts: Counts, ends: Counts | None, runs: int) -> list[float]:
    """Return root mean squared errors: the fixed plan as drawn and made possible, and the adaptive one."""
    fixed = replace(made, total=10**12)
    off = []
    for _ in range(runs):
        measured = fixed.measure(counts)
        match measured:
            case MeasuredStrategy():
                drawn = reconcile([measured]).cells
                firm = nearest_nonnegative(drawn, AllRange(counts.size), None)
            case MeasuredSums((alone,)):
                drawn = np.asarray(alone, dtype=np.float64)
                firm = np.maximum(drawn, 0)
            case _:
                raise TypeError("so many people are no reason to look for blocks")
        found = (drawn, firm, made.estimate(made.measure(counts)))
        off.append([_square_off(cells - counts, ends) for cells in found])
    return [sqrt(one) for one in np.mean(off, axis=0)]


def _square_off(off: NDArray[np.float64], ends: Counts | None) -> float:
    sums = off if ends is None else np.diff(np.concatenate([[0], np.cumsum(off)])[ends], axis=1)
    return float(np.square(sums).mean())


SECTIONS = {
    "table": table,
    "sql": sql,
    "ranges": ranges,
    "marginals": marginals,
    "streams": streams,
    "real": real,
    "adaptive": adaptive,
    "large": large,
}


def main() -> None:
    """Run the sections named on the command line, or all."""
    for name in sys.argv[1:] or SECTIONS:
        SECTIONS[name]()


if __name__ == "__main__":
    main()
