"""Searching for a proof: moves by counterexample-guided synthesis, then invariants for all list lengths.

The template's coefficients are small unknown integers.  The program is unrolled on short lists; a solver
looks for inputs and noise that break the current coefficients, another for coefficients that survive
everything found so far.  What survives is tried on the program with its loops cut, where the length of
lists is unbounded. Nothing found here is believed before the kernel has agreed.
"""

import math
import time
from collections.abc import Callable, Iterator, Mapping, Set
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from itertools import product as cartesian

import z3

from discreet.exact.number import log_up
from discreet.verify.check import CheckedProgram
from discreet.verify.claim import number_of
from discreet.verify.discharge import failures, possible, reachable, solver
from discreet.verify.draw import NOISE
from discreet.verify.ending import ranking, tossed
from discreet.verify.invariant import houdini, spacer
from discreet.verify.kernel import Part
from discreet.verify.lifetimes import lifetimes
from discreet.verify.neighbours import Direction, Inputs, Instance, directions
from discreet.verify.obligation import System
from discreet.verify.product import obligations
from discreet.verify.shared import is_concentrated
from discreet.verify.shrunk import shrunk
from discreet.verify.syntax import (
    Array,
    Binary,
    EpsilonClaim,
    Expr,
    Number,
    Program,
    Return,
    Sample,
    Scalar,
    SensitiveQuery,
    Unary,
    Variable,
    While,
    names,
    remembered,
    statements,
)
from discreet.verify.template import Template, build
from discreet.verify.term import Term, UnsupportedError, constants
from discreet.verify.written import has_words, put_down

LONGEST = 8
"""The longest list on which moves are tried before they are proved for all lengths."""
OTHERS = 4
"""Moves that are tried before those that come to the same in short are left."""


@dataclass(frozen=True, slots=True)
class NoProof:
    """Why no proof was found."""

    reason: str
    exhausted: bool = True
    """Whether more time would not help."""


@dataclass(slots=True)
class Search:
    """The state of one synthesis: what it may still spend, and the counterexamples so far."""

    checked: CheckedProgram
    direction: Direction
    deadline: float
    unproved: set[str] = field(default_factory=set)
    known: tuple[dict[int, Expr], ...] = ()
    """Moves that proved another direction: often they prove this one as well."""
    tails: Mapping[int, Fraction] = field(default_factory=dict)
    """Beyond how many scales draws are given up."""

    def out_of_time(self) -> bool:
        """Return whether the search should stop."""
        return time.process_time() > self.deadline


def prove(checked: CheckedProgram, seconds: float = 30.0) -> tuple[Part, ...] | NoProof:
    """Return one proof for each direction of the neighbours, or the reason why there is none."""
    lives = lifetimes(checked)
    if lives is not None:
        found = _prove(lives.checked, seconds)
        return found if isinstance(found, NoProof) else tuple(lives.told(part) for part in found)
    return _prove(checked, seconds)


def _prove(checked: CheckedProgram, seconds: float) -> tuple[Part, ...] | NoProof:
    start, ways = time.process_time(), list(given_up(checked.program))
    found = _proved(checked, {}, start + (seconds / 2 if ways else seconds))
    for tails in ways:
        if isinstance(found, NoProof):
            again = _proved(checked, tails, start + seconds)
            whole = found.exhausted and isinstance(again, NoProof) and again.exhausted
            found = NoProof(found.reason, whole) if isinstance(again, NoProof) else again
    return found


def _proved(
    checked: CheckedProgram, tails: dict[int, Fraction], deadline: float
) -> tuple[Part, ...] | NoProof:
    found: list[Part] = []
    try:
        for direction in directions(checked):
            known = tuple(dict(part.moves) for part in found[-1:])
            result = _direction(Search(checked, direction, deadline, known=known, tails=tails))
            if isinstance(result, NoProof):
                return result
            found.append(replace(result, tails={site: Number(far) for site, far in tails.items()}))
    except UnsupportedError as problem:
        return NoProof(str(problem))
    return tuple(found)


