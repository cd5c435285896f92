"""A gate of seeded faults: what the checker of statements accepts, no neighbour breaks.

On sound sources every question of the gate is planned, proved and kept.  `make mutants ROOMS=walk` plants
faults in the rooms that a question walks through: each must then be refused by the checker, and whatever is
still accepted must still be kept.
"""

from dataclasses import replace

import pytest
from tests.query.gate.questions import HOSTILE, QUESTIONS
from tests.query.gate.walk import DELTA, Verdict, broken, judged, walk

from discreet.privacy.sensitivity import Sensitivity
from discreet.query.check.measurement import Measured
from discreet.query.price.expected import Quote
from discreet.query.price.quote import quote


def test_the_checker_refuses_no_question_of_the_gate() -> None:
    """Faults are planted in the planner: here the checker is the only one who may stand in their way."""
    verdicts = {asked: walk(asked) for asked in (*QUESTIONS, *HOSTILE)}
    assert not [(str(asked), why) for asked, (found, _, why) in verdicts.items() if found is Verdict.REFUSED]


def test_the_planner_knows_what_it_can_answer() -> None:
    lost = (Verdict.UNPLANNED, Verdict.CRASHED)
    assert not [str(asked) for asked in QUESTIONS if walk(asked)[0] in lost]
    assert not [str(asked) for asked in HOSTILE if walk(asked)[0] is not Verdict.UNPLANNED]


@pytest.mark.parametrize("every", [2, pytest.param(1, marks=pytest.mark.fuzz)])
def test_what_the_checker_accepts_no_neighbour_breaks(every: int) -> None:
    verdicts = {asked: judged(asked) for asked in (*QUESTIONS, *HOSTILE)[::every]}
    assert not [(str(asked), why) for asked, (found, why) in verdicts.items() if found is Verdict.BROKEN]


def _halved(measured: Measured) -> Measured:
    full = measured.sensitivity
    half = Sensitivity(full.l1 / 2, full.l2_squared / 4, full.linf / 2, full.l0)
    return replace(measured, sensitivity=half)


def _cheaper(priced: Quote) -> Quote:
    """Return the same question with noise for people who move half as much."""
    checked = replace(priced.checked, measurements=tuple(map(_halved, priced.checked.measurements)))
    return quote(checked, epsilon=1, delta=DELTA)


def test_neighbours_break_noise_for_half_a_person() -> None:
    """The oracle's broken twin, and a measure of how bad the people are."""
    noticed = 0
    chosen = [asked for asked in QUESTIONS[::6] if not asked.concentrated]
    for asked in chosen:
        _, priced, _ = walk(asked)
        assert priced is not None
        noticed += broken(asked, _cheaper(priced)) is not None
    assert noticed >= 0.8 * len(chosen)
