"""How often intervals that say .95 hold the truth: every kind, few people and many, at any price.

One question at the whole budget about 0, 1, 5, 40 and 1,000 people with one row each, 2,000 runs; a budget
with delta, of which many questions are declared so that it buys Gaussian noise, is tried beside a pure one.
A question is checked, priced, proved and counted once and its noise drawn often: `draw` and `rows` are all
that a session does for one answer after that, from the exact integers to what is shown, so runs have the law
of separate answers (see `answers`); the last line compares them with answers that were paid one by one.

A share is that of the worst row, and is short where it is below .95 by more than three standard errors would
be by chance in one row; whatever is, is drawn again ten times as often, since hundreds of rows are judged.
Where nobody has a value the truth is NULL, and the share is that of NULLs, or of intervals without ends where
any number may stand for it, as in a quotient.  A median, minimum or mode has no
interval; its share is how often it lies within the number of rows that its quote names.  An average above .97
is by bounds where it is below for many people, since few are near zero, or cannot be told from nobody, which
leaves everything that is possible; and by steps where intervals one step of noise narrower would be short.

`python -m benchmarks.coverage average median` runs a part; parts are gathered in docs/how-to/coverage.csv.
"""

import csv
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from math import log2, nan, sqrt
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np
import pandas as pd

from discreet.engines.exact import Exact
from discreet.engines.shelter import shelter
from discreet.mechanisms.gaussian import Gaussian
from discreet.mechanisms.geometric import Geometric
from discreet.mechanisms.staircase import Staircase
from discreet.privacy.filter import ApproximateBudget
from discreet.privacy.guarantee import Concentrated, Pure
from discreet.query.check.batch import listed
from discreet.query.check.measurement import Declared, QuantileChoice
from discreet.query.check.question import Limits
from discreet.query.price.batch import parts
from discreet.query.price.expected import Quote
from discreet.release.consistent import cut, settled
from discreet.release.noisy import Noisy, draw
from discreet.release.noisy import _values as noisy_values
from discreet.release.opening import open_catalog
from discreet.release.parted import parted
from discreet.release.pricing import check_batch
from discreet.release.session import Session, proved
from discreet.release.sources import declared
from discreet.release.table import ReleasedRow, rows
from discreet.workload import (
    Marginals,
    Prefix,
    answer_marginals,
    measure_marginals,
    plan,
    plan_marginals,
    quantiles,
)

TOP, SURE, WIDEST, RUNS = 100, 0.95, 0.97, 2_000
COUNTS, EPSILONS, DELTA, MANY = (0, 1, 5, 40, 1_000), ("0.1", "1", "3"), "1e-5", 10_000
PILE = 500
TAKEN = Path(__file__).parent.parent / "docs" / "how-to" / "coverage.csv"
CLOSE = 1e-3
"""Floats make the truths of variances: a thousandth of a unit."""

Span = tuple[Fraction | None, Fraction | None]
Truths = Callable[[pd.DataFrame], list[float | None]]
Runs = Iterator[list[float]]
"""For every run and row whether its interval holds, 1 or 0, or nan where no row is shown."""


