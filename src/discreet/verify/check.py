"""Static checks: every program that passes has a meaning, and every program that fails is told where and why.

Types are int, real (int fits into real), bool, bits and lists.  A variable is *shared* when both runs of two
neighbouring inputs must agree on it, provided they take the same synchronised branches: it is computed from
public values only, and never under a branch that the two runs may take differently.
"""

import hashlib
from dataclasses import dataclass

from discreet.errors import ProgramError
from discreet.verify.kinds import Types
from discreet.verify.parse import parse_file
from discreet.verify.resolve import resolve
from discreet.verify.shared import agrees, shared_variables
from discreet.verify.syntax import Array, Expr, Kind, Program, Return, Type, Variable


@dataclass(frozen=True, slots=True)
class CheckedProgram:
    """A program with a meaning: its types, its shared variables and the hash of its text."""

    program: Program
    types: dict[str, Type]
    shared: frozenset[str]
    returned_lists: frozenset[str]
    digest: str

    def kind(self, expression: Expr) -> Kind:
        """Return the kind of a scalar expression."""
        return Types(self.program, dict(self.types)).scalar(expression)

    def is_shared(self, expression: Expr) -> bool:
        """Return whether both runs agree on the value of an expression."""
        return agrees(expression, self.shared, self.program)


def parse(text: str) -> CheckedProgram:
    """Read, resolve and check a program; raises ProgramError with a position."""
    try:
        return check(resolve(parse_file(text)), text)
    except RecursionError:
        raise ProgramError("the program is nested too deeply", 1, 1) from None


def check(program: Program, text: str) -> CheckedProgram:
    """Check a closed program."""
    types = Types(program, {p.name: p.type for p in program.parameters})
    types.header()
    types.infer()
    types.block(program.body, {p.name for p in program.parameters}, top=True)
    types.lists_start_once()
    returned = program.body[-1] if program.body else None
    if not isinstance(returned, Return):
        raise ProgramError("the last statement must be a return", program.at.line, program.at.column)
    lists = frozenset(
        v.name for v in returned.values if isinstance(v, Variable) and isinstance(types.env[v.name], Array)
    )
    for name in lists:
        if program.parameter(name) is not None:
            at = returned.at
            raise ProgramError(f"{name} is an input list and cannot be returned whole", at.line, at.column)
    types.result(returned)
    digest = hashlib.sha256(text.replace("\r\n", "\n").encode()).hexdigest()
    return CheckedProgram(program, types.env, shared_variables(program), lists, digest)
