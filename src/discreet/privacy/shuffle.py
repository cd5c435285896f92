"""Shuffled reports: what n local reports promise to whoever sees them without their senders.

Let n people each send a report of odds o = exp(epsilon_0), and let a shuffler remove who sent what.

Theorem (clones).  Each of the others' reports is, with some probability s, a fair coin between what the one
person in question would send with either of two data.  With C such clones among n - 1, A a fair binomial
number of them and D a coin of odds o, the two shuffled outputs are post-processings of (A + D, C - A + 1 - D)
and of the same with D and 1 - D exchanged.  Any local report has s = 1 / o.  A k-ary randomised response,
which sends the truth with probability t and each other value with probability l, has s = 2 l (its blanket);
and with probability 1 - t - l its person sends a third value, which says nothing, so the curve is t + l times
as high.

Given C = c, the excess of the pair at x = exp(epsilon) is that of the event {a >= m}, where m is the least
whole number above (c + 1) (x o - 1) / ((o - 1) (1 + x)):  with T the upper tail of a fair binomial of c,

    g(c) = [(o - x) T(m - 1) - (x o - 1) T(m)] / (o + 1),

which falls with c, because one clone more is a post-processing.  So a sum over blocks of c, with the largest
g of each, is an upper bound.

What is attained.  Two values among up to a thousand people are computed exactly (`discreet.privacy.crowd`).
Beyond, if all the others have the same value, the number of their lies in binary response is binomial, which
says something from below; so it does of reports of which only the epsilon is known.

More values.  If all the others have a third value, each of them is a clone with probability 2 l exactly, and
who sees the reports sees how many say either of the two values in question.  That number is c + 1 with chance
(t + l) P[C = c] if the person sends one of them, and with chance (1 - t - l) P[C = c + 1] = r P[C = c] if she
sends another value; then one clone more stands for her, a fair coin.  So given c + 1 the pair is that of c
clones and a coin of the odds (t + r / 2) / (l + r / 2), and the average of its excess is attained.  The odds
rise with c, since r falls, and the excess rises with the odds and falls with c: within a block it is at least
that of the first odds and the last c.

References.  Feldman, McMillan, Talwar, "Hiding among the clones", FOCS 2021; Balle, Bell, Gascon, Nissim,
"The privacy blanket of the shuffle model", CRYPTO 2019.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor, sqrt
from typing import Protocol, runtime_checkable

import numpy as np
from flint import arb, ctx

from discreet.errors import ParameterError
from discreet.exact.number import Real, ball, exp_bounds, float_down, log_bounds, non_negative, shown, whole
from discreet.privacy.adjacency import Adjacency
from discreet.privacy.bounds import Bounds
from discreet.privacy.compose import Release, compose
from discreet.privacy.crowd import LOST, MOST_EXACT, excess
from discreet.privacy.guarantee import small_delta
from discreet.privacy.normal import Reals

MOST_PEOPLE = 10**8
SLIP = Fraction(LOST)
"""Of windows and tails too: up to 2**17 terms each."""

_ROUNDED = 1 - Fraction(1, 2**60)
"""The odds may be rounded up by one part in 2**96."""

_BLOCKS, _FEW, _FAR = 192, 48, 14.0


@dataclass(frozen=True, slots=True)
class Shuffled:
    """The promise of `people` shuffled reports: odds, the chance of a clone, and of a report that matters."""

    odds: Fraction
    clone: Fraction
    weight: Fraction
    people: int
    categories: int | None = None
    """How many values a randomised response has; None for a report of which only the odds are known."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "people", whole(self.people, "people"))
        if not 1 <= self.people <= MOST_PEOPLE:
            raise ParameterError(
                f"people must be a whole number from 1 to {MOST_PEOPLE}, got {shown(self.people)}"
            )

    @property
    def local(self) -> Fraction:
        """Return the epsilon of one report by itself, rounded up."""
        return log_bounds(self.odds)[1] if self.odds > 1 else Fraction(0)

    def delta(self, epsilon: Real) -> Bounds:
        """Return the smallest delta that the shuffled reports promise at this epsilon."""
        at = non_negative(epsilon, "epsilon")
        high = self._most(at)
        return Bounds(min(self._least(at), high), high, "clones")

    def epsilon(self, delta: Real = 0) -> Bounds:
        """Return the smallest epsilon that the shuffled reports promise at this delta."""
        at, top = small_delta(delta), self.local
        if at == 0:
            return Bounds(Fraction(0), top, "local")
        if self._most(Fraction(0)) <= at:
            return Bounds(Fraction(0), Fraction(0), "clones")
        high = _crossing(lambda epsilon: self._most(epsilon) <= at, top)[1]
        low = _crossing(lambda epsilon: self._least(epsilon) < at, top)[0]
        return Bounds(min(low, high), high, "clones")

    def _most(self, epsilon: Fraction) -> Fraction:
        """Return an upper bound on delta."""
        if epsilon >= self.local:
            return Fraction(0)
        x = exp_bounds(epsilon)[0] if epsilon else Fraction(1)
        if self.categories == 2 and self.people <= MOST_EXACT and x < self.odds:
            return min(Fraction(1), excess(self.odds, x, self.people)[1])
        return self._cloned(x)

    def _least(self, epsilon: Fraction) -> Fraction:
        """Return a delta that is attained."""
        x = exp_bounds(epsilon)[1] if epsilon else Fraction(1)
        if x >= self.odds:
            return Fraction(0)
        if self.categories not in (None, 2):
            return self._third(x) * _ROUNDED
        if self.people <= MOST_EXACT:
            return excess(self.odds, x, self.people)[0] * _ROUNDED
        return self._same(x) * _ROUNDED

    def _cloned(self, x: Fraction) -> Fraction:
        """Return the curve of the pair at x, rounded up."""
        first, masses = _masses(self.people - 1, self.clone)
        starts = _starts(masses, _BLOCKS)
        sums = np.add.reduceat(masses, starts)
        most = sum(
            (
                Fraction(float(mass)) * _excess(self.odds, x, first + int(start), SLIP)
                for mass, start in zip(sums, starts, strict=True)
            ),
            Fraction(0),
        )
        # Other numbers of clones are so unlikely that only their chance counts.
        missing = _beyond(self.people - 1, self.clone, first, masses)
        return min(Fraction(1), self.weight * (most * (1 + SLIP) + missing))

    def _same(self, x: Fraction) -> Fraction:
        """Return a delta that binary response attains when all the others have the same value."""
        o, lie, others = self.odds, 1 / (1 + self.odds), self.people - 1
        best = Fraction(0)
        for chance in (lie, 1 - lie):
            top = self.people * (x * o - 1) * chance
            edge = top / ((1 - chance) * (o - x) + (x * o - 1) * chance)
            m = floor(edge) + 1
            tail, term = _tail(others, chance, m)
            here = (o - x) * (tail + term) * (1 - SLIP) - (x * o - 1) * tail * (1 + SLIP)
            best = max(best, here / (o + 1))
        return best

    def _third(self, x: Fraction) -> Fraction:
        """Return a delta that responses of more values attain when all the others have a third value."""
        lie, others = self.clone / 2, self.people - 1
        truth, elsewhere = self.weight - lie, 1 - self.weight
        first, masses = _masses(others, self.clone)
        starts = _starts(masses, _FEW)

        def share(clones: int) -> Fraction:
            """Return r."""
            return elsewhere * (others - clones) * self.clone / ((clones + 1) * (1 - self.clone))

        found = Fraction(0)
        for start, stop in zip(starts, [*starts[1:], len(masses)], strict=True):
            loose = share(first + start) / 2
            odds = Fraction(float_down((truth + loose) / (lie + loose)))
            if odds > x:
                sent = float(masses[start:stop].sum()) * float(self.weight + share(first + stop - 1))
                found += Fraction(sent) * (1 - SLIP) * _excess(odds, x, first + stop - 1, -SLIP)
        return found


