"""Choosing what to measure: the best of the known strategies, what it costs, and what it saves.

A plan is made from the workload and the guarantee alone.  It names the strategy, holds the calibrated exact
noise, forecasts the error of every alternative it considered, and keeps a lower bound on what any strategy
of this kind could reach where one is known.  Only then does `measure` touch a histogram.
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import assert_never

import numpy as np

from discreet.errors import ParameterError
from discreet.privacy.adjacency import Adjacency
from discreet.privacy.guarantee import Concentrated, Pure
from discreet.privacy.sensitivity import Sensitivity
from discreet.workload.block import cells_and_blocks
from discreet.workload.certified import lower_bound, spectral_bound
from discreet.workload.column import workload_sensitivity
from discreet.workload.forecast import Error, error
from discreet.workload.linear import Array, Identity, Marginals, Product, Union, Workload
from discreet.workload.noise import Noise, Promise, calibrated, promised, spread
from discreet.workload.optimise import certified_optimum, optimised, optimised_product
from discreet.workload.reconcile import Estimate, MeasuredStrategy, WorkloadAnswers, reconcile
from discreet.workload.strategy import (
    Hierarchy,
    Kronecker,
    Strategy,
    Wavelet,
    identity,
    itself,
    measure_exactly,
    measured_rows,
    plain_cells,
    rounded,
    sensitivity,
)

Progress = Callable[[str], None]

_BRANCHINGS = (2, 4, 16)
_MANY_CELLS = {Pure: 1024, Concentrated: 1536}
"""Beyond so many cells sums are optimised for blocks of cells."""

_FEW_QUESTIONS = 8
"""Over many cells the questions themselves are measured if there are so many times fewer of them."""

LARGEST_ATTRIBUTE = 4096
"""The most cells of one attribute that are planned together."""


@dataclass(frozen=True, slots=True)
class StrategyCandidate:
    """One strategy that was considered, how far one person moves it, and the error it would have."""

    strategy: Strategy
    sensitivity: Sensitivity
    error: Error

    @property
    def name(self) -> str:
        """What to call it in a table."""
        return self.strategy.name


@dataclass(frozen=True, slots=True)
class Plan:
    """A workload, the strategy chosen for it, and the exact noise that keeps the promise."""

    workload: Workload
    adjacency: Adjacency
    strategy: Strategy
    noise: Noise
    sensitivity: Sensitivity
    error: Error
    candidates: tuple[StrategyCandidate, ...]
    lower: float | None = None

    @property
    def guarantee(self) -> Promise:
        """What measuring really promises, computed from the noise and the exact sensitivity."""
        return promised(self.noise, self.sensitivity)

    @property
    def known_total(self) -> bool:
        """Whether the number of people is public, as it is under replace."""
        return self.adjacency is Adjacency.REPLACE

    @property
    def gain(self) -> float:
        """How many times smaller the mean squared error is than that of the plain histogram."""
        plain = next(
            (c.error.total for c in self.candidates if set(c.name.split(" x ")) == {"identity"}),
            self.error.total,
        )
        return plain / self.error.total if self.error.total > 0 else 1.0

    def at(self, guarantee: Promise) -> "Plan":
        """Return the same measurements with the noise of another guarantee of the same kind."""
        before = self.guarantee

        def again(found: Error, change: Sensitivity) -> Error:
            return replace(
                found,
                total=found.total
                * (spread(calibrated(guarantee, change)) / spread(calibrated(before, change))),
            )

        candidates = tuple(replace(c, error=again(c.error, c.sensitivity)) for c in self.candidates)
        one = Error(1.0, 1)
        return replace(
            self,
            noise=calibrated(guarantee, self.sensitivity),
            error=again(self.error, self.sensitivity),
            candidates=candidates,
            lower=None if self.lower is None else self.lower * again(one, Sensitivity.of(1)).total,
        )

    def foresee(self) -> Estimate:
        """Return an estimate as it would be made from data, for its variances: they are known beforehand."""
        nothing = np.zeros(measured_rows(self.strategy), dtype=np.int64)
        return self.estimate(
            MeasuredStrategy(self.strategy, self.noise, nothing), total=0 if self.known_total else None
        )

    def measure(self, histogram: Array) -> MeasuredStrategy:
        """Return the noisy measurements of an exact integer histogram: the only step that sees data."""
        return MeasuredStrategy(
            self.strategy, self.noise, self.noise.sample(measure_exactly(self.strategy, histogram))
        )

    def estimate(
        self, measurement: MeasuredStrategy, *, total: int | None = None, nonnegative: bool = False
    ) -> Estimate:
        """Return the consistent estimate; under replace the public total must be given."""
        if self.known_total and total is None:
            raise ParameterError("under replace the number of people is public: give it as total")
        return reconcile([measurement], total=total, nonnegative=self.workload if nonnegative else None)

    def answer(self, histogram: Array, *, nonnegative: bool = False) -> WorkloadAnswers:
        """Measure, reconcile and answer: consistent noisy answers with the variance of each."""
        counts = measure_exactly(identity(1), histogram.sum(keepdims=True)) if self.known_total else None
        total = None if counts is None else int(counts[0])
        return self.estimate(self.measure(histogram), total=total, nonnegative=nonnegative).answer(
            self.workload
        )


def plan(
    workload: Workload,
    guarantee: Promise,
    adjacency: Adjacency = Adjacency.ADD_REMOVE,
    *,
    progress: Progress = lambda _: None,
) -> Plan:
    """Return the best plan for a workload over one declared histogram.

    Marginals of domains too large to write out have plans of their own: see `plan_marginals`.
    """
    if workload_sensitivity(workload, Adjacency.ADD_REMOVE).l1 == 0:
        raise ParameterError("the workload counts no cell at all, so there is nothing to measure")
    strategies, bound = _strategies(workload, guarantee, progress)
    candidates = []
    for strategy in strategies:
        change = sensitivity(strategy, adjacency)
        if change.l1 == 0:
            continue  # it measures only what is public already, so it decides nothing
        progress(f"forecasting {strategy.name}")
        # Rounded to integers, an optimum may no longer tell all answers apart; single cells always do.
        with suppress(ParameterError):
            candidates.append(
                StrategyCandidate(strategy, change, error(workload, strategy, guarantee, adjacency))
            )
    if not candidates:
        raise ParameterError("nobody can move the answers of this workload, so it needs no privacy")
    ranked = tuple(sorted(candidates, key=lambda candidate: candidate.error.total))
    best = ranked[0]
    lower = (
        bound * _unit_noise(guarantee) if bound is not None and adjacency is Adjacency.ADD_REMOVE else None
    )
    noise = calibrated(guarantee, best.sensitivity)
    return Plan(workload, adjacency, best.strategy, noise, best.sensitivity, best.error, ranked, lower)


def _strategies(
    workload: Workload, guarantee: Promise, progress: Progress
) -> tuple[list[Strategy], float | None]:
    """Return the strategies to compare, and what no strategy with unit columns can beat at unit noise."""
    sizes = _attributes(workload)
    if len(sizes) > 1:
        progress("optimising one attribute at a time")
        plain = Kronecker(tuple(identity(n) for n in sizes))
        return [plain, optimised_product(workload, sizes, guarantee)], None
    cells = workload.cells
    if cells > LARGEST_ATTRIBUTE:
        raise ParameterError(
            f"a single attribute is planned up to {LARGEST_ATTRIBUTE} cells, got {cells}; use coarser cells"
        )
    if cells > _MANY_CELLS[type(guarantee)]:
        return _many(workload, guarantee, progress)
    known: list[Strategy] = [identity(cells)]
    known += [Hierarchy(cells, b, rooted) for b in _BRANCHINGS if cells > b for rooted in (True, False)]
    if cells > 1:
        known.append(Wavelet(cells))
    if workload.queries <= 2 * cells:
        known.append(itself(workload))
    progress("optimising")
    match guarantee:
        case Concentrated():
            best = certified_optimum(workload)
            return [*known, rounded("certified optimum", best.matrix)], best.lower
        case Pure():
            bound = spectral_bound(workload)
            return [*known, optimised(workload, guarantee)], bound or lower_bound(workload.gram())
        case _:
            assert_never(guarantee)


def _many(workload: Workload, guarantee: Promise, progress: Progress) -> tuple[list[Strategy], float | None]:
    """Return what is compared where matrices of cells would take too long to invert."""
    known: list[Strategy] = [plain_cells(workload.cells)]
    if workload.queries <= workload.cells // _FEW_QUESTIONS:
        known.append(itself(workload))
    bound = spectral_bound(workload)
    if not isinstance(workload, Identity):  # of which nothing is better than itself
        progress("optimising for blocks of cells")
        known.append(cells_and_blocks(workload, guarantee))
    return known, bound


def _unit_noise(guarantee: Promise) -> float:
    """Return the least variance per squared unit of sensitivity that any integer strategy can have.

    Geometric noise at sensitivity s has variance 1 / (2 sinh(epsilon / 2s)**2); over s**2 it grows with s.
    """
    return spread(calibrated(guarantee, Sensitivity.of(1)))


def _attributes(workload: Workload) -> list[int]:
    match workload:
        case Product(factors):
            return [factor.cells for factor in factors]
        case Union(parts):
            shapes = {tuple(_attributes(part)) for part in parts}
            longest = max(shapes, key=len)
            return (
                list(longest)
                if all(len(shape) == 1 or shape == longest for shape in shapes)
                else [workload.cells]
            )
        case Marginals(sizes, _):
            return list(sizes)
        case _:
            return [workload.cells]
