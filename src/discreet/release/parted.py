"""Cells that were measured in blocks of like ones: their intervals, and counts that are possible.

The cells of a block are shown as equal parts of its noisy count (see `discreet.query.price.sparse`).  Counts
of blocks become the nearest ones of the same sum without negative ones: raising the negative ones alone would
add people where there are none.
"""

from fractions import Fraction
from itertools import chain

import numpy as np

from discreet.query.check.formula import Public, Span
from discreet.query.plan import given
from discreet.query.price.expected import Quote
from discreet.query.price.together import rounded
from discreet.release.noisy import Noisy, in_blocks
from discreet.workload.nearest import nearest_counts


def parted(priced: Quote, noisy: Noisy, confidence: Fraction) -> tuple[Span, ...]:
    """Return the interval of every cell, in natural units."""
    scale, blocks = given(in_blocks(priced))
    beta = 1 - confidence
    found: list[Span] = []
    for value, width in _blocks(noisy):
        low, high = blocks.holds(value * width * scale, width, beta)
        found += [(low / scale, high / scale)] * width
    return tuple(found)


def possible(noisy: Noisy) -> Noisy:
    """Return cells of which none is negative, with the sum that was drawn where that is not negative."""
    drawn = [(value * width, width) for value, width in _blocks(noisy)]
    counts = np.array([float(count) for count, _ in drawn])
    near = nearest_counts(counts, max(float(counts.sum()), 0.0))
    cells: tuple[Public, ...] = tuple(
        chain.from_iterable(
            [rounded(Fraction(float(count)) / width)] * width
            for count, (_, width) in zip(near, drawn, strict=True)
        )
    )
    return Noisy(noisy.keys, (cells,), noisy.widths)


def _blocks(noisy: Noisy) -> list[tuple[Fraction, int]]:
    """Return what is shown of each cell of a block, and how many cells it has."""
    starts, place = [], 0
    while place < len(noisy.widths):
        starts.append(place)
        place += noisy.widths[place]
    return [(Fraction(noisy.values[0][start]), noisy.widths[start]) for start in starts]  # type: ignore[arg-type]