@runtime_checkable
class Shuffling(Protocol):
    """A local report that knows what its shuffled reports promise."""

    def shuffled(self, people: int) -> Shuffled:
        """Return the promise of so many shuffled reports."""
        ...


def shuffled(local: Release | Shuffling, people: int) -> Shuffled:
    """Return what so many people's shuffled reports promise; each is local, with a pure epsilon of its own.

    Neighbours replace one person's data.  Randomised response is known better than by its epsilon.
    """
    if isinstance(local, Shuffling):
        return local.shuffled(people)
    whole_report = compose([local])
    if Adjacency.ADD_REMOVE in whole_report.neighbours:
        raise ParameterError(
            "shuffled reports are about replacing a person's data, and this one was sampled under add-remove "
            "neighbours; give its epsilon about replacing, such as dp.Pure(1)"
        )
    cost = whole_report.epsilon().high
    if cost is None:
        raise ParameterError("shuffling is known for reports that are purely private, such as dp.Pure(1)")
    odds = exp_bounds(cost)[1] if cost else Fraction(1)
    return Shuffled(odds, 1 / odds, Fraction(1), people)


def _excess(o: Fraction, x: Fraction, clones: int, slip: Fraction) -> Fraction:
    """Return g(clones), rounded up, or down with a negative slip."""
    edge = (clones + 1) * (x * o - 1) / ((o - 1) * (1 + x))
    tail, term = _tail(clones, Fraction(1, 2), floor(edge) + 1)
    gain, loss = (o - x) * (tail + term) * (1 + slip), (x * o - 1) * tail * (1 - slip)
    return max((gain - loss) / (o + 1), Fraction(0))