def given_up(program: Program) -> Iterator[dict[int, Fraction]]:
    """Yield tails of draws that a claim of delta allows to give up: of each draw, and of all together."""
    match program.claim:
        case EpsilonClaim(_, delta) if delta is not None and not is_concentrated(program):
            slack = number_of(delta)
        case _:
            return
    draws = [s for s in program.body if isinstance(s, Sample)]
    sites = [s.site for s in draws if s.law in ("Laplace", "Geometric")]
    if slack is None or not 0 < slack < 1:
        return
    for chosen in ([site] for site in sites):
        for sign in (1, -1):
            yield dict.fromkeys(chosen, sign * _scales(slack))
    if len(sites) > 1:
        yield dict.fromkeys(sites, _scales(slack / len(sites)))


def _scales(chance: Fraction) -> Fraction:
    """Return how many scales away a tail begins that has at most this chance, in round figures."""
    return Fraction(math.ceil(1000 * log_up(1 / chance)), 1000)


def _direction(search: Search) -> Part | NoProof:
    if not possible(Inputs(search.checked, search.direction)):
        return NoProof("nothing would be proved: no input satisfies the assumptions of the program")
    variants = ranking(search.checked)
    loops = [s for s in statements(search.checked.program.body) if isinstance(s, While)]
    missing = [s for s in loops if s.loop not in variants and not tossed(s)]
    if missing:
        at = missing[0].at
        return NoProof(
            f"line {at.line}, column {at.column}: no bound on the number of turns of this loop was found"
        )
    for moves in _candidates(search):
        system = obligations(search.checked, search.direction, moves, variants, tails=search.tails)
        invariants = induct(system, search)
        if invariants is not None and not reachable(system, invariants):
            return NoProof("nothing would be proved: no run of the program reaches its end")
        if invariants is not None:
            return put_down(search.checked, search.direction, moves, variants, invariants, system)
        if search.out_of_time():
            return NoProof("the time limit was reached before a proof was found", exhausted=False)
    what = f" (not proved: {', '.join(sorted(search.unproved))})" if search.unproved else ""
    return NoProof(f"no alignment of the noise was found{what}", exhausted=not search.out_of_time())


def induct(system: System, search: Search) -> Mapping[str, Term] | None:
    """Return invariants under which every obligation is proved, or None."""
    if not system.relations:
        failed = failures(system, {})
        search.unproved = {f"{f.clause.kind} at line {f.clause.at.line}" for f in failed}
        return None if failed else {}
    strategies: list[Callable[[System], Mapping[str, Term] | None]]
    strategies = [partial(spacer, timeout=500), houdini, partial(spacer, timeout=5000)]
    if any(z3.is_array(term) for relation in system.relations for term in relation.changing):
        strategies = [houdini, partial(spacer, timeout=500)]  # of lists the Horn solver invents little
    for strategy in strategies:
        invariants = strategy(system)
        if invariants is None:
            continue
        failed = failures(system, invariants)
        if not failed and has_words(system, invariants):
            return invariants
        search.unproved = {f"{f.clause.kind} at line {f.clause.at.line}" for f in failed}
    return None


# Synthesis of the moves


def _candidates(search: Search) -> Iterator[dict[int, Expr]]:
    checked = search.checked
    draws = [s for s in statements(checked.program.body) if isinstance(s, Sample)]
    if is_concentrated(checked.program):
        yield from _gaussian(checked, [s for s in draws if s.law in NOISE])
        return
    instances = list(_instances(shrunk(checked)))
    tried: list[dict[int, Expr]] = list(search.known)
    yield from (moves for moves in search.known if _survives(search, moves, instances[:1]))
    stages = (
        (False, False, 1),
        (False, True, 1),
        (True, False, 1),
        (True, False, 2),
        (True, True, 2),
    )
    for rich, guards, width in stages:
        if search.out_of_time():
            return
        template = build(checked, rich=rich, guards=guards)
        for moves in _synthesise(search, template, instances, width):
            if moves not in tried:
                tried.append(moves)
                yield moves
            if search.out_of_time():
                return


