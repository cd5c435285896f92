"""The law of a program with very many paths: whatever happened before, the same values are the same state.

Theorem.  Let a program be cut at the turns of its outermost loops.  If no variable that is read later still
holds noise at a cut, then what follows depends on the values of the variables alone; so paths that have come
to the same values may be put together, their chances added, and the law of the output is the same.
Proof.  The draws of later segments are independent of those before; the chance of a path is the product of
the chances of its segments, each an integral over the noises of that segment alone; add up by distributivity.

Variables that hold noise at a cut are forgotten there.  A program that reads one later has no such law, and
is left to the exploration of single paths.  Lists of which no element is changed only grow, so for a wanted
output only those states need be followed whose lists begin like it; every output that begins like it then has
its whole chance.
"""

from collections.abc import Iterator, Mapping
from itertools import islice

from discreet.errors import ParameterError
from discreet.verify.check import CheckedProgram
from discreet.verify.explore import (
    MOST_STEPS,
    ExploredPath,
    Form,
    Quotient,
    Walker,
    path_probability,
    paths,
    product_of,
    sum_quotients,
)
from discreet.verify.integrate import UNIT, TooHardError
from discreet.verify.limit import tick
from discreet.verify.run import Run, Value
from discreet.verify.syntax import Expr, Return, Statement, Variable, While, revised

FEW = 50
"""Paths that are explored before they are put together."""
MOST_STATES = 400
"""Values of all variables at one cut, and paths through one turn."""
OUTPUT = "return"
"""A word of the language, so no variable is called this."""
Law = list[ExploredPath]
State = tuple[dict[str, Value], Quotient]
Wanted = Mapping[str, tuple[Value, ...]]


def both_laws(
    checked: CheckedProgram, first: Mapping[str, Value], second: Mapping[str, Value]
) -> Iterator[tuple[Law, Law]]:
    """Yield the laws on two inputs; where there are too many outputs, the part that outputs alike of both."""
    explored = [paths(checked, values) for values in (first, second)]
    begun = [list(islice(law, FEW)) for law in explored]
    if all(len(law) < FEW for law in begun):
        yield begun[0], begun[1]
        return
    try:
        yield _law(checked, first, {}), _law(checked, second, {})
        return
    except TooHardError:
        for wanted in _wanted(checked, first):
            try:
                yield _law(checked, first, wanted), _law(checked, second, wanted)
            except TooHardError:
                break
    yield [*begun[0], *explored[0]], [*begun[1], *explored[1]]


def _law(checked: CheckedProgram, values: Mapping[str, Value], wanted: Wanted) -> Law:
    """Return the law of the output as paths without noise; of those outputs only that begin as is wanted."""
    states: list[State] = [(dict(values), Quotient(UNIT, UNIT))]
    for segment in _segments(checked.program.body):
        match segment[0]:
            case While(condition, body):
                states = _looped(checked, condition, body, states, wanted)
            case _:
                states = _walked(checked, segment, states, wanted)
    return [ExploredPath(env[OUTPUT], {}, (), p.numerator, p.denominator) for env, p in states]


def _segments(body: tuple[Statement, ...]) -> list[tuple[Statement, ...]]:
    """Return a program as loops, each alone, and runs of other statements between them."""
    found: list[tuple[Statement, ...]] = []
    for statement in body:
        if found and not isinstance(statement, While) and not isinstance(found[-1][0], While):
            found[-1] = (*found[-1], statement)
        else:
            found.append((statement,))
    return found


def _looped(
    checked: CheckedProgram,
    condition: Expr,
    body: tuple[Statement, ...],
    states: list[State],
    wanted: Wanted,
) -> list[State]:
    """Return the states in which a loop ends."""
    ended: list[State] = []
    while states:
        going: list[State] = []
        for env, chance in states:
            on = _certain(Run(checked, Walker([], symbolic=False), env), condition)
            (going if on else ended).append((env, chance))
        states = _walked(checked, body, going, wanted)
    return _together(ended)


def _certain(run: Run, condition: Expr) -> bool:
    try:
        return bool(run.value(condition))
    except KeyError as forgotten:
        raise TooHardError("noise is read after the turn that drew it") from forgotten


def _walked(
    checked: CheckedProgram, block: tuple[Statement, ...], states: list[State], wanted: Wanted
) -> list[State]:
    """Return the states after some statements, for every path through them."""
    found: list[State] = []
    for env, chance in states:
        try:
            for after, path in routes(checked, block, env):
                if _fits(after, wanted):
                    found.append((after, product_of(chance, path_probability(path, ()))))
        except KeyError as forgotten:
            raise TooHardError("noise is read after the turn that drew it") from forgotten
    return _together(found)


def routes(
    checked: CheckedProgram, block: tuple[Statement, ...], env: Mapping[str, Value]
) -> Iterator[tuple[dict[str, Value], ExploredPath]]:
    """Yield what every path through some statements leaves behind, without what holds noise."""
    script: list[int] = []
    for _ in range(MOST_STATES):
        tick()
        walker = Walker(script, symbolic=False)
        run = Run(checked, walker, dict(env), MOST_STEPS)
        try:
            output = run.block(block)
        except (ParameterError, TypeError) as problem:
            raise TooHardError(str(problem)) from problem
        after = {name: _plain(value) for name, value in run.values.items() if not _noisy(value)}
        if isinstance(block[-1], Return):
            after = {OUTPUT: tuple(_plain(value) for value in output)}
            if any(_noisy(value) for value in output):
                raise TooHardError("noise is returned")
        yield after, walker.path(())
        following = walker.next_script()
        if following is None:
            return
        script = following
    raise TooHardError(f"there are more than {MOST_STATES} paths through one turn")


def _noisy(value: Value) -> bool:
    if isinstance(value, list | tuple):
        return any(_noisy(item) for item in value)
    return isinstance(value, Form) and bool(value.coefficients)


def _plain(value: Value) -> Value:
    if isinstance(value, list | tuple):
        return tuple(_plain(item) for item in value)
    return value.constant if isinstance(value, Form) else value


def _fits(env: Mapping[str, Value], wanted: Wanted) -> bool:
    """Return whether the lists of a state begin like those of the wanted output."""
    return all(name not in env or env[name] == items[: len(env[name])] for name, items in wanted.items())


def _together(states: list[State]) -> list[State]:
    """Put states of the same values together."""
    same: dict[object, tuple[dict[str, Value], list[Quotient]]] = {}
    for env, chance in states:
        tick()
        if chance.numerator:
            key = tuple((name, repr(value)) for name, value in sorted(env.items()))
            same.setdefault(key, (env, []))[1].append(chance)
    if len(same) > MOST_STATES:
        raise TooHardError(f"there are more than {MOST_STATES} states at a time")
    return [(env, sum_quotients(chances)) for env, chances in same.values()]


def _wanted(checked: CheckedProgram, values: Mapping[str, Value]) -> Iterator[dict[str, tuple[Value, ...]]]:
    """Yield outputs worth following: of runs that always take the first choice, or always the second."""
    end = checked.program.body[-1]
    told, changed = (end.values if isinstance(end, Return) else ()), revised(checked.program.body)
    for pick in (0, 1):
        walker = Walker([], symbolic=False, pick=pick)
        output = Run(checked, walker, dict(values), MOST_STEPS).block(checked.program.body)
        if any(_noisy(value) for value in output):
            return
        plain = tuple(_plain(value) for value in output)
        lists = {
            v.name: items
            for v, items in zip(told, plain, strict=True)
            if isinstance(v, Variable) and v.name in checked.returned_lists - changed
        }
        if lists:
            yield lists
