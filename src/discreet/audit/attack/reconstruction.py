"""Reconstruction: answers to many random subset sums give a secret column back.

Theorem (Dinur, Nissim, PODS 2003).  Let x be n secret bits and let every one of O(n) random subset sums be
answered within o(sqrt(n)).  Then x can be computed in polynomial time up to o(n) errors: any candidate that
fits all answers agrees with x almost everywhere.  Linear programming finds one: minimise the total absolute
misfit over 0 <= x <= 1 and round.  Least squares does nearly as well against noise without outliers, much
faster.

Conversely, if all m answers together are epsilon-private, no attacker guesses a bit drawn by a fair coin
better than with probability exp(epsilon) / (1 + exp(epsilon)), even knowing all others.

References.  Dinur, Nissim, PODS 2003.  Linear programming and wild errors: Dwork, McSherry, Talwar, STOC
2007.
"""

from fractions import Fraction
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.audit.attack.curator import Discreet, coin_flips, naive
from discreet.audit.attack.report import DISCREET, NAIVE, RAW, AttackReport, Figure
from discreet.errors import BudgetError, ParameterError
from discreet.exact.number import Real, positive
from discreet.extra import library
from discreet.mechanisms.geometric import Geometric

Bits = NDArray[np.int8]


def subset_sums(secret: Bits, questions: Bits) -> NDArray[np.int64]:
    """Return the exact answers: how many of the people in each subset have the bit."""
    return np.asarray(np.rint(questions.astype(np.float32) @ secret.astype(np.float32)), dtype=np.int64)


def least_squares(questions: Bits, answers: NDArray[Any], variance: float = 0.0) -> Bits:
    """Return the bits whose sums fit best in squares: solve around one half without bounds, then round.

    `variance` is that of the noise, which is public; it says how far fits may be trusted.
    """
    matrix = questions.astype(np.float64)
    centred = np.asarray(answers, dtype=np.float64) - matrix.sum(axis=1) / 2
    # A bit is one half plus or minus one half, of variance 1/4: the ridge is the ratio of the variances.
    gram = matrix.T @ matrix + (4 * variance + 1e-3) * np.eye(questions.shape[1])
    return (np.linalg.solve(gram, matrix.T @ centred) > 0).astype(np.int8)


def linear_program(questions: Bits, answers: NDArray[Any]) -> Bits:
    """Return the bits whose sums fit best in absolute values, relaxed to 0 <= x <= 1 and rounded."""
    highspy = library("highspy", "lab", "the attack by linear programming")
    asked, people = questions.shape
    solver = highspy.Highs()
    solver.setOptionValue("output_flag", False)
    solver.setOptionValue("solver", "ipm")
    # A vertex is not needed for rounding, and finding one takes longer than solving.
    solver.setOptionValue("run_crossover", "off")
    program = highspy.HighsLp()
    program.num_col_, program.num_row_ = people + 2 * asked, asked
    program.col_cost_ = np.concatenate([np.zeros(people), np.ones(2 * asked)])
    program.col_lower_ = np.zeros(people + 2 * asked)
    program.col_upper_ = np.concatenate([np.ones(people), np.full(2 * asked, highspy.kHighsInf)])
    program.row_lower_ = program.row_upper_ = np.asarray(answers, dtype=np.float64)
    columns, rows = np.nonzero(questions.T)
    eye = np.arange(asked)
    counts = np.concatenate([np.bincount(columns, minlength=people), np.ones(2 * asked, dtype=np.int64)])
    matrix = program.a_matrix_
    matrix.format_ = highspy.MatrixFormat.kColwise
    matrix.start_ = np.append(0, np.cumsum(counts)).astype(np.int32)
    matrix.index_ = np.concatenate([rows, eye, eye]).astype(np.int32)
    matrix.value_ = np.concatenate([np.ones(len(rows)), np.ones(asked), -np.ones(asked)])
    solver.passModel(program)
    solver.run()
    values = np.array(solver.getSolution().col_value[:people])
    if values.size != people:
        raise ParameterError("the linear program was not solved; try fewer questions")
    return (values > 0.5).astype(np.int8)


def agreement(secret: Bits, guess: Bits) -> float:
    """Return the share of people whose bit is guessed right; one half is what a coin achieves."""
    return float(np.mean(secret == guess))


def budgeted(exact: NDArray[np.int64], epsilon: Real = 1) -> NDArray[Any]:
    """Answer all questions within one budget, split evenly and spent question by question."""
    total = positive(epsilon, "epsilon")
    curator, each = Discreet(total), total / len(exact)
    return np.array([int(curator.answer(np.asarray(value), epsilon=each)) for value in exact])


