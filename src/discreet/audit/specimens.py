"""Specimens for detectors: textbook mechanisms, correct ones and the broken ones that were once published.

Each is a function of an input and a count that returns that many independent runs.  Unless its very defect
is floating point, noise is drawn exactly on a fine grid, so that a specimen has the flaw in its description
and no other.  None of this is for releasing anything.

Sparse vector variants are numbered as in Lyu, Su, Li, VLDB 2017: 1 and 2 are private, 3 to 6 are not.
"""

from collections.abc import Callable
from fractions import Fraction
from math import log2
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError
from discreet.exact.coins import source
from discreet.exact.number import Real, exp_up, rational
from discreet.exact.sample import bernoulli, geometric, two_sided_geometric

Specimen = Callable[[Any, int], NDArray[Any]]

FINENESS = 12
"""Grid steps per unit of scale, as a power of two."""

BELOW, STOPPED = -1000.0, -2000.0
"""How numeric sparse vector outputs show a value that was below, or not asked any more."""


def laplace_noise(scale: float, *shape: int) -> NDArray[np.float64]:
    """Return exact Laplace noise on a grid of about scale / 4096."""
    return _on_grid(two_sided_geometric, scale, shape)


def exponential_noise(scale: float, *shape: int) -> NDArray[np.float64]:
    """Return exact exponential noise on a grid of about scale / 4096."""
    return _on_grid(geometric, scale, shape)


def _on_grid(
    draw: Callable[[Fraction, int], Any], scale: float, shape: tuple[int, ...]
) -> NDArray[np.float64]:
    # Steps of 2**-j with j >= 0, so that whole answers lie on the grid and nothing shows through it.
    step = 2.0 ** min(0, round(log2(scale)) - FINENESS)
    alpha = exp_up(-Fraction(step) / rational(scale), 64)
    return np.asarray(draw(alpha, int(np.prod(shape))) * step).reshape(shape)


def naive_laplace(scale: float, *shape: int) -> NDArray[np.float64]:
    """Return Laplace noise as textbooks compute it, in floating point: which doubles occur depends on luck.

    Inverse transform sampling from 53 fair bits, as most numerical libraries do it.
    """
    words = source().words(int(np.prod(shape)), 64)
    magnitude = -scale * np.log(((words >> np.uint64(11)) + 1) * 2.0**-53)
    sign = 1.0 - 2.0 * (words & np.uint64(1))
    return np.asarray(sign * magnitude).reshape(shape)


def float_laplace(epsilon: float) -> Specimen:
    """Return x + Lap(1 / epsilon) computed in doubles: broken by its holes."""
    return lambda x, count: x + naive_laplace(1 / epsilon, count)


def histogram(scale: float) -> Specimen:
    """Return every count with Laplace noise of this scale."""
    return lambda q, count: np.asarray(q) + laplace_noise(scale, count, len(q))


def broadcast_histogram(scale: float) -> Specimen:
    """Return every count with the same noise: broken, since differences are exact."""
    return lambda q, count: np.asarray(q) + laplace_noise(scale, count, 1)


def parallel_laplace(copies: int, epsilon: float) -> Specimen:
    """Return one answer `copies` times, each with noise of its own."""
    return lambda x, count: x + laplace_noise(1 / epsilon, count, copies)


def prefix_sums(scale: float) -> Specimen:
    """Return running sums of noisy items."""
    return lambda q, count: np.cumsum(np.asarray(q) + laplace_noise(scale, count, len(q)), axis=1)


def noisy_max(
    epsilon: float, *, value: bool = False, one_sided: bool = False, scale: float | None = None
) -> Specimen:
    """Return the position of the largest noisy answer, or (broken) its noisy value."""
    draw = exponential_noise if one_sided else laplace_noise

    def run(q: Any, count: int) -> NDArray[Any]:
        noisy = np.asarray(q) + draw(2 / epsilon if scale is None else scale, count, len(q))
        return np.asarray(noisy.max(axis=1) if value else noisy.argmax(axis=1))

    return run


