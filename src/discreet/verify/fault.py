"""Inputs on which a program has no meaning: an impossible law, a division by zero, a place outside a list."""

from collections.abc import Iterator
from itertools import islice

from discreet.errors import ParameterError, ProgramError
from discreet.verify.candidate import pairs_of_size, sizes
from discreet.verify.check import CheckedProgram
from discreet.verify.explain import values_in_words
from discreet.verify.limit import LimitError, tick, within
from discreet.verify.run import ExactDraws, FaultError, execute
from discreet.verify.space import NeighbourPair

PAIRS = 24
STEPS = 2000


def _inputs(checked: CheckedProgram) -> Iterator[NeighbourPair]:
    for size in sorted(sizes(checked)):
        yield from islice(pairs_of_size(checked, size), PAIRS)


def first_fault(checked: CheckedProgram) -> ProgramError | None:
    """Return what goes wrong on some valid input, with that input, or None if nothing was seen to."""
    try:
        with within(3.0):
            for pair in _inputs(checked):
                for values in (pair.first, pair.second):
                    tick()
                    try:
                        execute(checked, values, ExactDraws(), STEPS)
                    except FaultError as problem:
                        where = values_in_words(values)
                        return ProgramError(
                            f"{problem.what}, for instance when {where}", problem.line, problem.column
                        )
                    except (ProgramError, ParameterError):
                        continue
    except LimitError:
        return None
    return None
