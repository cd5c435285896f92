"""The floating-point attack: a few low bits of a noisy answer rule out every true answer but one.

Doubles near zero are spaced more finely than doubles near one.  Textbook Laplace noise z, computed from a
uniform double, has all its 53 bits; so x + z for x = 0 can be any fine double, but for x = 1 the sum is
rounded to a multiple of 2**-53. An answer between -1/2 and 1/2 that is *not* such a multiple can only come
from x = 0: certainty, whatever epsilon says.

On a grid this cannot happen: both truths can give every multiple of the step.

References.  Mironov, CCS 2012; Haney, Desfontaines, Hartman, Shrestha, Hay, 2022.
"""

import numpy as np
from numpy.typing import NDArray

from discreet.audit.attack.report import DISCREET, NAIVE, RAW, AttackReport, Figure
from discreet.audit.features import lowest_bit
from discreet.audit.specimens import naive_laplace
from discreet.exact.number import Real, positive
from discreet.mechanisms.laplace import Laplace

COUNTS = (1, 2, 3, 5, 8, 12, 20)


def betrayed(answers: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return which answers cannot come from a true answer of 1 and so prove that it was 0."""
    return np.asarray((np.abs(answers) < 0.5) & (lowest_bit(answers) < -53))


def floating(epsilon: Real = 1, answers: int = 100_000) -> AttackReport:
    """Attack the truth 0 against the truth 1 by the low bits of single answers."""
    budget = positive(epsilon, "epsilon")
    scale = float(1 / budget)
    exact = Laplace.calibrate(epsilon=budget)
    zeros, ones = np.zeros(answers), np.ones(answers)
    caught = {
        NAIVE: betrayed(zeros + naive_laplace(scale, answers)),
        DISCREET: betrayed(exact.sample(zeros)),
    }
    wrongly = {
        NAIVE: betrayed(ones + naive_laplace(scale, answers)),
        DISCREET: betrayed(exact.sample(ones)),
    }
    share = {name: float(found.mean()) for name, found in caught.items()}
    points = [(float(count), 1.0, RAW) for count in COUNTS]
    points += [
        (float(count), 1 - (1 - share[name]) ** count, name) for name in (NAIVE, DISCREET) for count in COUNTS
    ]
    return AttackReport(
        "float",
        "Floating point: the low bits of one answer",
        f"A count of 0 or 1 is answered with Laplace noise of epsilon {epsilon} computed in doubles. "
        "Some answers have bits that a true 1 could never have produced. The noise has the right shape and "
        "every histogram looks right; the proof on paper is about real numbers, and these are not.\n\n"
        "Without noise there is nothing to attack: the answer itself tells. On discreet's grid both truths "
        "can give the same numbers.",
        ("curator", "answers to a true 0 that prove it", "answers to a true 1 that seem to"),
        (
            (RAW, "100.00%", f"0 of {answers}"),
            *(
                (name, f"{share[name]:.2%}", f"{int(wrongly[name].sum())} of {answers}")
                for name in (NAIVE, DISCREET)
            ),
        ),
        (
            Figure(
                "Chance to know the truth for certain",
                f"from the measured share of {answers} single answers, epsilon {epsilon}",
                "answers seen",
                "truth known for certain",
                tuple(points),
                domain=(0.0, 1.0),
            ),
        ),
        "No budget stops this one: a single answer is enough. Exact noise does: discreet rounds to a grid "
        "first and draws integers, so there are no low bits to read.",
    )