def _starts(masses: Reals, blocks: int) -> list[int]:
    """Return where the blocks of a window begin."""
    count = min(blocks, len(masses))
    return sorted({(len(masses) - 1) * block // max(count - 1, 1) for block in range(count)})


def _tail(n: int, p: Fraction, m: int) -> tuple[Fraction, Fraction]:
    """Return about the chance of at least m among n, and that of m - 1 exactly, both up to LOST."""
    if m > n:
        return Fraction(0), (Fraction(_term(n, p, m - 1)) if m - 1 <= n else Fraction(0))
    if m <= 0:
        return Fraction(1), Fraction(0)
    if m <= n * p:
        # Below the middle the complement is summed, downwards from m - 1.
        rest, term = _tail(n, 1 - p, n - m + 1), _term(n, p, m - 1)
        return max(1 - rest[0], Fraction(0)), Fraction(term)
    odds = float(p / (1 - p))
    count = min(n - m + 1, ceil(60 * sqrt(n * float(p * (1 - p)) + 1)) + 200)
    steps = np.arange(m, m + count - 1, dtype=np.float64)
    terms = np.cumprod(np.append(1.0, (n - steps) / (steps + 1) * odds))
    start = _term(n, p, m)
    return Fraction(float(terms.sum()) * start), Fraction(_term(n, p, m - 1))


def _term(n: int, p: Fraction, k: int) -> float:
    """Return the chance of exactly k among n, rounded to a float."""
    if not 0 <= k <= n:
        return 0.0

    with ctx.workprec(128):
        ways = (arb(n + 1).lgamma() - arb(k + 1).lgamma() - arb(n - k + 1).lgamma()).exp()
        return float((ways * ball(p) ** k * ball(1 - p) ** (n - k)).mid())


def _masses(n: int, p: Fraction) -> tuple[int, Reals]:
    """Return the first number of a window around the mean, and the chances from there on."""
    spread = _FAR * sqrt(n * float(p * (1 - p))) + 40
    middle = floor((n + 1) * p) if p < 1 else n
    first, last = max(0, floor(middle - spread)), min(n, ceil(middle + spread))
    odds = float(p / (1 - p)) if p < 1 else np.inf
    up = np.arange(middle, last, dtype=np.float64)
    down = np.arange(middle, first, -1, dtype=np.float64)
    above = np.cumprod((n - up) / (up + 1) * odds)
    below = np.cumprod(down / (n - down + 1) / odds)[::-1]
    return first, np.asarray(_term(n, p, middle) * np.concatenate([below, [1.0], above]))


def _beyond(n: int, p: Fraction, first: int, masses: Reals) -> Fraction:
    """Return a bound on the chance of everything outside the window: chances fall geometrically there."""
    last = first + len(masses) - 1
    below, above = first * (1 - p) / ((n - first + 1) * p), (n - last) * p / ((last + 1) * (1 - p))
    edges = (Fraction(float(masses[0])) * below / (1 - below) if first else Fraction(0)) + (
        Fraction(float(masses[-1])) * above / (1 - above) if last < n else Fraction(0)
    )
    return 2 * edges + Fraction(1, 2**900)


def _crossing(holds: Callable[[Fraction], bool], top: Fraction) -> tuple[Fraction, Fraction]:
    """Return ends close together: at the first the predicate fails, or it is 0; at the second it holds."""
    low, high = Fraction(0), top
    while high - low > top / 2**16 and high - low > high / 2**13:
        middle = (low + high) / 2
        middle = Fraction(float(middle))
        low, high = (low, middle) if holds(middle) else (middle, high)
    return low, high
