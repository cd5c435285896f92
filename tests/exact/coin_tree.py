"""Exhaustive enumeration of a sampler's coins: what it returns, with exactly which probability."""

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.exact.coins import Words
from discreet.exact.inversion import Shape

SHRUNK = Shape(digit=2, guide=3, rest=4, more=4)
"""Base-4 digits and words of seven bits: small enough to try every coin."""


class MoreBitsError(Exception):
    def __init__(self, width: int) -> None:
        self.width = width


@dataclass
class ReplayedCoins:
    """Coins that repeat a given sequence and stop the run when it is used up."""

    outcomes: tuple[int, ...]
    position: int = field(default=0)

    def bits(self, count: int) -> int:
        if self.position == len(self.outcomes):
            raise MoreBitsError(count)
        self.position += 1
        return self.outcomes[self.position - 1]

    def words(self, count: int, width: int) -> Words:
        return np.array([self.bits(width) for _ in range(count)], dtype=np.uint64)


def enumerate_coins(
    sampler: Callable[[ReplayedCoins], Any], depth: int
) -> tuple[dict[Any, Fraction], Fraction]:
    """Return the mass certainly on each value, and the mass that `depth` bits leave open."""
    # In units of the smallest mass that so many bits can have.
    masses: dict[Any, int] = {}
    left_open, whole = 0, 2**depth
    pending: list[tuple[tuple[int, ...], int]] = [((), 0)]
    while pending:
        outcomes, used = pending.pop()
        try:
            value = sampler(ReplayedCoins(outcomes))
        except MoreBitsError as request:
            if used + request.width > depth:
                left_open += 2 ** (depth - used)
            else:
                pending += [((*outcomes, word), used + request.width) for word in range(2**request.width)]
            continue
        masses[value] = masses.get(value, 0) + 2 ** (depth - used)
    return {value: Fraction(mass, whole) for value, mass in masses.items()}, Fraction(left_open, whole)


def disagreements(
    masses: dict[Any, Fraction], left_open: Fraction, pmf: Callable[[Any], Fraction]
) -> list[Any]:
    """Return the values whose true probability the enumeration rules out."""
    return [value for value, mass in masses.items() if not mass <= pmf(value) <= mass + left_open]
