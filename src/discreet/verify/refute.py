"""Refuting a claim: concrete neighbours, an event, and probabilities computed exactly.

Candidates are neighbours found by solving the header's formula, and events on the output: equality for
discrete parts, half-lines for continuous ones.  For each, both probabilities are integrated exactly and the
inequality

    Pr[M(D1) in E] > exp(epsilon) Pr[M(D2) in E] + delta

is decided with a certified sign.  A search that finds nothing proves nothing.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain, islice
from itertools import product as cartesian

from flint import arb, ctx

from discreet.errors import ProgramError
from discreet.exact.number import ball, enclose, ends, float_down, log_down
from discreet.verify.bell import PRECISIONS, HalfSpace, allowed, chance, half_spaces
from discreet.verify.candidate import pairs
from discreet.verify.check import CheckedProgram
from discreet.verify.explore import ExploredPath, Form, Quotient, path_probability, sum_quotients
from discreet.verify.integrate import (
    Inequality,
    NormalLaw,
    TooHardError,
    add,
    enclosure,
    is_lattice,
    multiply,
    scale_of,
    shifted,
    sign,
)
from discreet.verify.limit import LimitError, tick, within
from discreet.verify.linear import UndecidedError
from discreet.verify.merged import Law, both_laws
from discreet.verify.run import ExactDraws, Run, Value
from discreet.verify.space import NeighbourPair
from discreet.verify.suspect import suspects
from discreet.verify.syntax import EpsilonClaim, Expr, Rho, Secret
from discreet.verify.syntax import Number as Literal
from discreet.verify.term import UnsupportedError
from discreet.verify.witness import Witness

NEAR = 40
"""Events that are tried on laws with normal noise."""
FIRST = 24
"""Plain inputs that are tried before the solver is asked for telling ones."""
FAR = 8
"""How far into a tail the farthest half-lines reach, in scales of the widest noise."""


@dataclass(frozen=True, slots=True)
class Predicate:
    """A predicate on one number of the output."""

    relation: str
    value: Value = 0

    def holds_for(self, entry: Value, path: ExploredPath) -> tuple[Inequality, ...] | None:
        """Return the condition on the noise under which an entry satisfies the test, or None if never."""
        if self.relation == "any":
            return ()
        if not isinstance(entry, Form) or not entry.coefficients:
            plain = entry.constant if isinstance(entry, Form) else entry
            truth = {"=": plain == self.value, ">=": plain >= self.value, "<=": plain <= self.value}
            return () if truth[self.relation] else None
        above, below = entry - self.value, self.value - entry
        sides = (
            Inequality(above.constant, above.coefficients),
            Inequality(below.constant, below.coefficients),
        )
        if self.relation == "=":
            # A continuous noise hits a point with probability zero; an integer noise does not.
            integers = all(is_lattice(path.densities[n]) for n, _ in entry.coefficients)
            return sides if integers else None
        return sides[:1] if self.relation == ">=" else sides[1:]

    def words(self, name: str) -> str:
        """Return the test as text."""
        return f"{name} {self.relation} {self.value}" if self.relation != "any" else ""


Shape = tuple[int | None, ...]
"""For each returned value: the length of a list, or None for a single value."""


@dataclass(frozen=True, slots=True)
class OutputEvent:
    """Outputs of one shape whose entries pass the tests."""

    shape: Shape
    tests: tuple[Predicate, ...]

    def needs(self, path: ExploredPath) -> tuple[Inequality, ...] | None:
        """Return the condition on the noise under which a path's output belongs here, or None if never."""
        shape, flat = entries(path.output)
        if shape != self.shape:
            return None
        conditions: list[Inequality] = []
        for test, entry in zip(self.tests, flat, strict=True):
            needed = test.holds_for(entry, path)
            if needed is None:
                return None
            conditions += needed
        return tuple(conditions)

    def words(self) -> str:
        """Return the event as text."""
        parts: list[str] = []
        tests = iter(self.tests)
        for place, length in enumerate(self.shape, start=1):
            name = "output" if len(self.shape) == 1 else f"output {place}"
            if length is None:
                parts.append(next(tests).words(name))
            else:
                parts += [next(tests).words(f"{name}[{i}]") for i in range(length)]
                parts.append(f"{name} has {length} entries")
        return ", ".join(p for p in parts if p) or "anything"


def entries(output: tuple[Value, ...]) -> tuple[Shape, tuple[Value, ...]]:
    """Return the shape of an output and its numbers in order."""
    shape: list[int | None] = []
    flat: list[Value] = []
    for value in output:
        if isinstance(value, tuple):
            shape.append(len(value))
            flat += value
        else:
            shape.append(None)
            flat.append(value)
    return tuple(shape), tuple(flat)


def mass(law: list[ExploredPath], event: OutputEvent) -> Quotient:
    """Return the exact probability of an event."""
    needed = ((path, event.needs(path)) for path in law)
    parts = [path_probability(path, conditions) for path, conditions in needed if conditions is not None]
    return sum_quotients(parts)


