"""The best local report for a domain: all frequency oracles compared exactly, at one epsilon."""

from fractions import Fraction

from discreet.errors import ParameterError
from discreet.exact.number import Real, shown, whole
from discreet.mechanisms import hadamard_response, subset_selection
from discreet.mechanisms.frequency import squared_error
from discreet.mechanisms.hadamard_response import HadamardResponse
from discreet.mechanisms.randomized_response import RandomizedResponse
from discreet.mechanisms.subset_selection import SubsetSelection
from discreet.mechanisms.unary_encoding import UnaryEncoding

FrequencyOracle = RandomizedResponse | UnaryEncoding | HadamardResponse | SubsetSelection


def frequency_oracles(epsilon: Real, categories: int) -> dict[FrequencyOracle, Fraction]:
    """Return every kind of report at this epsilon with its squared error for each person, the best first.

    The error is the mean of the squared errors of all estimates, added up; it does not depend on the data.
    """
    k = whole(categories, "categories")
    if k < 2:
        raise ParameterError(f"categories must be at least 2, got {shown(categories)}")
    found: list[FrequencyOracle] = [
        RandomizedResponse.calibrate(epsilon=epsilon, categories=k),
        UnaryEncoding.calibrate(epsilon=epsilon, categories=k),
        UnaryEncoding.calibrate(epsilon=epsilon, categories=k, symmetric=True),
    ]
    if k < hadamard_response.MOST:
        found.append(HadamardResponse.calibrate(epsilon=epsilon, categories=k))
    if k <= subset_selection.MOST:
        found.append(SubsetSelection.calibrate(epsilon=epsilon, categories=k))
    errors = {each: squared_error(each) for each in found}
    return dict(sorted(errors.items(), key=lambda entry: entry[1]))


def frequency_oracle(epsilon: Real, categories: int) -> FrequencyOracle:
    """Return the report whose estimates err least at this epsilon and this number of values."""
    return next(iter(frequency_oracles(epsilon, categories)))
