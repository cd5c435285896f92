"""The two textbook ways to release running sums, kept for comparison with the good ones.

Noise on every prefix: one person moves all later prefixes, so n of them need noise n times as wide (pure)
or sqrt(n) times as wide (Gaussian).  Noise on every item, summed up: the noise of one item suffices for
privacy, since the items are a histogram and the sums are post-processing, but the errors add up.

With the same epsilon the mean squared errors are about 2 n**2 / epsilon**2 and (n + 1) / epsilon**2.
"""

from dataclasses import dataclass

from discreet.errors import ParameterError
from discreet.privacy.adjacency import Adjacency
from discreet.privacy.sensitivity import Sensitivity, histogram, prefix_sums
from discreet.workload.noise import Noise, Promise, bare, calibrated, promised, spread


@dataclass(frozen=True, slots=True)
class RunningState:
    """Steps taken, the exact count, and the noise carried along.  Confidential."""

    step: int
    count: int
    noise: int


@dataclass(frozen=True, slots=True)
class EachPrefix:
    """Every running sum gets its own noise."""

    length: int
    noise: Noise
    adjacency: Adjacency = Adjacency.ADD_REMOVE

    @classmethod
    def calibrate(
        cls, length: int, guarantee: Promise, adjacency: Adjacency = Adjacency.ADD_REMOVE
    ) -> "EachPrefix":
        """Return the least noise that keeps the promise for all running sums together."""
        return cls(length, bare(calibrated(guarantee, _all_prefixes(length))), adjacency)

    @property
    def guarantee(self) -> Promise:
        """The privacy of the whole stream of answers."""
        return promised(self.noise, _all_prefixes(self.length))

    def start(self) -> RunningState:
        """Return the state before the first step."""
        return RunningState(0, 0, 0)

    def step(self, state: RunningState, increment: int) -> tuple[RunningState, int]:
        """Return the state after one more increment and the noisy sum to release."""
        _require_room(state.step, self.length)
        after = RunningState(state.step + 1, state.count + int(increment), 0)
        return after, int(self.noise.sample(after.count))

    def variance(self, step: int) -> float:
        """Return the variance of the answer at one time."""
        return spread(self.noise)

    def mean_squared_error(self) -> float:
        """Return the mean over all times of the variance of the answer."""
        return spread(self.noise)


@dataclass(frozen=True, slots=True)
class EachItem:
    """Every increment gets its own noise, and the noisy increments are summed up."""

    length: int
    noise: Noise
    adjacency: Adjacency = Adjacency.ADD_REMOVE

    @classmethod
    def calibrate(
        cls, length: int, guarantee: Promise, adjacency: Adjacency = Adjacency.ADD_REMOVE
    ) -> "EachItem":
        """Return the least noise that keeps the promise for all increments together."""
        return cls(length, bare(calibrated(guarantee, histogram(adjacency))), adjacency)

    @property
    def guarantee(self) -> Promise:
        """The privacy of the whole stream of answers."""
        return promised(self.noise, histogram(self.adjacency))

    def start(self) -> RunningState:
        """Return the state before the first step."""
        return RunningState(0, 0, 0)

    def step(self, state: RunningState, increment: int) -> tuple[RunningState, int]:
        """Return the state after one more increment and the noisy sum to release."""
        _require_room(state.step, self.length)
        noise = state.noise + int(self.noise.sample(0))
        after = RunningState(state.step + 1, state.count + int(increment), noise)
        return after, after.count + after.noise

    def variance(self, step: int) -> float:
        """Return the variance of the answer at one time."""
        return step * spread(self.noise)

    def mean_squared_error(self) -> float:
        """Return the mean over all times of the variance of the answer."""
        return (self.length + 1) / 2 * spread(self.noise)


def _all_prefixes(length: int) -> Sensitivity:
    # A replaced event can move between two steps, which moves fewer prefixes than adding one at the first.
    return prefix_sums(length, Adjacency.ADD_REMOVE)


def _require_room(step: int, length: int) -> None:
    if step >= length:
        raise ParameterError(f"the stream was planned for {length} steps and they have all been taken")
