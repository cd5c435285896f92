"""Averaging: the same question again and again, until the noise is gone.

Fresh noise for every repetition averages out like 1 / sqrt(k).  A curator who remembers her answers gives
the stored one again: it costs nothing and tells nothing new.  Rewording the question to get fresh noise
costs its price each time, until the budget refuses.
"""

from fractions import Fraction

import numpy as np

from discreet.audit.attack.curator import Discreet, naive
from discreet.audit.attack.report import DISCREET, NAIVE, RAW, AttackReport, Figure
from discreet.errors import BudgetError
from discreet.exact.number import Real, positive

REWORDED = "discreet, reworded questions"


def average(
    repeats: tuple[int, ...] = (1, 3, 10, 30, 100, 300, 1000, 3000), epsilon: Real = 1, trials: int = 200
) -> AttackReport:
    """Ask one count up to thousands of times at epsilon 1/10 and average."""
    truth, total, each = 1234, positive(epsilon, "epsilon"), Fraction(1, 10)
    most = repeats[-1]
    fresh = naive(np.full((trials, most), truth), epsilon=each)
    stored = np.asarray([Discreet(total).answer(np.array([truth]), epsilon=each)[0] for _ in range(trials)])
    reworded, admitted = _reworded(truth, total, each, trials)
    points = []
    for count in repeats:
        points.append((float(count), 0.0, RAW))
        points.append((float(count), _error(fresh[:, :count].mean(axis=1), truth), NAIVE))
        points.append((float(count), _error(stored, truth), DISCREET))
        points.append((float(count), _error(reworded[:, :count].mean(axis=1), truth), REWORDED))
    last = {name: error for _, error, name in points}
    first = {name: error for count, error, name in points if count == repeats[0]}
    return AttackReport(
        "average",
        "Averaging: the same question until the noise is gone",
        f"One count is asked again and again at epsilon {float(each):g}. The naive curator draws fresh noise "
        "each time and the average gives the exact count away.\n\nThe discreet curator answers a repeated "
        "question from the ledger: the same answer, free, and no better than before. Reworded questions "
        "are new ones and cost as much.",
        ("curator", "error of the first answer", f"error after {most} questions"),
        tuple((name, f"{first[name]:.2f}", f"{last[name]:.2f}") for name in (RAW, NAIVE, DISCREET, REWORDED)),
        (
            Figure(
                "Error of the averaged answer",
                f"mean over {trials} attackers; below one half, rounding gives the exact count",
                "times asked",
                "mean error",
                tuple(points),
                log_x=True,
            ),
        ),
        f"Where the ledger stops it: a repeated question is not a new release; reworded, {admitted} answers "
        f"use up epsilon {epsilon} and the next is refused.",
    )


def _reworded(truth: int, total: Fraction, each: Fraction, trials: int) -> tuple[np.ndarray, int]:
    rows = []
    for _ in range(trials):
        curator, row = Discreet(total), []
        try:
            while True:
                row.append(int(curator.answer(np.array([truth]), epsilon=each)[0]))
        except BudgetError:
            rows.append(row)
    return np.array(rows), len(rows[0])


def _error(estimates: np.ndarray, truth: int) -> float:
    return float(np.mean(np.abs(estimates - truth)))
