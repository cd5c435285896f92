"""Exact probabilities of linear events under Laplace and exponential noise.

Numbers.  A sum of c * exp(r) with rational c and r.  By the Lindemann-Weierstrass theorem such a sum, written
with distinct r and non-zero c, is zero only when it is empty; so its sign is found by evaluating it in ball
arithmetic at growing precision, and the search always ends.

Functions.  Piecewise sums of c * t**k * exp(b t) with rational breakpoints, closed under products,
integration and substitution of a linear function.

Theorem (elimination).  Let independent noises with such densities satisfy linear inequalities in at most
two noises each, and let the graph that joins the noises of an inequality be a forest.  Integrating a leaf
out turns its inequalities into a factor that is a piecewise function of its neighbour alone; repeating
this computes the probability of the event exactly.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from math import ceil, floor

from flint import arb, ctx

from discreet.exact.number import ball

Number = Mapping[Fraction, Fraction]
"""r -> c, standing for the sum of c * exp(r)."""

ZERO: Number = {}
UNIT: Number = {Fraction(0): Fraction(1)}


def add(a: Number, b: Number, factor: Fraction | int = 1) -> Number:
    """Return a + factor * b."""
    result = dict(a)
    for r, c in b.items():
        term, known = (c if factor == 1 else c * factor), result.get(r)
        value = term if known is None else known + term
        if value:
            result[r] = value
        else:
            result.pop(r, None)
    return result


def multiply(a: Number, b: Number) -> Number:
    """Return a * b."""
    if a == UNIT or b == UNIT:
        return b if a == UNIT else a
    result: dict[Fraction, Fraction] = {}
    for r, c in a.items():
        for s, d in b.items():
            known = result.get(key := r + s)
            result[key] = c * d if known is None else known + c * d
    return {r: c for r, c in result.items() if c}


def shifted(a: Number, exponent: Fraction, factor: Fraction | int = 1) -> Number:
    """Return factor * exp(exponent) * a."""
    if factor == 1:
        return {r + exponent: c for r, c in a.items()} if exponent else a
    return {r + exponent: c * factor for r, c in a.items()} if factor else {}


def enclosure(a: Number, precision: int = 96) -> arb:
    """Return a ball that contains the number."""
    with ctx.workprec(precision):
        total = arb(0)
        for r, c in a.items():
            total += ball(c) * ball(r).exp()
        return total


def sign(a: Number) -> int:
    """Return -1, 0 or 1, certified."""
    if not a:
        return 0
    precision = 64
    while True:
        value = enclosure(a, precision)
        if value > 0:
            return 1
        if value < 0:
            return -1
        precision *= 2


Piece = Mapping[tuple[int, Fraction], Number]
"""(k, b) -> c, standing for the sum of c * t**k * exp(b t)."""


@dataclass(frozen=True, slots=True, eq=False)
class Function:
    """A piecewise function: pieces[i] holds between breaks[i-1] and breaks[i]; compared by identity."""

    breaks: tuple[Fraction, ...]
    pieces: tuple[Piece, ...]

    def piece_at(self, low: Fraction | None) -> Piece:
        """Return the piece just to the right of a point, or the leftmost."""
        if low is None:
            return self.pieces[0]
        return self.pieces[sum(b <= low for b in self.breaks)]


def product(f: Function, g: Function) -> Function:
    """Return f * g."""
    breaks = tuple(sorted({*f.breaks, *g.breaks}))
    starts: list[Fraction | None] = [None, *breaks]
    return Function(breaks, tuple(_times(f.piece_at(s), g.piece_at(s)) for s in starts))


def _times(p: Piece, q: Piece) -> Piece:
    result: dict[tuple[int, Fraction], Number] = {}
    for (k, b), c in p.items():
        for (m, d), e in q.items():
            key = (k + m, b + d)
            result[key] = add(result.get(key, ZERO), multiply(c, e))
    return {key: c for key, c in result.items() if c}


def restricted(f: Function, low: Fraction | None, high: Fraction | None) -> Function:
    """Return f inside (low, high) and zero outside."""
    if low is None and high is None:
        return f
    limits = [x for x in (low, high) if x is not None]
    breaks = tuple(sorted({*f.breaks, *limits}))
    starts: list[Fraction | None] = [None, *breaks]
    pieces = []
    for start in starts:
        inside = (low is None or (start is not None and start >= low)) and (
            high is None or start is None or start < high
        )
        pieces.append(f.piece_at(start) if inside else {})
    return Function(breaks, tuple(pieces))


def _antiderivative(p: Piece) -> Piece:
    result: dict[tuple[int, Fraction], Number] = {}
    for (k, b), c in p.items():
        if b == 0:
            result[(k + 1, b)] = add(result.get((k + 1, b), ZERO), c, Fraction(1, k + 1))
            continue
        factor = 1 / b
        for i in range(k + 1):
            key = (k - i, b)
            result[key] = add(result.get(key, ZERO), c, factor)
            factor *= -Fraction(k - i) / b
    return {key: c for key, c in result.items() if c}


def _value(p: Piece, t: Fraction) -> Number:
    total: Number = ZERO
    for (k, b), c in p.items():
        total = add(total, shifted(c, b * t, t**k if k else 1))
    return total


@lru_cache(maxsize=1024)
def cumulative(f: Function) -> Function:
    """Return x -> integral of f from minus infinity to x; f must vanish fast at minus infinity."""
    pieces: list[Piece] = []
    before: Number = ZERO
    for place, piece in enumerate(f.pieces):
        inner = dict(_antiderivative(piece))
        # Minus infinity contributes nothing: the leftmost piece decays, or is zero.
        offset = before if place == 0 else add(before, _value(inner, f.breaks[place - 1]), -1)
        inner[(0, Fraction(0))] = add(inner.get((0, Fraction(0)), ZERO), offset)
        pieces.append({key: c for key, c in inner.items() if c})
        if place < len(f.breaks):
            before = _value(pieces[-1], f.breaks[place])
    return Function(f.breaks, tuple(pieces))


def total(f: Function) -> Number:
    """Return the integral of f over the whole line; f must vanish fast at both ends."""
    last = cumulative(f).pieces[-1]
    # What is left at plus infinity is the constant: every other term of the last piece decays.
    return last.get((0, Fraction(0)), ZERO)


def composed(f: Function, slope: Fraction, offset: Fraction) -> Function:
    """Return t -> f(slope t + offset) for a non-zero slope."""
    breaks = [(b - offset) / slope for b in f.breaks]
    pieces = [_substituted(p, slope, offset) for p in f.pieces]
    if slope < 0:
        breaks.reverse()
        pieces.reverse()
    return Function(tuple(breaks), tuple(pieces))


def _substituted(p: Piece, slope: Fraction, offset: Fraction) -> Piece:
    result: dict[tuple[int, Fraction], Number] = {}
    for (k, b), c in p.items():
        base = shifted(c, b * offset)
        coefficient, power = 1, k
        # (slope t + offset)**k by the binomial theorem
        for i in range(k + 1):
            factor = coefficient * slope ** (k - i) * offset**i
            if factor:
                key = (k - i, b * slope)
                result[key] = add(result.get(key, ZERO), base, factor)
            coefficient = coefficient * power // (i + 1)
            power -= 1
    return {key: c for key, c in result.items() if c}


@lru_cache(maxsize=256)
def laplace(scale: Fraction) -> Function:
    """Return the density exp(-|t| / b) / (2 b)."""
    rate, height = 1 / scale, {Fraction(0): 1 / (2 * scale)}
    return Function((Fraction(0),), ({(0, rate): height}, {(0, -rate): height}))


@lru_cache(maxsize=256)
def exponential(scale: Fraction) -> Function:
    """Return the density exp(-t / b) / b for t >= 0."""
    return Function((Fraction(0),), ({}, {(0, -1 / scale): {Fraction(0): 1 / scale}}))


@lru_cache(maxsize=256)
def uniform(low: Fraction, high: Fraction) -> Function:
    """Return the uniform density on an interval."""
    return Function((low, high), ({}, {(0, Fraction(0)): {Fraction(0): 1 / (high - low)}}, {}))


@dataclass(frozen=True, slots=True)
class LatticeLaw:
    """The law of an integer k with probability proportional to exp(-|k| / scale)."""

    scale: Fraction

    def normaliser(self) -> Number:
        """Return 1 + a for a = exp(-1 / scale): masses are computed as multiples of its inverse."""
        return {Fraction(0): Fraction(1), -1 / self.scale: Fraction(1)}

    def above(self, least: int) -> Number:
        """Return (1 + a) Pr[k >= least]."""
        if least >= 1:
            return {Fraction(-least) / self.scale: Fraction(1)}
        return add(self.normaliser(), {Fraction(least - 1) / self.scale: Fraction(1)}, -1)

    def between(self, least: int | None, most: int | None) -> Number:
        """Return (1 + a) Pr[least <= k <= most]."""
        if least is not None and most is not None and least > most:
            return ZERO
        upper = ZERO if most is None else self.above(most + 1)
        return add(self.normaliser() if least is None else self.above(least), upper, -1)


@dataclass(frozen=True, slots=True)
class NormalLaw:
    """The normal law of a standard deviation on the line, or on the integers; only `bell` integrates it."""

    scale: Fraction
    whole: bool


@dataclass(frozen=True, slots=True)
class GumbelLaw:
    """The law Pr[z <= t] = exp(-exp(-t / scale)); `race` knows which of several is the largest."""

    scale: Fraction


Density = Function | LatticeLaw | NormalLaw | GumbelLaw


def is_lattice(density: Density) -> bool:
    """Return whether a law lives on the integers."""
    return isinstance(density, LatticeLaw) or (isinstance(density, NormalLaw) and density.whole)


def scale_of(density: Density) -> Fraction:
    """Return by how much the slowest tail of a law falls to a fraction 1/e; 1 for a law without tails."""
    if not isinstance(density, Function):
        return density.scale
    rates = [abs(b) for piece in density.pieces for _, b in piece if b]
    return 1 / min(rates) if rates else Fraction(1)


@dataclass(frozen=True, slots=True)
class Inequality:
    """constant + sum of coefficient * noise >= 0, or > 0; strictness only matters for integers."""

    constant: Fraction
    coefficients: tuple[tuple[int, Fraction], ...]
    strict: bool = False

    def integer_bound(self) -> tuple[int | None, int | None]:
        """Return the least and the most that an inequality in one integer allows it to be."""
        ((_, slope),) = self.coefficients
        bound = -self.constant / slope
        if slope > 0:
            return (floor(bound) + 1 if self.strict else ceil(bound)), None
        return None, (ceil(bound) - 1 if self.strict else floor(bound))


class TooHardError(Exception):
    """The event is outside what elimination can integrate."""


def probability(densities: Mapping[int, Function], event: Sequence[Inequality]) -> Number:
    """Return the exact probability that all inequalities hold; noises outside the event integrate to one."""
    low: dict[int, Fraction] = {}
    high: dict[int, Fraction] = {}
    edges: dict[frozenset[int], list[Inequality]] = {}
    for item in event:
        match item.coefficients:
            case ():
                if item.constant < 0 or (item.strict and item.constant == 0):
                    return ZERO
            case ((noise, slope),):
                bound = -item.constant / slope
                if slope > 0:
                    low[noise] = max(bound, low.get(noise, bound))
                else:
                    high[noise] = min(bound, high.get(noise, bound))
            case ((first, _), (second, _)):
                edges.setdefault(frozenset((first, second)), []).append(item)
            case _:
                raise TooHardError("an inequality joins more than two noises")
    used = {n for edge in edges for n in edge} | low.keys() | high.keys()
    functions: dict[int, Function] = {}
    for noise in used:
        bottom, top = low.get(noise), high.get(noise)
        if bottom is not None and top is not None and bottom >= top:
            return ZERO
        functions[noise] = restricted(densities[noise], bottom, top)
    return _eliminate(functions, edges)


def _eliminate(functions: dict[int, Function], edges: dict[frozenset[int], list[Inequality]]) -> Number:
    result: Number = UNIT
    while functions:
        degree = {n: sum(n in edge for edge in edges) for n in functions}
        leaf = min(functions, key=lambda n: (degree[n], n))
        if degree[leaf] == 0:
            result = multiply(result, total(functions.pop(leaf)))
            if not result:
                return ZERO
            continue
        if degree[leaf] > 1:
            raise TooHardError("the inequalities join the noises in a circle")
        edge = next(e for e in edges if leaf in e)
        (hub,) = edge - {leaf}
        factor = _leaf_factor(functions.pop(leaf), leaf, hub, edges.pop(edge))
        functions[hub] = product(functions[hub], factor)
    return result


Line = tuple[Fraction, Fraction]
"""slope, offset"""


def _leaf_factor(density: Function, leaf: int, hub: int, bounds: list[Inequality]) -> Function:
    """Return h -> integral of the leaf's density over what its inequalities with the hub at h allow."""
    lows: list[Line] = []
    highs: list[Line] = []
    for item in bounds:
        coefficients = dict(item.coefficients)
        line = (-coefficients[hub] / coefficients[leaf], -item.constant / coefficients[leaf])
        (lows if coefficients[leaf] > 0 else highs).append(line)
    return _between(density, tuple(lows), tuple(highs))


