"""Variables that begin anew, told apart for the search: a counter set to zero again is another one.

What both runs agree on is known of a name, not of a moment.  Where a name means something private for a while
and is then set anew, as a counter that first walks over a list that one run lacks an element of and then over
public cells, the search gives it another name from there on; the proof it finds is put in the words of the
program again, without what it says of a value that is gone.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from discreet.verify.check import CheckedProgram
from discreet.verify.kernel import Part
from discreet.verify.shared import shared_variables
from discreet.verify.substitute import mapped, substitute, substitute_block
from discreet.verify.syntax import (
    Assign,
    Expr,
    Items,
    Scalar,
    Statement,
    Type,
    Variable,
    While,
    assigned,
    names,
    statements,
)

MARK = "~"


@dataclass(frozen=True, slots=True)
class Lifetimes:
    """A program with a name for every life of a variable, and the names that live in each loop."""

    checked: CheckedProgram
    living: Mapping[int, Mapping[str, str]]

    def told(self, part: Part) -> Part:
        """Return a proof in the words of the program."""
        return replace(
            part,
            moves={site: _plain(move) for site, move in part.moves.items()},
            variants={loop: _plain(variant) for loop, variant in part.variants.items()},
            invariants={
                loop: tuple(tuple(_plain(f) for f in facts if self._lives(f, loop)) for facts in visits)
                for loop, visits in part.invariants.items()
            },
            waits={loop: tuple(_plain(wait) for wait in waits) for loop, waits in part.waits.items()},
        )

    def _lives(self, fact: Expr, loop: int) -> bool:
        """Return whether a fact speaks only of variables as they are in a loop."""
        lives = self.living[loop]
        return all(lives.get(_original(name), _original(name)) == name for name in names(fact))


def _original(name: str) -> str:
    return name.partition(MARK)[0]


def _plain(expression: Expr) -> Expr:
    match expression:
        case Variable(name, side, at):
            return Variable(_original(name), side, at)
        case _:
            return mapped(expression, _plain)


def lifetimes(checked: CheckedProgram) -> Lifetimes | None:
    """Return the program with lives told apart, or None where the runs agree on no more for that."""
    seen, types, body = set[str](), dict[str, Type](checked.types), list[Statement]()
    current: dict[str, Expr] = {}
    living: dict[int, dict[str, str]] = {}
    for place, statement in enumerate(checked.program.body):
        match statement:
            case Assign(name, value) if name in seen and not isinstance(value, Items):
                anew = f"{name}{MARK}{place}"
                if isinstance(types[name], Scalar) and name not in checked.shared:
                    told = substitute(value, current)
                    current, types[anew] = {**current, name: Variable(anew)}, types[name]
                    body.append(replace(statement, target=anew, value=told))
                else:
                    body += substitute_block((statement,), current)
            case _:
                body += substitute_block((statement,), current)
        seen |= assigned((statement,))
        called = {name: v.name for name, v in current.items() if isinstance(v, Variable)}
        living |= {s.loop: called for s in statements((statement,)) if isinstance(s, While)}
    program = replace(checked.program, body=tuple(body))
    shared = shared_variables(program)
    if not any(MARK in name for name in shared):
        return None
    return Lifetimes(replace(checked, program=program, types=types, shared=shared), living)