def events(first: list[ExploredPath], second: list[ExploredPath]) -> Iterator[OutputEvent]:
    """Yield telling events: for each discrete outcome, half-lines that separate the two laws."""
    seen: set[OutputEvent] = set()
    partners: dict[object, tuple[Value, ...]] = {}
    for path in second:
        shape, flat = entries(path.output)
        partners.setdefault(_signature(shape, flat), flat)
    for path in first:
        shape, flat = entries(path.output)
        other = partners.get(_signature(shape, flat), flat)
        reach = FAR * max((Fraction(1), *(scale_of(density) for density in path.densities.values())))
        options = [_options(a, b, reach) for a, b in zip(flat, other, strict=True)]
        for tests in islice(_combinations(options), 60):
            event = OutputEvent(shape, tests)
            if event not in seen:
                seen.add(event)
                yield event


def _signature(shape: Shape, flat: tuple[Value, ...]) -> object:
    return shape, tuple("noise" if isinstance(v, Form) and v.coefficients else v for v in flat)


def _options(first: Value, second: Value, reach: Fraction) -> list[Predicate]:
    if not isinstance(first, Form) or not first.coefficients:
        return [Predicate("=", first.constant if isinstance(first, Form) else first)]
    a = first.constant
    b = second.constant if isinstance(second, Form) else Fraction(second)
    low, high, middle = min(a, b), max(a, b), (a + b) / 2
    tail = Predicate(">=", high) if a > b else Predicate("<=", low)
    far = Predicate(">=", high + reach) if a > b else Predicate("<=", low - reach)
    centre = Predicate(">=", middle) if a > b else Predicate("<=", middle)
    back = Predicate("<=", low) if a > b else Predicate(">=", high)
    # The last ones are for integer noise, which hits a point; a continuous noise never does.
    points = [Predicate("=", value) for value in dict.fromkeys((a, b))]
    return [tail, Predicate("any"), centre, far, back, Predicate("<=", low - reach), *points]


def _combinations(options: list[list[Predicate]]) -> Iterator[tuple[Predicate, ...]]:
    """Yield uniform choices first, then single exceptions, then everything."""
    depth = max((len(o) for o in options), default=1)
    for choice in range(depth):
        yield tuple(o[min(choice, len(o) - 1)] for o in options)
    plain = [next((t for t in o if t.relation in ("any", "=")), o[0]) for o in options]
    for place, choices in enumerate(options):
        for exception in choices:
            yield (*plain[:place], exception, *plain[place + 1 :])
    yield from cartesian(*options)


def claimed(checked: CheckedProgram, values: Mapping[str, Value]) -> tuple[Fraction, Fraction] | None:
    """Return the claimed epsilon and delta on concrete inputs, or None where the claim is of another kind."""
    match checked.program.claim:
        case Secret():
            return Fraction(0), Fraction(0)
        case EpsilonClaim(epsilon, delta):
            return evaluate(checked, epsilon, values), evaluate(
                checked, delta or Literal(Fraction(0)), values
            )
        case Rho() | None:
            return None


def evaluate(checked: CheckedProgram, expression: Expr, values: Mapping[str, Value]) -> Fraction:
    """Return the value of an expression of the header."""
    return Fraction(Run(checked, ExactDraws(), dict(values)).value(expression))


def refute(
    checked: CheckedProgram, seconds: float = 10.0, most: int | None = None, tried: set[str] | None = None
) -> Witness | None:
    """Return a certified counterexample to the program's claim, or None.

    `most` limits the inputs tried; those in `tried` are passed over, and those that failed are added to it.
    """
    done = set() if tried is None else tried
    try:
        with within(seconds):
            known = pairs(checked)
            for pair in islice(chain(islice(known, FIRST), suspects(checked), known), most):
                key = repr((pair.first, pair.second))
                found = None if key in done else attempt(checked, pair)
                if found is not None:
                    return found
                done.add(key)
            return None
    except (LimitError, UnsupportedError):
        return None


@dataclass(frozen=True, slots=True)
class Claimed:
    """What must be broken on a pair of inputs: epsilon and delta, or rho."""

    epsilon: Fraction
    delta: Fraction
    rho: Fraction | None

    def limit(self, above: arb, below: arb) -> Fraction | None:
        """Return the epsilon that holds for an event of these probabilities, if it can be told."""
        return self.epsilon if self.rho is None else allowed(self.rho, above, below)


def weakest(checked: CheckedProgram, pair: NeighbourPair) -> Claimed | None:
    """Return the weaker of the claims on two inputs: a claim may mention sizes."""
    if isinstance(checked.program.claim, Rho):
        rho = checked.program.claim.rho
        return Claimed(
            Fraction(0), Fraction(0), max(evaluate(checked, rho, v) for v in (pair.first, pair.second))
        )
    claim, other = claimed(checked, pair.first), claimed(checked, pair.second)
    if claim is None or other is None:
        return None
    epsilon, delta = max(claim[0], other[0]), max(claim[1], other[1])
    return Claimed(epsilon, delta, None)


