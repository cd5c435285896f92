"""Decoding under noise: how much error in every answer still gives almost all secret bits back.

Theorem.  Let A be the 0/1 matrix of m questions about n people, s its smallest singular value, and let every
answer be within E of the truth A x.  Let z minimise the largest misfit |A z - answers| over 0 <= z <= 1, a
linear program.  Rounding z gives x back but for at most

    16 m E**2 / s**2    bits.

Proof.  x itself misfits by at most E, so z does, and |A (z - x)| <= 2 E in every coordinate; hence
s**2 |z - x|**2 <= |A (z - x)|**2 <= 4 m E**2.  A bit that is rounded wrongly is at least 1/2 away, so there
are at most 4 |z - x|**2 of them.

For random questions s**2 is about (m / 4) (1 - sqrt(n / m))**2, so at most a share c of the bits is wrong as
long as E <= sqrt(c n) (1 - sqrt(n / m)) / 8: the threshold is the square root of the number of people, up to
constants.  It cannot be beaten: answers that err by more than sqrt(n) can hide each bit, and do so when all
of them together are private.

Wild errors.  Where a few answers may be arbitrarily wrong and the others are exact, the sum of misfits has to
be minimised instead (`linear_program`): with enough random questions it tolerates that nearly a quarter of
the answers are lies.

References.  Dinur, Nissim, PODS 2003.  Wild errors: Dwork, McSherry, Talwar, STOC 2007.
"""

from math import floor, sqrt

import numpy as np
from numpy.typing import NDArray

from discreet.audit.attack.reconstruction import Bits
from discreet.errors import ParameterError
from discreet.exact.number import Real, non_negative

UNIT = 2.0**-53
"""The rounding of a double."""


def closest(questions: Bits, answers: NDArray[np.int64]) -> Bits:
    """Return the bits whose largest misfit is least, relaxed to 0 <= x <= 1 and rounded."""
    from scipy.optimize import linprog

    asked, people = questions.shape
    matrix = questions.astype(np.float64)
    slack = np.ones((asked, 1))
    bounds = np.block([[matrix, -slack], [-matrix, -slack]])
    limits = np.concatenate([answers, -np.asarray(answers)]).astype(np.float64)
    cost = np.append(np.zeros(people), 1.0)
    found = linprog(cost, bounds, limits, bounds=[*[(0, 1)] * people, (0, None)], method="highs-ipm")
    if found.x is None:
        raise ParameterError("the linear program was not solved; try fewer questions")
    return np.asarray(found.x[:people] > 0.5, dtype=np.int8)


def wrong_bits(questions: Bits, error: Real) -> int:
    """Return how many bits `closest` may get wrong when every answer is within `error` of the truth."""
    asked, people = int(questions.shape[0]), int(questions.shape[1])
    most = 16 * asked * float(non_negative(error, "error")) ** 2
    smallest = _least_square(questions)
    return people if smallest <= 0 else min(people, floor(most / smallest * (1 + 1e-9)))


def tolerated_error(questions: Bits, wrong: int = 0) -> float:
    """Return an error of every answer at which at most `wrong` bits can be wrong; 0 if none is."""
    if wrong < 0:
        raise ParameterError(f"wrong must be at least 0, got {wrong}")
    smallest = max(0.0, _least_square(questions))
    # Just below the error at which one more bit could be wrong.
    return sqrt((wrong + 1) * smallest / (16 * questions.shape[0])) * (1 - 1e-6)


def _least_square(questions: Bits) -> float:
    """Return a number below the square of the smallest singular value."""
    matrix = questions.astype(np.float64)
    # Entries of the Gram matrix are counts, exact in doubles; eigenvalues are off by its norm times rounding.
    values = np.linalg.eigvalsh(matrix.T @ matrix)
    return float(values[0] - 16 * len(values) * UNIT * values[-1])
