"""Differencing: two harmless counts whose difference is one person.

"How many patients have the illness?" and "how many, except those with this date of birth and post code?"
differ by one person's secret.  Without noise one pair of answers tells it; with fresh noise and no memory,
pairs are averaged until it tells.  If everything together is epsilon-private, a secret drawn by a fair coin
is guessed with probability at most exp(epsilon) / (1 + exp(epsilon)), whatever is asked and however often.
"""

from math import exp

import numpy as np

from discreet.audit.attack.curator import Discreet, coin_flips, naive
from discreet.audit.attack.report import DISCREET, NAIVE, RAW, AttackReport, Figure
from discreet.errors import BudgetError
from discreet.exact.number import Real, positive


def guess(pairs: np.ndarray) -> int:
    """Return the secret that the averaged difference of (with, without) pairs is closest to."""
    return int(np.mean(pairs[:, 0] - pairs[:, 1]) > 0.5)


def difference(
    victims: int = 400, pairs: tuple[int, ...] = (1, 2, 5, 10, 30, 100, 300, 1000), epsilon: Real = 1
) -> AttackReport:
    """Attack many victims with pairs of counts, at epsilon 1/4 for each answer."""
    total, each = positive(epsilon, "epsilon"), positive("0.25", "price")
    secrets, others = coin_flips(victims), 217
    points, stopped = [], 0
    for count in pairs:
        right = dict.fromkeys((RAW, NAIVE, DISCREET), 0)
        for secret in secrets:
            exact = np.tile([others + int(secret), others], (count, 1))
            right[RAW] += guess(exact) == secret
            right[NAIVE] += guess(naive(exact, epsilon=each)) == secret
            curator, seen = Discreet(total), []
            try:
                for pair in exact:
                    seen.append([int(curator.answer(np.asarray(value), epsilon=each)) for value in pair])
            except BudgetError:
                stopped = max(stopped, len(seen))
            right[DISCREET] += guess(np.array(seen)) == secret
        points += [(float(count), right[name] / victims, name) for name in (RAW, NAIVE, DISCREET)]
    ceiling = exp(float(total)) / (1 + exp(float(total)))
    last = {name: success for _, success, name in points}
    first = {name: success for count, success, name in points if count == pairs[0]}
    return AttackReport(
        "difference",
        "Differencing: two counts that differ by one person",
        "The attacker asks for a count with and without one person and subtracts. Noise alone only asks "
        f"for patience: with epsilon {float(each):g} for each answer and no memory, {pairs[-1]} pairs tell."
        f"\n\nWithin a total budget of epsilon {epsilon} the questions run out, and no attacker of any kind "
        f"is right more often than {ceiling:.1%} of the time.",
        ("curator", "after one pair", f"after {pairs[-1]} pairs"),
        tuple((name, f"{first[name]:.1%}", f"{last[name]:.1%}") for name in (RAW, NAIVE, DISCREET)),
        (
            Figure(
                "Victims whose secret is guessed right",
                f"{victims} victims; no attacker of a budget of epsilon {epsilon} exceeds {ceiling:.1%}",
                "pairs of questions",
                "guessed right",
                tuple(points),
                log_x=True,
                domain=(0.4, 1.0),
            ),
        ),
        f"Where the ledger stops it: after {stopped} pairs at epsilon {float(each):g} for each answer the "
        f"budget of epsilon {epsilon} is spent, and the next question is refused before any data is touched.",
    )
