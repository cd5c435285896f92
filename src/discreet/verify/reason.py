"""Why no proof was found: the assertion that fails, where it stands, and with which inputs and noise."""

import z3

from discreet.verify.check import CheckedProgram
from discreet.verify.discharge import solver
from discreet.verify.domain import cases
from discreet.verify.law import Site
from discreet.verify.limit import LimitError, within
from discreet.verify.neighbours import Instance
from discreet.verify.obligation import Clause, System
from discreet.verify.product import obligations
from discreet.verify.space import value_of
from discreet.verify.spelling import show
from discreet.verify.suspect import model_values, telling_moves
from discreet.verify.syntax import Array, Expr
from discreet.verify.term import Term, UnsupportedError, constants

MEANING = {
    "same branch": "both runs must take the same branch here",
    "same output": "both runs must output the same value here",
    "cost": "moving the noise so that the outputs agree costs more than is claimed",
    "support": "the noise would have to move out of the support of its law",
    "integer move": "integer noise would have to move by a fraction",
    "centres": "the centres may be further apart than is allowed",
    "positive scale": "the scale is not known to be positive",
    "possible law": "the parameters of the law are not known to be possible",
    "defined": "this expression may have no value",
    "terminates": "this loop may not end",
    "same turns": "the runs may differ in their number of turns",
    "same end": "the runs may differ in their number of turns",
    "step": "the runs may look at different elements",
}


def why(checked: CheckedProgram) -> str | None:
    """Return what stands in the way of a proof, on short lists, or None if nothing does there."""
    try:
        with within(2.0):
            return _why(checked)
    except (UnsupportedError, LimitError, z3.Z3Exception):
        return None


def _why(checked: CheckedProgram) -> str | None:
    lists = [p.name for p in checked.program.parameters if isinstance(p.type, Array)]
    for size in (1, 2):
        for moves in reversed(list(telling_moves(checked))):
            instance = Instance(dict.fromkeys(lists, size))
            system = obligations(
                checked, cases(checked.program)[0], moves, instance=instance, unroll=size + 1
            )
            for clause in system.clauses:
                if clause.kind not in MEANING or isinstance(clause.head, tuple):
                    continue
                query = solver(500)
                facts = system.inputs.facts_for([*clause.body, clause.head])
                query.add(*facts, *clause.body, z3.Not(clause.head))
                if query.check() == z3.sat:
                    return _words(system, clause, query.model(), moves)
    return None


def _words(system: System, clause: Clause, model: z3.ModelRef, moves: dict[int, Expr]) -> str:
    given = [f"{name} = {value}" for name, value in model_values(system, model) if not name.startswith("GS")]
    noises = [f"{name} = {value}" for name, value in _noises([*clause.body, clause.head], model)]
    text = f"line {clause.at.line}: {MEANING[clause.kind]}"
    if given:
        text += f"; it fails for instance when {', '.join(given[:6])}"
    if noises:
        text += f" and the first run draws {', '.join(noises[:3])}"
    moved = [_moved(system.sites[site], move) for site, move in moves.items() if show(move) != "0"]
    return f"{text}, even if {' and '.join(moved)}" if moved else text


def _moved(site: Site, move: Expr) -> str:
    return f"{site.statement.target} (line {site.statement.at.line}) moves by {show(move)}"


def _noises(terms: list[Term], model: z3.ModelRef) -> list[tuple[str, object]]:
    found = {
        str(term): value_of(model.eval(term, model_completion=True)) for term in constants(*terms).values()
    }
    return [(name.partition("~")[0], value) for name, value in sorted(found.items()) if "~" in name]
