"""Continual counting under pure privacy: a tree of many children, with digits that may be negative.

Write the time t in mixed radix with balanced digits, t = sum d_j w_j, where w_0 = 1, w_{j+1} = k_j w_j and
-(k_j - 1 - k_j//2) <= d_j <= k_j//2 below the top level.  A positive digit adds d_j blocks of w_j steps to
the blocks of the higher digits, a negative one takes |d_j| blocks back.  Every block of every level has one
noise z, and the answer at time t is the exact running count plus the signed sum of the noises of the blocks
that its digits name: about k/4 of them per level, where ordinary digits need k/2.

Theorem.  Let the noise of level j be geometric at epsilon_j for sensitivity one.  Releasing all answers,
each as its time comes, is epsilon-private with epsilon = sum epsilon_j towards a change by one of one
increment, even if increments are chosen after seeing earlier answers.
Proof.  Let C be the 0/1 matrix of blocks and B that of signed digits, so that B C is the matrix of running
counts and the answers are o = B C x + B z.  Fix a transcript o; it determines both streams x, x', which
differ by e_s.  The noises that produce o from x' are those that produce it from x, shifted by C e_s: one
block per level moves by one.  Every shift changes probabilities by at most exp(sum epsilon_j), and so it
does their sum.

The blocks in the future of t that appear in an answer cancel exactly; only their noises are needed.  At
each level the last child takes part by its negative and the first by its positive, and one child in the
middle not at all, which is why two noises per child are never kept.

Reference.  Andersson, Pagh, Steiner, Torkamani, "Count on your elders: Laplace vs Gaussian noise", 2024.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import ceil

from discreet.errors import ParameterError
from discreet.exact.number import round_down
from discreet.mechanisms.geometric import Geometric
from discreet.privacy.adjacency import Adjacency
from discreet.privacy.guarantee import Pure
from discreet.workload.noise import bare, spread

_SHARE_BITS = 30
_MOST_LEVELS = 12
_WIDEST = 128


@dataclass(frozen=True, slots=True)
class LevelState:
    """The noise of one level: `settled` counts now, each of `pending` is still taken back."""

    settled: int = 0
    pending: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class TreeState:
    """How far the stream has come: steps taken, the exact count, and the noises in force.  Confidential."""

    step: int
    count: int
    levels: tuple[LevelState, ...]


@dataclass(frozen=True, slots=True)
class TreeCounter:
    """A stream of `length` steps, the radices below the top level, and the noise of every level."""

    length: int
    radices: tuple[int, ...]
    noises: tuple[Geometric, ...]
    each: int = 1

    def __post_init__(self) -> None:
        if self.length < 1:
            raise ParameterError(f"a stream has at least one step, got {self.length}")
        if any(radix < 2 for radix in self.radices) or len(self.noises) != len(self.radices) + 1:
            raise ParameterError(
                "a tree needs radices of at least 2 and one noise for each level and the top"
            )

    @classmethod
    def calibrate(
        cls,
        length: int,
        guarantee: Pure,
        adjacency: Adjacency = Adjacency.ADD_REMOVE,
        *,
        radix: int | None = None,
    ) -> "TreeCounter":
        """Return the tree with the least mean squared error, over radices and shares of epsilon."""
        if guarantee.cost <= 0:
            raise ParameterError("a stream needs an epsilon greater than 0")
        widths = range(2, _WIDEST + 1) if radix is None else range(radix, radix + 1)
        shapes = [(k,) * h for h in range(_MOST_LEVELS) for k in widths if h == 0 or k**h <= length]
        radices = min(set(shapes), key=lambda shape: (sum(u ** (1 / 3) for u in _uses(length, shape)), shape))
        roots = [use ** (1 / 3) for use in _uses(length, radices)]
        shares = [round_down(Fraction(root / sum(roots)), _SHARE_BITS) for root in roots]
        each = 1 if adjacency is Adjacency.ADD_REMOVE else 2
        noises = tuple(
            bare(
                Geometric.calibrate(
                    epsilon=guarantee.cost * max(share, Fraction(1, 2**_SHARE_BITS)), sensitivity=each
                )
            )
            for share in shares
        )
        return cls(length, radices, noises, each)

    @property
    def guarantee(self) -> Pure:
        """The privacy of the whole stream of answers: one block per level moves."""
        return Pure(sum((noise.guarantee(self.each).cost for noise in self.noises), Fraction(0)))

    def start(self) -> TreeState:
        """Return the state before the first step."""
        return TreeState(0, 0, (LevelState(),) * len(self.noises))

    def step(self, state: TreeState, increment: int) -> tuple[TreeState, int]:
        """Return the state after one more increment and the noisy count to release, in O(k log n) time."""
        if state.step >= self.length:
            raise ParameterError(
                f"the stream was planned for {self.length} steps and they have all been taken"
            )
        step = state.step + 1
        rising = self._rising(step)
        levels = list(state.levels)
        for j in range(rising):
            levels[j] = LevelState(0, self._draw(j, _below(self.radices[j])))
        current = levels[rising]
        if current.pending:
            levels[rising] = LevelState(current.settled, current.pending[1:])
        else:
            levels[rising] = LevelState(current.settled + self._draw(rising, 1)[0])
        after = TreeState(step, state.count + int(increment), tuple(levels))
        return after, after.count + noise_now(after)

    def digits(self, step: int) -> tuple[int, ...]:
        """Return the balanced digits of a time, lowest first."""
        return tuple(_digits(step, self.radices))

    def variance(self, step: int) -> float:
        """Return the variance of the answer at one time."""
        pairs = zip(self.digits(step), self.noises, strict=True)
        return sum(abs(digit) * spread(noise) for digit, noise in pairs)

    def mean_squared_error(self) -> float:
        """Return the mean over all times of the variance of the answer."""
        uses = exact_uses(self.length, self.radices)
        return sum(use * spread(noise) for use, noise in zip(uses, self.noises, strict=True))

    def _draw(self, level: int, count: int) -> tuple[int, ...]:
        return tuple(self.noises[level].sample(0) for _ in range(count))

    def _rising(self, step: int) -> int:
        """Return the level whose digit grows by one at this step, all below having wrapped round."""
        for level, (digit, radix) in enumerate(zip(self.digits(step), self.radices, strict=False)):
            if digit != -_below(radix):
                return level
        return len(self.radices)


def noise_now(state: TreeState) -> int:
    """Return the sum of the noises in force."""
    return sum(level.settled - sum(level.pending) for level in state.levels)


def exact_uses(length: int, radices: tuple[int, ...]) -> list[float]:
    """Return the mean of |digit| over the times 1 .. length, per level."""
    import numpy as np

    times = np.arange(1, length + 1, dtype=np.int64)
    uses = []
    for radix in radices:
        digit = (times + _below(radix)) % radix - _below(radix)
        uses.append(float(np.abs(digit).mean()))
        times = (times - digit) // radix
    return [*uses, float(np.abs(times).mean())]


def _uses(length: int, radices: tuple[int, ...]) -> list[float]:
    """Return nearly the same without running over all times, for the search."""
    uses, place = [], 1
    for radix in radices:
        above = radix // 2
        uses.append((above * (above + 1) + _below(radix) * (_below(radix) + 1)) / (2 * radix))
        place *= radix
    top = ceil(length / place)
    return [*uses, (top + 1) / 2 if not radices else max(length / place / 2, 0.5)]


def _below(radix: int) -> int:
    return radix - 1 - radix // 2


def _digits(step: int, radices: tuple[int, ...]) -> Iterator[int]:
    for radix in radices:
        digit = (step + _below(radix)) % radix - _below(radix)
        yield digit
        step = (step - digit) // radix
    yield step