def _survives(search: Search, moves: dict[int, Expr], instances: list[Instance]) -> bool:
    """Return whether moves stand a trial on short lists, which costs less than failing to prove them."""
    known = Template(moves, (), {})
    cases = _Cases(shrunk(search.checked), search.direction, known, {}, instances, search.tails)
    return _counterexample(cases, {}, {}) is None


def _gaussian(checked: CheckedProgram, draws: list[Sample]) -> Iterator[dict[int, Expr]]:
    """Yield bounds on how far apart the centres of Gaussian draws may be."""
    bounds: list[Expr] = [Number(Fraction(0))]
    for relation in checked.program.neighbours:
        if relation.bound is not None:
            bounds.append(relation.bound)
        if relation.low is not None and relation.high is not None:
            bounds.append(Binary("-", relation.high, relation.low))
            bounds += [relation.high, Unary("-", relation.low)]
    for parameter in checked.program.parameters:
        if isinstance(parameter.type, Array) and parameter.type.element.high is not None:
            low, high = parameter.type.element.low or 0, parameter.type.element.high
            bounds.append(Number(Fraction(high - low)))
        if not parameter.private and parameter.type == Scalar("real") and parameter.name != "eps":
            bounds.append(Variable(parameter.name))
        if isinstance(parameter.type, SensitiveQuery):
            bounds.append(Variable(parameter.type.sensitivity))
    for choice in cartesian(bounds, repeat=len(draws)):
        yield {s.site: bound for s, bound in zip(draws, choice, strict=True)}


def _instances(checked: CheckedProgram) -> Iterator[Instance]:
    """Yield short lists and small public integers that satisfy the program's assumptions."""
    integers = [
        p.name
        for p in checked.program.parameters
        if not p.private and isinstance(p.type, Scalar) and p.type.kind == "int"
    ]
    lists = [p.name for p in checked.program.parameters if isinstance(p.type, Array)]
    # Long lists with a small cut-off last: they rule out moves that pay a little in every turn.
    # Integers far apart in between: as limits of an interval they would otherwise leave nothing inside.
    # Where several places are told there must be others: one, and more of them than are told.
    told = sum(checked.kind(v) == "int" for v in _returned(checked))
    some, long = (max(3, min(told + 1, LONGEST)), 3, 2), (max(5, min(2 * told + 2, LONGEST)), 5, 4)
    for sizes, turn, apart in (((3, 2, 1), (1, 2, 0, 3), 0), (some, (2, 3), 3), (long, (1, 2), 0)):
        for size, value, step in cartesian(sizes if lists else (0,), turn, dict.fromkeys((apart, 0))):
            numbers = {name: Fraction(value + step * place) for place, name in enumerate(integers)}
            instance = Instance(dict.fromkeys(lists, size), {**_priced(checked), **numbers})
            if _possible(checked, instance):
                yield instance
                break
        if not integers and not lists:
            return


def _returned(checked: CheckedProgram) -> tuple[Expr, ...]:
    """Return the values that are returned and are no lists."""
    end = checked.program.body[-1]
    values = end.values if isinstance(end, Return) else ()
    return tuple(v for v in values if not (isinstance(v, Variable) and v.name in checked.returned_lists))


def _priced(checked: CheckedProgram) -> dict[str, Fraction]:
    """Return a value for the constant that is claimed, which makes the price linear."""
    match checked.program.claim:
        case EpsilonClaim(epsilon):
            used = sorted(names(epsilon))
        case _:
            used = []
    reals = [n for n in used if checked.types.get(n) == Scalar("real")]
    for value in (Fraction(1), Fraction(2), Fraction(1, 2), Fraction(1, 10), Fraction(5)):
        chosen = dict.fromkeys(reals, value)
        if _possible(checked, Instance({}, chosen)):
            return chosen
    return {}


def _possible(checked: CheckedProgram, instance: Instance) -> bool:
    query = solver(500)
    query.add(*Inputs(checked, directions(checked)[0], instance).facts)
    return bool(query.check() == z3.sat)


