"""Tracing: published averages tell who is in the data.

A study of n people publishes the mean of d yes/no attributes.  The attacker knows a person's attributes and
the means p of the population, and computes the inner product of (person - p) with (published - p).  For a
stranger it is zero on average with variance about d / n times a constant; for a member it is larger by
about d / n times another.  So members stand out as soon as d is well above n, even when answers are rounded
or slightly noisy.

References.  Homer and others, PLoS Genetics 4(8), 2008; Dwork, Smith, Steinke, Ullman, Vadhan, FOCS 2015.
"""

import numpy as np
from numpy.typing import NDArray

from discreet.audit.attack.curator import Discreet, naive, uniforms
from discreet.audit.attack.report import DISCREET, NAIVE, RAW, AttackReport, Figure
from discreet.exact.number import Real, positive

FALSE_ALARMS = 0.05


def scores(
    people: NDArray[np.float64], published: NDArray[np.float64], means: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return each person's correlation with what was published."""
    return np.asarray((people - means) @ (published - means))


def power(members: NDArray[np.float64], strangers: NDArray[np.float64]) -> float:
    """Return the share of members above the score that one stranger in twenty exceeds."""
    return float(np.mean(members > np.quantile(strangers, 1 - FALSE_ALARMS)))


def trace(
    members: int = 100,
    attributes: tuple[int, ...] = (50, 100, 200, 500, 1000, 2000, 5000),
    epsilon: Real = 1,
    repeats: int = 5,
) -> AttackReport:
    """Attack published means of up to thousands of attributes."""
    total = positive(epsilon, "epsilon")
    points = []
    for width in attributes:
        found: dict[str, list[float]] = {RAW: [], NAIVE: [], DISCREET: []}
        for _ in range(repeats):
            means = 0.1 + 0.8 * uniforms(width)
            inside = (uniforms(members, width) < means).astype(np.float64)
            outside = (uniforms(1000, width) < means).astype(np.float64)
            sums = inside.sum(axis=0).astype(np.int64)
            published = {
                RAW: sums,
                NAIVE: naive(sums),
                # One person is in every sum, so all of them together have sensitivity `width`.
                DISCREET: Discreet(total).answer(sums, epsilon=total, sensitivity=width),
            }
            for name, answer in published.items():
                guessed = answer / members
                found[name].append(power(scores(inside, guessed, means), scores(outside, guessed, means)))
        points += [(float(width), float(np.mean(values)), name) for name, values in found.items()]
    last = {name: value for _, value, name in points}
    first = {name: value for width, value, name in points if width == attributes[0]}
    return AttackReport(
        "trace",
        "Tracing: averages tell who was in the study",
        f"A study of {members} people publishes averages of many yes/no attributes. Whoever knows one "
        "person's attributes compares them with the averages: members pull every average a little their "
        "way, and many little pulls add up. The attacker accuses whoever scores above all but one stranger "
        "in twenty.\n\nNoise of epsilon 1 on each average changes little: nobody counts the averages. "
        "A budget for all of them together leaves the attacker with the one in twenty that he would accuse "
        "by chance.",
        ("curator", f"members found, {attributes[0]} averages", f"members found, {attributes[-1]} averages"),
        tuple((name, f"{first[name]:.0%}", f"{last[name]:.0%}") for name in (RAW, NAIVE, DISCREET)),
        (
            Figure(
                "Members found, by number of averages published",
                f"{members} members; one stranger in twenty is accused wrongly",
                "averages published",
                "members found",
                tuple(points),
                log_x=True,
                domain=(0.0, 1.0),
            ),
        ),
        f"Where the ledger stops it: one average at the naive curator's price spends epsilon {epsilon} and a "
        "second is refused. Asked together they are answered within the budget, with noise for all.",
    )