def data_of(people: int) -> pd.DataFrame:
    """Return people whose numbers fill their bounds, in two wards, with a key and a few common values."""
    random = np.random.default_rng(people)
    values, person = random.integers(0, TOP + 1, people), np.arange(people)
    other = (values + random.integers(0, TOP + 1, people)) // 2
    return pd.DataFrame(
        {"person": person, "x": values, "y": other, "w": person % 2, "h": values // 50, "k": ["a"] * people}
    )


COLUMNS = {
    "x": {"type": "integer", "low": 0, "high": TOP, "nullable": False},
    "y": {"type": "integer", "low": 0, "high": TOP, "nullable": False},
    "w": {"type": "integer", "low": 0, "high": 1},
    "h": {"type": "integer", "low": 0, "high": 2},
    "k": "text",
}


def opened(frame: pd.DataFrame, epsilon: str, delta: str | None, **declarations: Any) -> Session:
    budget = (
        {"epsilon": epsilon} if delta is None else {"epsilon": epsilon, "delta": delta, "questions": MANY}
    )
    section = {"unit": "person", "rows_per_unit": 1, "columns": COLUMNS} | declarations
    catalog, frames = declared(None, {"t": shelter(frame)}, section, name="dataset", budget=budget)
    return open_catalog(catalog, frames, None)


@dataclass(frozen=True)
class Asked:
    """A question whose last column is measured, and the truth of its rows."""

    text: str
    truths: Truths
    closed: bool = False
    """Whether the noise of an interval has a closed form, so that it need hold no more often than it says."""
    inward: float = 0
    """How far the ends of intervals are pulled in, to see whether narrower ones would do."""
    bounds: tuple[float, float] | None = None
    """What an interval may hold at most: where nobody has a value, one that holds all of it is right."""

    def noise(self, epsilon: str, delta: str | None) -> object:
        with opened(data_of(0), epsilon, delta) as data:
            return mechanisms(data.quote(self.text, epsilon=epsilon))

    def runs(self, people: int, epsilon: str, delta: str | None, runs: int) -> Runs:
        frame = data_of(people)
        truths = self.truths(frame)
        with opened(frame, epsilon, delta) as data:
            priced = data.quote(self.text, epsilon=epsilon)
            exact = data.engine.run(proved(priced), 1)
        for answer in answers(priced, exact, runs):
            found = zip(answer, truths, strict=True)
            yield [
                held(row.cells[-1], row.spans[-1], truth, self.inward, self.bounds) for row, truth in found
            ]


def answers(priced: Quote, exact: Exact, runs: int) -> Iterator[tuple[ReleasedRow, ...]]:
    """Yield what is shown in so many runs.

    Where every cell has noise of its own and nothing is made of several cells, the cells of many runs are
    drawn and shown as those of one answer with as many groups, by the same functions.
    """
    additive = all(isinstance(one.mechanism, Geometric | Staircase | Gaussian) for one in priced.shares)
    first, declared_keys = rows(priced, draw(priced, exact)), priced.checked.keys
    if not additive or not isinstance(declared_keys, Declared) or priced.parts:
        keys = None
    else:
        # An entropy is one row of several cells.
        keys = product if len(product := declared_keys.product()) == len(first) else None
    if keys is None:
        yield first
        for _ in range(runs - 1):
            yield rows(priced, draw(priced, exact))
        return
    for done in range(0, runs, PILE):
        many = min(PILE, runs - done)
        drawn = tuple(noisy_values(priced, place, keys * many, exact) for place in range(len(priced.shares)))
        shown = rows(priced, Noisy(keys * many, drawn))
        for run in range(many):
            yield shown[run * len(keys) : (run + 1) * len(keys)]


def mechanisms(priced: Quote) -> object:
    """Return what a price buys: budgets that buy the same noise have the same intervals."""
    return tuple(repr(share.mechanism) for share in priced.shares)


def held(
    cell: object,
    span: Span,
    truth: float | None,
    inward: float = 0,
    bounds: tuple[float, float] | None = None,
) -> float:
    """Return whether an interval holds; where there is no truth, whether none is shown or none left out."""
    low, high = span
    if truth is None and bounds is not None and low is not None and high is not None:
        return float(float(low) <= bounds[0] and bounds[1] <= float(high))
    if truth is None:
        return float(cell is None or (low is None and high is None))
    near = inward - CLOSE
    return float(
        (low is None or float(low) + near <= truth) and (high is None or truth <= float(high) - near)
    )


@dataclass(frozen=True)
class Together:
    """Questions of one batch: their last columns."""

    texts: tuple[str, ...]
    truths: Truths
    closed: bool = False

    def noise(self, epsilon: str, delta: str | None) -> object:
        with opened(data_of(0), epsilon, delta) as data:
            return mechanisms(data.quote(list(self.texts), epsilon=epsilon))

    def runs(self, people: int, epsilon: str, delta: str | None, runs: int) -> Runs:
        frame = data_of(people)
        truths = self.truths(frame)
        with opened(frame, epsilon, delta) as data:
            batch = check_batch(data.catalog, self.texts, None)
            priced = data.quote(list(self.texts), epsilon=epsilon)
            exact = data.engine.run(proved(priced), 1)
        own = [(part, listed(part.checked).product(), slices) for part, slices in parts(batch, priced)]
        for _ in range(runs):
            noisy = draw(priced, exact)
            made = settled(priced, noisy)
            found = [
                row
                for part, keys, slices in own
                for row in rows(
                    part,
                    cut(noisy, keys, slices),
                    made=None if made is None else cut(made, keys, slices),
                )
            ]
            yield [
                held(row.cells[-1], row.spans[-1], truth) for row, truth in zip(found, truths, strict=True)
            ]


@dataclass(frozen=True)
class Found:
    """Groups that the question finds itself: a truth for the one key that everybody has."""

    text: str
    truths: Truths
    closed: bool = False

    def noise(self, epsilon: str, delta: str | None) -> object:
        return delta

    def runs(self, people: int, epsilon: str, delta: str | None, runs: int) -> Runs:
        if delta is None:
            return
        frame = data_of(people)
        (truth,) = self.truths(frame)
        with opened(frame, epsilon, "1e-3") as data:
            priced = data.quote(self.text, epsilon=epsilon)
            exact = data.engine.run(proved(priced), 1)
        for _ in range(runs):
            found = rows(priced, draw(priced, exact))
            yield [held(row.cells[-1], row.spans[-1], truth) for row in found] or [nan]


@dataclass(frozen=True)
class Chosen:
    """A value chosen among candidates: how many rows it falls short of the best, against the quote."""

    text: str
    column: str = "x"
    closed: bool = False

    def noise(self, epsilon: str, delta: str | None) -> object:
        return Asked(self.text, lambda t: []).noise(epsilon, delta)

    def runs(self, people: int, epsilon: str, delta: str | None, runs: int) -> Runs:
        frame = data_of(people)
        values = frame[self.column].to_numpy()
        with opened(frame, epsilon, delta) as data:
            priced = data.quote(self.text, epsilon=epsilon)
            exact = data.engine.run(proved(priced), 1)
        (share,), (expected,) = priced.shares, priced.expected
        grid = np.arange((TOP if self.column == "x" else 2) + 1)
        if isinstance(share.measured, QuantileChoice):
            aim = share.measured.aim(share.offset)
            target = float(aim.quantile) * people + float(aim.offset) / share.measured.scale
            below, upto = ((grid > values[:, None]).sum(0), (grid >= values[:, None]).sum(0))
            far = np.maximum(0, np.maximum(below - target, target - upto))
        else:
            far = -(grid == values[:, None]).sum(0).astype(float)
        short = far - far.min()
        for _ in range(runs):
            (row,) = rows(priced, draw(priced, exact))
            yield [float(short[int(row.cells[-1])] <= float(expected.rank or 0) + CLOSE)]  # type: ignore[arg-type]


@dataclass(frozen=True)
class Limited:
    """An interval that allows for a limit: a quarter of the people have three times as many rows as that."""

    column: str
    closed: bool = False

    def noise(self, epsilon: str, delta: str | None) -> object:
        with self._opened(data_of(0), epsilon, delta) as data:
            return mechanisms(self._priced(data, epsilon))

    def _opened(self, frame: pd.DataFrame, epsilon: str, delta: str | None) -> Session:
        return opened(frame, epsilon, delta, rows_per_unit=3, columns={"x": COLUMNS["x"]})

    def _priced(self, data: Session, epsilon: str) -> Quote:
        return data.quote(f"SELECT {self.column} FROM t", epsilon=epsilon, limits=Limits(rows_at_most=9))

    def runs(self, people: int, epsilon: str, delta: str | None, runs: int) -> Runs:
        rows_of = np.where(np.arange(people) % 4 == 0, 9, 2)
        ids = np.repeat(np.arange(people), rows_of)
        frame = pd.DataFrame({"person": ids, "x": np.where(rows_of[ids] == 9, TOP, 10) if people else ids})
        whole = frame.x.mean() if people else None
        truth = {"COUNT(*)": float(len(frame)), "SUM(x)": float(frame.x.sum())}.get(self.column, whole)
        with self._opened(frame, epsilon, delta) as data:
            priced = self._priced(data, epsilon)
            exact = data.engine.run(proved(priced), 1)
        for (row,) in answers(priced, exact, runs):
            yield [held(row.cells[0], row.spans[0], truth)]


@dataclass(frozen=True)
class Cells:
    """Cells of a histogram of data with a peak and a tail, which may be measured in blocks of like ones.

    Intervals are those of cells before they are widened to hold what is shown, which cannot hold more often.
    """

    cells: int = 1024
    closed: bool = False

    def _opened(self, frame: pd.DataFrame, epsilon: str, delta: str | None) -> Session:
        columns = {"x": {"type": "integer", "low": 0, "high": self.cells - 1}}
        return opened(frame, epsilon, delta, columns=columns)

    def _priced(self, data: Session, epsilon: str) -> Quote:
        return data.quote(f"SELECT HISTOGRAM(x, {self.cells}) FROM t", epsilon=epsilon)

    def noise(self, epsilon: str, delta: str | None) -> object:
        with self._opened(data_of(0), epsilon, delta) as data:
            return self._priced(data, epsilon).shares

    def runs(self, people: int, epsilon: str, delta: str | None, runs: int) -> Runs:
        values = np.random.default_rng(people).geometric(0.02, people) - 1
        values[: people // 4] = 700
        values = np.minimum(values, self.cells - 1)
        truth = np.bincount(values, minlength=self.cells)
        with self._opened(pd.DataFrame({"person": np.arange(people), "x": values}), epsilon, delta) as data:
            priced = self._priced(data, epsilon)
            exact = data.engine.run(proved(priced), 1)
        reach = float(priced.radius(0, Fraction(1, 20)) or 0)
        for _ in range(runs):
            noisy = draw(priced, exact)
            if noisy.widths:
                ends = np.array(parted(priced, noisy, Fraction(19, 20)), dtype=float)
                yield list(((ends[:, 0] <= truth) & (truth <= ends[:, 1])).astype(float))
            else:
                drawn = np.array(noisy.values[0], dtype=float)
                yield list((np.abs(drawn - truth) <= reach).astype(float))


def promise(epsilon: str, delta: str | None) -> Pure | Concentrated:
    return Pure(Fraction(epsilon)) if delta is None else Concentrated(ApproximateBudget(epsilon, delta).rho)


@dataclass(frozen=True)
class Planned:
    """Running counts and the median of a workload in Python."""

    read: bool
    closed: bool = False

    def noise(self, epsilon: str, delta: str | None) -> object:
        return delta

    def runs(self, people: int, epsilon: str, delta: str | None, runs: int) -> Runs:
        counts = np.bincount(data_of(people).x * 8 // (TOP + 1), minlength=8)
        workload = Prefix(8)
        made, truth = plan(workload, promise(epsilon, delta)), workload.apply(counts.astype(float))
        median = int(np.searchsorted(truth, people / 2))
        for _ in range(runs):
            estimate = made.estimate(made.measure(counts))
            if self.read:
                (found,) = quantiles(estimate, ["0.5"])
                yield [float(not people or found.low <= median <= found.high)]
            else:
                answers = estimate.answer(workload)
                yield list((np.abs(answers.values - truth) <= answers.radius("0.05")).astype(float))


@dataclass(frozen=True)
class Tables:
    """Cells of marginals in Python."""

    closed: bool = False

    def noise(self, epsilon: str, delta: str | None) -> object:
        return delta

    def runs(self, people: int, epsilon: str, delta: str | None, runs: int) -> Runs:
        sets = ((0,), (1,), (0, 1))
        made = plan_marginals(Marginals((2, 3), sets), promise(epsilon, delta))
        frame = data_of(people)
        both = np.bincount(frame.w * 3 + frame.h, minlength=6).reshape(2, 3)
        exact = {(0,): both.sum(axis=1), (1,): both.sum(axis=0), (0, 1): both}
        needed = {chosen: exact[chosen] for chosen in made.needs}
        for _ in range(runs):
            answers = answer_marginals(measure_marginals(made, needed))
            yield [
                float(cell)
                for chosen in sets
                for cell in (np.abs(answers.table(chosen) - exact[chosen]) <= answers.radius(chosen)).flat
            ]


def _mean(values: Any) -> float | None:
    return float(values.mean()) if len(values) else None


def _spread(values: Any, *, sample: bool) -> float | None:
    return float(np.var(values, ddof=int(sample))) if len(values) > int(sample) else None


def _cube(frame: pd.DataFrame) -> list[float | None]:
    table = [[int(((frame.w == ward) & (frame.h == half)).sum()) for half in (0, 1, 2)] for ward in (0, 1)]
    cells = [float(n) for line in table for n in line]
    return [*cells, *map(float, map(sum, table)), *map(float, np.sum(table, axis=0)), float(len(frame))]


def _related(frame: pd.DataFrame) -> list[float | None]:
    if len(frame) < 2 or not frame.x.std() or not frame.y.std():
        return [None]
    return [float(np.corrcoef(frame.x, frame.y)[0, 1])]


def _running(frame: pd.DataFrame) -> list[float | None]:
    return [float((frame.x * 4 // (TOP + 1) <= cell).sum()) for cell in range(4)]


def _middle(frame: pd.DataFrame) -> list[float | None]:
    return [float(np.sort(frame.x)[(len(frame) - 1) // 2]) if len(frame) else None]


def _entropy(frame: pd.DataFrame) -> list[float | None]:
    shares = frame.h.value_counts(normalize=True)
    return [-sum(share * log2(share) for share in shares)] if len(frame) else [None]


def _by_ward(frame: pd.DataFrame) -> list[float | None]:
    return [_mean(frame.x[frame.w == ward]) for ward in (0, 1)]


BATCH = (
    "SELECT COUNT(*) FROM t WHERE x > 40",
    "SELECT w, AVG(x) FROM t GROUP BY w",
    "SELECT SUM(y) FROM t",
    "SELECT VAR_POP(y) FROM t",
)


def _batch(frame: pd.DataFrame) -> list[float | None]:
    count, total = float((frame.x > 40).sum()), float(frame.y.sum())
    return [count, *_by_ward(frame), total, _spread(frame.y, sample=False)]


KINDS: dict[str, Any] = {
    "count": Asked("SELECT COUNT(*) FROM t", lambda t: [float(len(t))], closed=True),
    "sum": Asked("SELECT SUM(x) FROM t", lambda t: [float(t.x.sum())], closed=True),
    "sum of two": Asked(
        "SELECT COUNT(*) + SUM(x) FROM t", lambda t: [float(len(t) + t.x.sum())], closed=True
    ),
    "histogram": Asked(
        "SELECT w, COUNT(*) FROM t GROUP BY w",
        lambda t: [float((t.w == ward).sum()) for ward in (0, 1)],
        closed=True,
    ),
    "average": Asked("SELECT AVG(x) FROM t", lambda t: [_mean(t.x)], closed=True),
    "averages by group": Asked("SELECT w, AVG(x) FROM t GROUP BY w", _by_ward, closed=True),
    "variance": Asked("SELECT VARIANCE(x) FROM t", lambda t: [_spread(t.x, sample=True)]),
    "deviation": Asked(
        "SELECT STDDEV_POP(x) FROM t",
        lambda t: [None if (v := _spread(t.x, sample=False)) is None else sqrt(v)],
    ),
    # Written so that it is no mean, which would be measured on a simplex.
    "ratio": Asked("SELECT SUM(x) / (COUNT(*) + 0) FROM t", lambda t: [_mean(t.x)]),
    "correlation": Asked("SELECT CORR(x, y) FROM t", _related),
    "entropy": Asked("SELECT ENTROPY(h) FROM t", _entropy),
    "distribution": Asked("SELECT CDF(x, 4) FROM t", _running),
    "quantiles": Asked("SELECT QUANTILES(x, [0.5]) FROM t", _middle, bounds=(0, TOP)),
    "cube": Asked("SELECT w, h, COUNT(*) FROM t GROUP BY CUBE (w, h)", _cube),
    "batch": Together(BATCH, _batch),
    "sparse cells": Cells(),
    "keys found": Found("SELECT k, COUNT(*) FROM t GROUP BY k", lambda t: [float(len(t))]),
    "computed from keys found": Found(
        "SELECT k, COUNT(*) * 2 + 1 FROM t GROUP BY k", lambda t: [2.0 * len(t) + 1]
    ),
    "averages of keys found": Found("SELECT k, AVG(x) FROM t GROUP BY k", lambda t: [_mean(t.x)]),
    "count above a limit": Limited("COUNT(*)"),
    "sum above a limit": Limited("SUM(x)"),
    "average above a limit": Limited("AVG(x)"),
    "median": Chosen("SELECT MEDIAN(x) FROM t"),
    "upper decile": Chosen("SELECT QUANTILE(x, 0.9) FROM t"),
    "minimum": Chosen("SELECT MIN(x) FROM t"),
    "maximum": Chosen("SELECT MAX(x) FROM t"),
    "mode": Chosen("SELECT MODE(h) FROM t", "h"),
    "running counts in Python": Planned(read=False),
    "quantile in Python": Planned(read=True),
    "marginals in Python": Tables(),
}


def enough(shown: Any, most: float = 3.0) -> Any:
    """Return the least share of intervals that hold, of rows that were shown so often."""
    chance = (1 - NormalDist().cdf(most)) / max(len(shown), 1)
    return SURE - NormalDist().inv_cdf(1 - chance) * np.sqrt(SURE * (1 - SURE) / np.maximum(shown, 1))


def shares(kind: Any, people: int, epsilon: str, delta: str | None, runs: int = RUNS) -> tuple[Any, Any]:
    """Return of every row how often its interval holds, and how often it is shown."""
    table = np.array(list(kind.runs(people, epsilon, delta, runs)) or [[nan]], dtype=float)
    shown = (~np.isnan(table)).sum(axis=0)
    return np.nansum(table, axis=0) / np.maximum(shown, 1), shown


def measured(kind: Any, people: int, epsilon: str, delta: str | None) -> tuple[str, float]:
    """Return the share of the worst row as text, and the average of all rows."""
    for runs in (RUNS, 10 * RUNS):
        share, shown = shares(kind, people, epsilon, delta, runs)
        seen = shown >= runs / 40
        if not seen.any():
            return "-", nan
        share, shown = share[seen], shown[seen]
        short = bool((share < enough(shown)).any())
        if not short:
            break
    return f"{share.min():.3f}" + (" short" if short else ""), float(share.mean())


def judged(kind: Any, epsilon: str, delta: str | None, found: list[tuple[str, float]]) -> str:
    """Return an average, and why it is above .97 where the noise has a closed form."""
    average = float(np.nanmean([mean for _, mean in found]))
    if not kind.closed or average <= WIDEST:
        return f"{average:.3f}"
    if found[-1][1] <= WIDEST:
        return f"{average:.3f} by bounds"
    narrower, _ = shares(replace(kind, inward=1), max(COUNTS), epsilon, delta)
    return f"{average:.3f} " + ("by steps" if (narrower < SURE).any() else "wide")


def main() -> None:
    words = sys.argv[1:]
    names = [name for name in KINDS if name in words] or list(KINDS)
    known = _read()
    for name in names:
        kind = KINDS[name]
        for epsilon in EPSILONS:
            same = kind.noise(epsilon, None) == kind.noise(epsilon, DELTA)
            for delta in (None,) if same else (None, DELTA):
                found = [measured(kind, people, epsilon, delta) for people in COUNTS]
                if all(text == "-" for text, _ in found):
                    continue
                budget = "either" if same else "pure" if delta is None else "with delta"
                line = [*(text for text, _ in found), judged(kind, epsilon, delta, found)]
                known[name, budget, epsilon] = line
                print(name, budget, epsilon, *line, flush=True)
                _write(known)
    if "agree" in words or not words:
        print("one by one, against drawn together:", agreement())


def _read() -> dict[tuple[str, str, str], list[str]]:
    if not TAKEN.exists():
        return {}
    with TAKEN.open(newline="") as file:
        return {(line[0], line[1], line[2]): line[3:] for line in list(csv.reader(file))[1:]}


def _write(known: dict[tuple[str, str, str], list[str]]) -> None:
    order = list(KINDS)
    with TAKEN.open("w", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["interval of", "budget", "epsilon", *(f"{n:,} people" for n in COUNTS), "average"])
        for key in sorted(known, key=lambda key: (order.index(key[0]), key[1], float(key[2]))):
            table.writerow([*key, *known[key]])


def agreement(answers: int = 400) -> str:
    """Return how the ends of intervals of answers paid one by one lie among those that were drawn together.

    Prices differ in the ninth digit, since the same question at the same price is answered once.
    """
    frame, asked = data_of(40), KINDS["average"]
    with opened(frame, "1000", None) as data:
        single = [
            data.query(asked.text, epsilon=1 + Fraction(n, 10**9)).rows[0].spans[0] for n in range(answers)
        ]
        priced = data.quote(asked.text, epsilon=1)
        exact = data.engine.run(proved(priced), 1)
    drawn = [rows(priced, draw(priced, exact))[0].spans[0] for _ in range(10 * answers)]
    far = []
    for end in (0, 1):
        one, other = (np.sort([float(span[end] or 0) for span in spans]) for spans in (single, drawn))
        every = np.unique(np.concatenate([one, other]))
        laws = [np.searchsorted(values, every, side="right") / values.size for values in (one, other)]
        far.append(float(np.abs(laws[0] - laws[1]).max()) * sqrt(answers * 10 / 11))
    return (
        f"Kolmogorov's distance {far[0]:.2f} and {far[1]:.2f} of a lower and upper end (1.63 is one in 100)"
    )


if __name__ == "__main__":
    main()