@dataclass(slots=True)
class _Cases:
    """What goes wrong on each bounded instance, as a formula; larger instances are unrolled when needed."""

    checked: CheckedProgram
    direction: Direction
    template: Template
    unknowns: Mapping[str, Term]
    instances: list[Instance]
    tails: Mapping[int, Fraction]
    built: list[Term] = field(default_factory=list)

    def each(self) -> Iterator[Term]:
        for place, instance in enumerate(self.instances):
            if place == len(self.built):
                system = obligations(
                    self.checked,
                    self.direction,
                    self.template.moves,
                    unknowns=self.unknowns,
                    instance=instance,
                    unroll=max(instance.sizes.values(), default=3) + 1,
                    tails=self.tails,
                )
                self.built.append(_violation(system, remembered(self.checked.program)))
            yield self.built[place]


def _violation(system: System, filled: Set[str]) -> Term:
    # Short loops may fill less of a list than is read; otherwise what has no value has none in the whole.
    asked = [clause for clause in system.clauses if not filled or clause.kind != "defined"]
    broken = [z3.And(*clause.body, z3.Not(clause.head)) for clause in asked]
    facts = system.inputs.facts_for(broken)
    return z3.simplify(z3.And(*facts, z3.Or(*broken))) if broken else z3.BoolVal(False)


def _synthesise(
    search: Search, template: Template, instances: list[Instance], width: int
) -> Iterator[dict[int, Expr]]:
    """Yield moves that survive bounded exploration."""
    unknowns: dict[str, Term] = {
        s.name: z3.Bool(s.name) if s.boolean else z3.Int(s.name) for s in template.slots
    }
    cases = _Cases(shrunk(search.checked), search.direction, template, unknowns, instances, search.tails)
    guess = solver(4000)
    for unknown in unknowns.values():
        if z3.is_int(unknown):
            guess.add(unknown >= -width, unknown <= width)
    values: dict[str, int] = dict.fromkeys(unknowns, 0)
    shown: list[dict[str, int]] = []
    for _ in range(80):
        if search.out_of_time():
            return
        broken = _counterexample(cases, unknowns, values)
        if broken is None:
            # What proves nothing in its simplest form may do so as it was found.
            plain = _simplest(cases, unknowns, values)
            if plain in shown and len(shown) > OTHERS:
                return
            values = values if plain in shown else plain
            shown.append(values)
            yield template.fill(values)
            block = [unknowns[n] != _literal(unknowns[n], v) for n, v in values.items()]
            guess.add(z3.Or(*block) if block else z3.BoolVal(False))
        else:
            guess.add(broken)
        if guess.check() != z3.sat:
            return
        model = guess.model()
        values = {name: _number(model.eval(term, model_completion=True)) for name, term in unknowns.items()}


def _literal(unknown: Term, value: int) -> Term:
    return z3.IntVal(value) if z3.is_int(unknown) else z3.BoolVal(bool(value))


def _number(value: Term) -> int:
    return int(value.as_long()) if z3.is_int_value(value) else int(z3.is_true(value))


def _counterexample(cases: "_Cases", unknowns: dict[str, Term], values: dict[str, int]) -> Term | None:
    """Return a condition on the coefficients that rules out the given ones, or None if they survive."""
    fixed = [(term, _literal(term, values[name])) for name, term in unknowns.items()]
    for case in cases.each():
        concrete = z3.simplify(z3.substitute(case, *fixed)) if fixed else case
        if z3.is_false(concrete):
            continue
        query = solver(800)
        query.add(concrete)
        answer = query.check()
        if answer == z3.unsat:
            continue
        if answer != z3.sat:
            return None  # too hard to tell on this instance: the proof for all lengths will tell
        model = query.model()
        own = {term.get_id() for term in unknowns.values()}
        inputs = [
            (term, model.eval(term, model_completion=True))
            for key, term in constants(case).items()
            if key not in own
        ]
        return z3.simplify(z3.Not(z3.substitute(case, *inputs)))
    return None


def _simplest(cases: "_Cases", unknowns: dict[str, Term], values: dict[str, int]) -> dict[str, int]:
    """Set to zero every coefficient that is not needed."""
    for name in reversed(list(values)):
        if values[name]:
            simpler = {**values, name: 0}
            if _counterexample(cases, unknowns, simpler) is None:
                values = simpler
    return values