@lru_cache(maxsize=4096)
def _between(density: Function, lows: tuple[Line, ...], highs: tuple[Line, ...]) -> Function:
    """Return h -> integral of a density between the highest of some lines and the lowest of others, at h."""
    below = cumulative(density)
    whole = total(density)
    everything = [*lows, *highs]
    crossings = sorted(
        {(d - b) / (a - c) for i, (a, b) in enumerate(everything) for c, d in everything[i + 1 :] if a != c}
    )
    breaks: list[Fraction] = []
    pieces: list[Piece] = []
    edges: list[Fraction | None] = [None, *crossings, None]
    for start, end in pairwise(edges):
        middle = _inside(start, end)
        bottom = max(lows, key=lambda line: line[0] * middle + line[1]) if lows else None
        top = min(highs, key=lambda line: line[0] * middle + line[1]) if highs else None
        cell = _difference(below, whole, bottom, top, middle)
        inner = [b for b in cell.breaks if (start is None or b > start) and (end is None or b < end)]
        points: list[Fraction | None] = [start, *inner]
        for place, point in enumerate(points):
            if place or start is not None:
                breaks.append(point)  # type: ignore[arg-type]
            pieces.append(cell.piece_at(point))
    return Function(tuple(breaks), tuple(pieces))


def _inside(start: Fraction | None, end: Fraction | None) -> Fraction:
    if start is None:
        return Fraction(0) if end is None else end - 1
    return start + 1 if end is None else (start + end) / 2


