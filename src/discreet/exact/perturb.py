"""Adding exact integer noise to exact integer answers, without overflow.

An answer is a Python integer, or an array of integers in which every entry gets noise of its own.
Entries that int64 cannot hold together with their noise are carried as Python integers.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError

SAFE = 2**62


def integers(values: Any) -> NDArray[Any]:
    """Return an integer array (int64, or object holding Python integers), refusing anything else."""
    array = np.asarray(values)
    if array.dtype == object:
        if not all(isinstance(value, int) and not isinstance(value, bool) for value in array.flat):
            raise ParameterError(
                "values must be integers; scale real numbers to a grid first, as Laplace does"
            )
        return array
    if array.dtype.kind not in "iu" and array.size:
        raise ParameterError(
            f"values must be integers, got {array.dtype}; scale real numbers to a grid first, as Laplace does"
        )
    return array.astype(object if array.dtype == np.uint64 else np.int64)


def perturb(values: Any, draw: Callable[[int | None], Any]) -> Any:
    """Return values plus independent noise: an int for an int, an array of the same shape for an array.

    `draw(None)` returns one integer, `draw(n)` an array of n.
    """
    if isinstance(values, (int, np.integer)) and not isinstance(values, bool):
        return int(values) + draw(None)
    exact = values if isinstance(values, np.ndarray) and values.dtype == np.int64 else integers(values)
    if exact.ndim == 0:
        return int(exact) + draw(None)
    noise: NDArray[Any] = draw(exact.size).reshape(exact.shape)
    if noise.dtype == exact.dtype == np.int64 and _small(exact) and _small(noise):
        # Nobody else has the noise, and memory that is touched for the first time is slow.
        noise += exact
        return noise
    return add(exact, noise)


def add(left: NDArray[Any], right: NDArray[Any]) -> NDArray[Any]:
    """Return the exact sum of two integer arrays."""
    if left.dtype != object and right.dtype != object and _small(left) and _small(right):
        return np.asarray(left + right)
    return narrow(left.astype(object) + right.astype(object))


def narrow(array: NDArray[Any]) -> NDArray[Any]:
    """Return an array of Python integers as int64 where that holds all of them."""
    return array.astype(np.int64) if _small(array) else array


def _small(array: NDArray[Any]) -> bool:
    return array.size == 0 or bool(
        np.minimum.reduce(array, axis=None) >= -SAFE and np.maximum.reduce(array, axis=None) <= SAFE
    )