def questions_admitted(epsilon: Real = 1, each: Real = 1) -> int:
    """Return how many questions at a price the budget admits before it refuses one."""
    curator = Discreet(positive(epsilon, "epsilon"))
    admitted = 0
    try:
        while True:
            curator.answer(np.array([0]), epsilon=each)
            admitted += 1
    except BudgetError:
        return admitted


def reconstruction(
    people: int = 1000, questions: int = 4000, epsilon: Real = 1, *, small: int = 200
) -> AttackReport:
    """Attack a secret column with random subset sums: raw, naively noisy, and within a budget."""
    if people < 10 or questions < 10:
        raise ParameterError("reconstruction needs at least 10 people and 10 questions")
    secret, asked = coin_flips(people), coin_flips(questions, people)
    exact = subset_sums(secret, asked)
    answers = {RAW: exact, NAIVE: naive(exact), DISCREET: budgeted(exact, epsilon)}
    by_effort, final = [], {}
    for name, given in answers.items():
        for count in _ladder(questions, people):
            # Within a budget fewer questions get more of it each: noise is redrawn for this number.
            seen = budgeted(exact[:count], epsilon) if name == DISCREET else given[:count]
            spread = _variance(name, positive(epsilon, "epsilon") / count)
            final[name] = agreement(secret, least_squares(asked[:count], seen, spread))
            by_effort.append((float(count), final[name], name))
    by_noise = _noise_curve(people, questions) + _noise_curve(small, 4 * small, solver=True)
    luck = 3 * sqrt(0.25 / people)
    table = (
        (RAW, "none", f"{final[RAW]:.1%}"),
        (NAIVE, "epsilon 1 for each answer, not counted", f"{final[NAIVE]:.1%}"),
        (DISCREET, f"epsilon {epsilon} for all answers", f"{final[DISCREET]:.1%}"),
    )
    return AttackReport(
        "reconstruction",
        f"Reconstruction: {questions} counts give {people} secrets back",
        f"Each of {people} people has one secret bit. The attacker asks for {questions} counts over random "
        "groups, harmless one by one, and solves for the bits. Noise much smaller than the square root of "
        f"the number of people ({sqrt(people):.0f}) does not stop this; noise for each answer alone does "
        "not either, because nobody counts the answers.\n\nAgainst a budget over all answers together the "
        f"attacker does as well as a coin: between {0.5 - luck:.1%} and {0.5 + luck:.1%} is luck.",
        ("curator", "noise", "bits recovered"),
        table,
        (
            Figure(
                "Secrets recovered, by number of questions",
                f"{people} people, least squares; a coin recovers half",
                "questions asked",
                "bits recovered",
                tuple(by_effort),
                log_x=True,
                domain=(0.4, 1.0),
            ),
            Figure(
                "Secrets recovered, by size of the noise",
                "four questions per person; a coin recovers half",
                "standard deviation of the noise / square root of the number of people",
                "bits recovered",
                tuple(by_noise),
                log_x=True,
                domain=(0.4, 1.0),
            ),
        ),
        f"Where the ledger stops it: a budget of epsilon {epsilon} admits {questions_admitted(epsilon)} "
        "question at the naive curator's price and refuses the next; split evenly it admits all "
        f"{questions}, each with noise far above the square root of the number of people.",
    )


def _variance(name: str, each: Fraction) -> float:
    price = {RAW: None, NAIVE: Fraction(1), DISCREET: each}[name]
    return 0.0 if price is None else float(Geometric.calibrate(epsilon=price).variance)


def _ladder(questions: int, people: int) -> list[int]:
    steps = {max(10, round(people * share)) for share in (0.1, 0.25, 0.5, 0.75, 1, 1.25, 1.5, 2, 3)}
    return sorted({min(step, questions) for step in steps} | {questions})


def _noise_curve(people: int, questions: int, *, solver: bool = False) -> list[tuple[float, float, str]]:
    secret, asked = coin_flips(people), coin_flips(questions, people)
    exact = subset_sums(secret, asked)
    points = []
    for share in (0.05, 0.1, 0.2, 0.35, 0.6, 1.0, 2.0, 5.0, 20.0):
        # Two-sided geometric noise of standard deviation s has ratio a with 2 a / (1 - a)**2 = s**2.
        spread = share * sqrt(people)
        ratio = 1 + 1 / spread**2 - sqrt((1 + 1 / spread**2) ** 2 - 1)
        noisy = Geometric(Fraction(ratio).limit_denominator(10**9)).sample(exact)
        guess = least_squares(asked, noisy, spread**2)
        points.append((share, agreement(secret, guess), f"least squares, {people} people"))
        if solver:
            points.append(
                (share, agreement(secret, linear_program(asked, noisy)), f"linear program, {people} people")
            )
    return points