def attempt(checked: CheckedProgram, pair: NeighbourPair) -> Witness | None:
    """Return a certified counterexample on a given pair of neighbours, or None."""
    claim = weakest(checked, pair)
    if claim is None:
        return None
    try:
        for laws in both_laws(checked, pair.first, pair.second):
            found = _telling(pair, laws, claim)
            if found is not None:
                return found
    except (TooHardError, ProgramError, UndecidedError):
        return None
    return None


def _telling(pair: NeighbourPair, laws: tuple[Law, Law], claim: Claimed) -> Witness | None:
    """Return a counterexample on the laws of a pair of neighbours, or None."""
    known: dict[tuple[int, OutputEvent], Quotient] = {}

    def weighed(side: int, event: OutputEvent) -> Quotient:
        if (side, event) not in known:
            known[side, event] = mass(laws[side], event)
        return known[side, event]

    for first, second, swapped in ((0, 1, False), (1, 0, True)):
        for event in events(laws[first], laws[second]):
            tick()
            try:
                above, below = weighed(first, event), weighed(second, event)
            except TooHardError:
                continue
            epsilon = claim.epsilon if claim.rho is None else claim.limit(_ball(above), _ball(below))
            if epsilon is not None and breaks(above, below, epsilon, claim.delta):
                told = event.words(), bounds(above), bounds(below)
                return witness(pair, *told, epsilon, claim.delta, swapped=swapped, rho=claim.rho)
        found = _normal(pair, (laws[first], laws[second]), claim, swapped=swapped)
        if found is not None:
            return found
    return None


def _ball(value: Quotient) -> arb:
    if not value.numerator:
        return arb(0)
    return enclosure(value.numerator, ctx.prec) / enclosure(value.denominator, ctx.prec)


def _normal(
    pair: NeighbourPair, laws: tuple[list[ExploredPath], list[ExploredPath]], claim: Claimed, *, swapped: bool
) -> Witness | None:
    """Return a counterexample whose probabilities are enclosed, for laws with normal noise."""
    first, second = laws
    if not any(isinstance(d, NormalLaw) for path in first for d in path.densities.values()):
        return None
    telling: Iterator[OutputEvent | HalfSpace] = _spaces(first, second, claim)
    for event in chain(telling, islice(events(first, second), NEAR)):
        for precision in PRECISIONS:
            tick()
            with ctx.workprec(precision):
                try:
                    above, below = _enclosed(first, event), _enclosed(second, event)
                except TooHardError:
                    break
                epsilon = claim.limit(above, below)
                if epsilon is None or not above > ball(epsilon).exp() * below + ball(claim.delta):
                    continue
                loss = float("inf") if below.is_zero() else float_down(ends((above / below).log())[0])
                told = event.words(), ends(above), ends(below)
                return witness(pair, *told, epsilon, claim.delta, swapped=swapped, loss=loss, rho=claim.rho)
    return None


def _enclosed(law: list[ExploredPath], event: OutputEvent | HalfSpace) -> arb:
    needed = ((path, event.needs(path)) for path in law)
    parts = [chance(path, conditions) for path, conditions in needed if conditions is not None]
    return sum(parts, arb(0))


def _spaces(first: list[ExploredPath], second: list[ExploredPath], claim: Claimed) -> Iterator[HalfSpace]:
    for one in first:
        shape, flat = entries(one.output)
        for two in second:
            other = entries(two.output)
            if _signature(*other) == _signature(shape, flat):
                yield from half_spaces((one, flat), (two, other[1]), claim.epsilon, claim.rho)
                break


def breaks(above: Quotient, below: Quotient, epsilon: Fraction, delta: Fraction) -> bool:
    """Decide above > exp(epsilon) below + delta exactly."""
    left = multiply(above.numerator, below.denominator)
    right = shifted(multiply(below.numerator, above.denominator), epsilon)
    right = add(right, multiply(above.denominator, below.denominator), delta)
    return sign(add(left, right, -1)) > 0


def bounds(value: Quotient) -> tuple[Fraction, Fraction]:
    """Return rationals around a probability."""
    if not value.numerator:
        return Fraction(0), Fraction(0)
    return enclose(lambda: _ball(value), 64)


def witness(
    pair: NeighbourPair,
    event: str,
    upper: tuple[Fraction, Fraction],
    lower: tuple[Fraction, Fraction],
    epsilon: Fraction,
    delta: Fraction,
    *,
    swapped: bool,
    loss: float | None = None,
    rho: Fraction | None = None,
) -> Witness:
    """Report a counterexample that was decided."""
    first, second = (pair.second, pair.first) if swapped else (pair.first, pair.second)
    private = pair.private
    if loss is None:
        loss = float("inf") if not lower[1] else float_down(log_down(upper[0] / lower[1]))
    return Witness(
        "exact",
        {k: first[k] for k in private},
        {k: second[k] for k in private},
        {k: v for k, v in pair.first.items() if k not in private and not callable(v)},
        event,
        upper,
        lower,
        epsilon,
        delta,
        loss,
        rho=rho,
    )
