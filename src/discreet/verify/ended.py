"""Refuting programs of which some runs do not end soon: those that have ended bound the others.

Theorem.  Let some of the paths on two inputs be known.  An event has at least the chance of the known paths
on the first input that end in it, and on the second at most what the known paths that end outside of it leave
over.  If even these two break the claim, the program is not as private as it claims.
Proof.  Paths exclude each other, and the chances of all of them add up to at most one.
"""

from collections.abc import Mapping
from fractions import Fraction
from itertools import islice

from discreet.errors import ParameterError, ProgramError
from discreet.verify.candidate import pairs
from discreet.verify.check import CheckedProgram
from discreet.verify.explore import (
    MOST_STEPS,
    CutError,
    ExploredPath,
    Quotient,
    Walker,
    path_probability,
    sum_quotients,
)
from discreet.verify.integrate import UNIT, TooHardError, add, multiply
from discreet.verify.limit import LimitError, tick, within
from discreet.verify.linear import UndecidedError
from discreet.verify.refute import OutputEvent, bounds, breaks, events, mass, weakest, witness
from discreet.verify.run import Value, execute
from discreet.verify.space import NeighbourPair
from discreet.verify.syntax import Sample, While, statements
from discreet.verify.term import UnsupportedError
from discreet.verify.witness import Witness

DEEPEST = 9
"""Decisions of one run."""
EVENTS = 24
PAIRS = 16


def refute_ended(checked: CheckedProgram, seconds: float) -> Witness | None:
    """Return a counterexample from the runs that end soon, or None; for programs whose loops draw."""
    loops = [s for s in statements(checked.program.body) if isinstance(s, While)]
    if not any(isinstance(inner, Sample) for loop in loops for inner in statements(loop.body)):
        return None
    try:
        with within(seconds):
            for pair in islice(pairs(checked), PAIRS):
                found = _attempt(checked, pair)
                if found is not None:
                    return found
    except (LimitError, UnsupportedError):
        pass
    return None


def ended(checked: CheckedProgram, values: Mapping[str, Value]) -> list[ExploredPath]:
    """Return the paths on an input that end after a few decisions."""
    found: list[ExploredPath] = []
    script: list[int] | None = []
    while script is not None:
        tick()
        walker = Walker(script, symbolic=False, deepest=DEEPEST)
        try:
            output = execute(checked, values, walker, MOST_STEPS)
            found.append(walker.path(tuple(tuple(v) if isinstance(v, list) else v for v in output)))
        except CutError:
            pass
        script = walker.next_script()
    return found


def _attempt(checked: CheckedProgram, pair: NeighbourPair) -> Witness | None:
    claim = weakest(checked, pair)
    if claim is None or claim.rho is not None:
        return None
    try:
        laws = [ended(checked, values) for values in (pair.first, pair.second)]
        for one, two, swapped in ((0, 1, False), (1, 0, True)):
            known = sum_quotients([path_probability(path, ()) for path in laws[two]])
            for event in islice(events(laws[one], laws[two]), EVENTS):
                tick()
                above, below = mass(laws[one], event), at_most(laws[two], known, event)
                if breaks(above, below, claim.epsilon, claim.delta):
                    told = event.words(), (bounds(above)[0], Fraction(1)), (Fraction(0), bounds(below)[1])
                    return witness(pair, *told, claim.epsilon, claim.delta, swapped=swapped)
    except (TooHardError, ProgramError, ParameterError, TypeError, UndecidedError):
        return None
    return None


def at_most(law: list[ExploredPath], known: Quotient, event: OutputEvent) -> Quotient:
    """Return what the known paths that end outside of an event leave to it."""
    inside = mass(law, event)
    outside = _minus(known, inside)
    return _minus(Quotient(UNIT, UNIT), outside)


def _minus(first: Quotient, second: Quotient) -> Quotient:
    above = multiply(first.numerator, second.denominator)
    return Quotient(
        add(above, multiply(second.numerator, first.denominator), -1),
        multiply(first.denominator, second.denominator),
    )