def sparse_vector(variant: int, epsilon: float, limit: int = 1, threshold: float = 1.0) -> Specimen:
    """Return the answers of one of the six sparse vector algorithms: 1 above, 0 below, -1 not asked."""
    match variant:
        case 1:
            rho, nu = 2 / epsilon, 4 * limit / epsilon
        case 2:
            rho, nu = 2 * limit / epsilon, 4 * limit / epsilon
        case 3:
            rho, nu = 2 / epsilon, 2 * limit / epsilon
        case 4:
            rho, nu = 4 / epsilon, 4 / (3 * epsilon)
        case 5:
            rho, nu = 2 / epsilon, 0.0
        case 6:
            rho, nu = 2 / epsilon, 2 / epsilon
        case _:
            raise ParameterError(f"sparse vector variants are numbered 1 to 6, got {variant}")

    def run(q: Any, count: int) -> NDArray[Any]:
        width = len(q)
        noisy = np.asarray(q) + (laplace_noise(nu, count, width) if nu else np.zeros((count, width)))
        hidden = laplace_noise(rho, count, width if variant == 2 else 1)
        if variant == 2:
            return _resampled(noisy, threshold + hidden, limit)
        above = noisy >= threshold + hidden
        if variant in (5, 6):
            return above.astype(np.int8)
        stopped = _stopped(above, limit)
        if variant == 3:
            return np.where(stopped, STOPPED, np.where(above, noisy, BELOW))
        return np.where(stopped, -1, above).astype(np.int8)

    return run


def numeric_sparse_vector(epsilon: float, limit: int = 2, threshold: float = 1.0) -> Specimen:
    """Return fresh noisy values where answers are above, 0 where they are below: private."""

    def run(q: Any, count: int) -> NDArray[Any]:
        exact, shape = np.asarray(q), (count, len(q))
        hidden = threshold + laplace_noise(3 / epsilon, count, 1)
        above = exact + laplace_noise(6 * limit / epsilon, *shape) >= hidden
        fresh = exact + laplace_noise(3 * limit / epsilon, *shape)
        return np.where(_stopped(above, limit), STOPPED, np.where(above, fresh, 0.0))

    return run


def both(first: Specimen, second: Specimen) -> Specimen:
    """Return the outputs of two specimens side by side."""
    return lambda x, count: np.column_stack([first(x, count), second(x, count)])


def _stopped(above: NDArray[np.bool_], limit: int) -> NDArray[np.bool_]:
    earlier = np.cumsum(above, axis=1, dtype=np.int16) - above
    return np.asarray(earlier >= limit)


def _resampled(noisy: NDArray[np.float64], hidden: NDArray[np.float64], limit: int) -> NDArray[Any]:
    """Use the next column of threshold noise after every answer above."""
    count, width = noisy.shape
    rows, used = np.arange(count), np.zeros(count, dtype=np.int64)
    out = np.empty((count, width), dtype=np.int8)
    for column in range(width):
        above = noisy[:, column] >= hidden[rows, np.minimum(used, width - 1)]
        out[:, column] = np.where(used >= limit, -1, above)
        used += above
    return out


def rappor(truth: float, lie: float) -> Specimen:
    """Return bits reported as 1 with probability `truth` where they are 1 and `lie` where they are 0."""
    yes, no = rational(truth), rational(lie)

    def run(bits: Any, count: int) -> NDArray[Any]:
        columns = [bernoulli(yes if bit else no, count) for bit in bits]
        return np.stack(columns, axis=1).astype(np.int8)

    return run


def now_and_then(chance: Real, leak: Callable[[Any], float], scale: float = 1.0) -> Specimen:
    """Return x with Laplace noise, but with this chance what `leak` makes of x: a rare, decisive output."""
    probability = rational(chance, "chance")

    def run(x: Any, count: int) -> NDArray[Any]:
        hit = np.asarray(bernoulli(probability, count), dtype=np.bool_)
        return np.where(hit, leak(x), x + laplace_noise(scale, count))

    return run