def _difference(
    below: Function,
    whole: Number,
    bottom: Line | None,
    top: Line | None,
    middle: Fraction,
) -> Function:
    """Return the mass between two lines, for hub values around `middle` where their order is fixed."""
    if bottom is not None and top is not None:
        if bottom[0] * middle + bottom[1] >= top[0] * middle + top[1]:
            return Function((), ({},))
        return _minus(_along(below, top), _along(below, bottom))
    if top is not None:
        return _along(below, top)
    if bottom is None:
        raise TooHardError("an edge without inequalities")
    return _minus(Function((), ({(0, Fraction(0)): whole} if whole else {},)), _along(below, bottom))


def _along(below: Function, line: Line) -> Function:
    if line[0] == 0:
        piece = below.piece_at(line[1])
        value = _value(piece, line[1])
        return Function((), ({(0, Fraction(0)): value} if value else {},))
    return composed(below, *line)


def _minus(f: Function, g: Function) -> Function:
    breaks = tuple(sorted({*f.breaks, *g.breaks}))
    starts: list[Fraction | None] = [None, *breaks]
    pieces: list[Piece] = []
    for start in starts:
        piece = dict(f.piece_at(start))
        for key, c in g.piece_at(start).items():
            piece[key] = add(piece.get(key, ZERO), c, -1)
        pieces.append({key: c for key, c in piece.items() if c})
    return Function(breaks, tuple(pieces))
