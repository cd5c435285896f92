"""Proofs in which a move depends on later noise: the winner of a noisy maximum, told with its lead.

The winner keeps its lead over the best of the others if its noise is moved by what the others' best moves;
that is known only when all of them have been drawn.  They do not move themselves, so the kernel lets notes be
taken of them, and lets the winner's move know how the notes end.

The shape is recognised and the proof written down without a search: one loop over a list, one Laplace draw in
it, a returned place of the winner, its value so far and the second value so far.  Which variable plays which
part is tried out; whether the proof is one, the kernel decides.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import permutations, product

from discreet.errors import CertificateError
from discreet.verify.acceptance import reals_of, refusing
from discreet.verify.check import CheckedProgram
from discreet.verify.domain import cases, relation, senses
from discreet.verify.ending import ranking
from discreet.verify.grammar import read
from discreet.verify.kernel import Part, accept
from discreet.verify.limit import tick
from discreet.verify.spelling import show
from discreet.verify.syntax import (
    Element,
    Return,
    Sample,
    Scalar,
    Variable,
    While,
    expressions,
    statements,
    subexpressions,
)

SECONDS = 5.0
"""For one distribution of parts."""


@dataclass(frozen=True, slots=True)
class Roles:
    """Which variable is what in a noisy maximum with a lead."""

    loop: int
    site: int
    array: str
    bound: str
    counter: str
    winner: str
    place: int
    best: str
    second: str
    largest: bool


def foreseen(checked: CheckedProgram) -> tuple[Part, ...] | None:
    """Return a proof that the kernel accepts, or None where the program has another shape."""
    for parts in candidates(checked):
        tick()
        found = tuple(written(checked, parts, case) for case in cases(checked.program))
        try:
            with refusing():
                accept(checked.program, found, SECONDS, reals_of(checked))
        except CertificateError:
            continue
        return found
    return None


def candidates(checked: CheckedProgram) -> Iterator[Roles]:
    """Yield the ways in which variables may play the parts, where the program has the shape."""
    body = checked.program.body
    loops = [s for s in statements(body) if isinstance(s, While)]
    draws = [s for s in statements(body) if isinstance(s, Sample)]
    returned = body[-1]
    if len(loops) != 1 or len(draws) != 1 or draws[0].law != "Laplace" or not isinstance(returned, Return):
        return
    loop, draw = loops[0], draws[0]
    told = [v for v in returned.values if isinstance(v, Variable) and v.name in checked.returned_lists]
    if draw not in loop.body or told or all(checked.kind(v) != "real" for v in returned.values):
        return
    everything = [p for s in statements(loop.body) for e in expressions(s) for p in subexpressions(e)]
    read_at = {
        (p.array, p.index.name)
        for p in everything
        if isinstance(p, Element) and isinstance(p.index, Variable)
    }
    numbers = [n for n, kind in sorted(checked.types.items()) if kind == Scalar("real") and n != draw.target]
    numbers = [n for n in numbers if checked.program.parameter(n) is None]
    for place, value in enumerate(returned.values, start=1):
        if not isinstance(value, Variable) or checked.types[value.name] != Scalar("int"):
            continue
        for array, counter in sorted(read_at):
            found = relation(checked.program, array)
            if found is None or found.bound is None or found.kind not in ("one", "all", "monotone"):
                continue
            for (best, second), largest in product(permutations(numbers, 2), (True, False)):
                yield Roles(
                    loop.loop,
                    draw.site,
                    array,
                    show(found.bound),
                    counter,
                    value.name,
                    place,
                    best,
                    second,
                    largest,
                )


def written(checked: CheckedProgram, parts: Roles, case: str) -> Part:
    """Write the proof down: i counts, w wins, b is its value so far, s the second value so far."""
    i, w, b, s = parts.counter, parts.winner, parts.best, parts.second
    q, r = parts.array, f"result({parts.place})"
    lead = f"{q}{{1}}[PLACE] - {q}{{2}}[PLACE] + final(2) - final(1)"
    first = f"{i} = 0 or {i} = 1 and {r} = 0"
    far, beats, behind = ("max", ">", "<=") if parts.largest else ("min", "<", ">=")
    drawn = {side: f"{q}{{{side}}}[{i}] + drawn(0)" for side in (1, 2)}
    notes = {side: f"if {first} then {v} else {far}(note({side}), {v})" for side, v in drawn.items()}
    seen = f"{i}{{1}} > {r} and {r} >= 0"
    facts = [
        f"{i}{{1}} = {i}{{2}}",
        f"{i}{{1}} >= 0",
        f"{i}{{1}} <= size({q})",
        f"note(2) - note(1) <= {_most(checked, parts, case, up=True)}",
        f"note(1) - note(2) <= {_most(checked, parts, case, up=False)}",
        f"{seen} or moved({parts.site}) = 0",
        f"not ({seen}) or moved({parts.site}) = abs({lead.replace('PLACE', r)})",
    ]
    for side in (1, 2):
        facts += [
            f"{i}{{1}} = 0 or {w}{{{side}}} >= 0 and {w}{{{side}}} < {i}{{1}}",
            f"{i}{{1}} > {r} or {i}{{1}} = 0 or {b}{{{side}}} = note({side})",
            f"not ({seen} and {w}{{{side}}} = {r}) or {i}{{1}} < 2 or {s}{{{side}}} = note({side})",
        ]
    facts += [
        f"not ({seen} and {w}{{1}} = {r}) or {i}{{1}} < 2 or {b}{{1}} {beats} note(1)",
        f"not ({seen} and {w}{{1}} = {r}) or {w}{{2}} = {r} and {b}{{2}} = {b}{{1}} + final(2) - final(1)"
        f" or ({i}{{1}} >= 2 and {b}{{1}} + final(2) - final(1) {behind} note(2))",
    ]
    return Part(
        senses(checked.program, case),
        {parts.site: read(f"if {i} = {r} then {lead.replace('PLACE', i)} else 0")},
        ranking(checked),
        {parts.loop: (tuple(read(fact) for fact in facts),)},
        apart={parts.site: read(f"{b} - {q}[{i}]")},
        picked=read(f"{i} = {r}"),
        notes={side: read(text) for side, text in notes.items()},
    )


def _most(checked: CheckedProgram, parts: Roles, case: str, *, up: bool) -> str:
    """Return by how much the best of the others may grow or shrink."""
    sense = senses(checked.program, case).get(parts.array)
    return "0" if sense == ("down" if up else "up") else parts.bound
