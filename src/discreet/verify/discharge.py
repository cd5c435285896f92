"""Deciding obligations: whether a clause is valid once the invariants are filled in.

Every question is put to Z3 with a time limit and a fixed seed; any answer but a proof counts as a failure.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import z3

from discreet.verify.limit import milliseconds
from discreet.verify.neighbours import Inputs
from discreet.verify.obligation import Clause, LoopRelation, System
from discreet.verify.term import Term

TIMEOUT = 6000
"""Milliseconds for one obligation, on a machine of moderate speed."""
WORK = 3000
"""Units of the solver's work for a millisecond."""
SLOWEST = 12
"""How much longer the same work may take on a busy machine before it is given up all the same."""


@dataclass(frozen=True, slots=True)
class UnprovedObligation:
    """An obligation that was not proved, with a model when one was found."""

    clause: Clause
    model: object | None


def instance(relation: LoopRelation, invariant: Term, values: tuple[Term, ...]) -> Term:
    """Return the invariant at the values of a loop's changing symbols."""
    return z3.substitute(invariant, *zip(relation.changing, values, strict=True))


def goal(clause: Clause, invariants: Mapping[str, Term]) -> Term:
    """Return what a clause asks to be proved."""
    match clause.head:
        case (relation, values):
            return instance(relation, invariants[relation.name], values)
        case formula:
            return formula


def hypotheses(clause: Clause, system: System, invariants: Mapping[str, Term], head: Term) -> list[Term]:
    """Return everything a clause may assume."""
    body = [*clause.body, *(invariants[relation.name] for relation in clause.uses)]
    return [*system.inputs.facts_for([*body, head]), *body]


def solver(timeout: int = TIMEOUT) -> z3.Solver:
    """Return a solver with a time limit and a fixed seed."""
    made = z3.Solver()
    # The solver's own unit of work decides, so that an answer does not depend on how busy the machine is.
    made.set("rlimit", timeout * WORK)
    made.set("timeout", milliseconds(SLOWEST * timeout))
    made.set("random_seed", 7)
    return made


def possible(inputs: Inputs) -> bool:
    """Return whether some inputs may satisfy the program's assumptions: a claim about none says nothing."""
    query = solver()
    query.add(*inputs.facts, *inputs.inhabited())
    return bool(query.check() != z3.unsat)


def reachable(system: System, invariants: Mapping[str, Term]) -> bool:
    """Return whether some run may reach the end: a proof about no run at all says nothing."""
    ends = [clause for clause in system.clauses if clause.kind == "end"]
    for clause in ends:
        query = solver()
        query.add(*hypotheses(clause, system, invariants, z3.BoolVal(False)))
        if query.check() != z3.unsat:
            return True
    return False


def refutation(
    clause: Clause, system: System, invariants: Mapping[str, Term], timeout: int = TIMEOUT
) -> UnprovedObligation | None:
    """Return None when the clause is proved."""
    head = goal(clause, invariants)
    query = solver(timeout)
    query.add(*hypotheses(clause, system, invariants, head))
    query.add(z3.Not(head))
    answer = query.check()
    if answer == z3.unsat:
        return None
    return UnprovedObligation(clause, query.model() if answer == z3.sat else None)


def failures(
    system: System, invariants: Mapping[str, Term], timeout: int = TIMEOUT
) -> list[UnprovedObligation]:
    """Return the obligations that are not proved, all of them."""
    found = (refutation(clause, system, invariants, timeout) for clause in system.clauses)
    return [failure for failure in found if failure is not None]
