"""One draw in both runs: the second run's noise is the first's, moved, at a price."""

from dataclasses import replace
from fractions import Fraction

import z3

from discreet.verify.claim import polynomial
from discreet.verify.obligation import PairState
from discreet.verify.syntax import Number, Sample, Scalar, Variable
from discreet.verify.term import Term, UnsupportedError, absolute, choose, real, symbol
from discreet.verify.walker import PairWalk

NOISE = ("Laplace", "Geometric", "Exponential", "Gumbel", "Gaussian", "DiscreteGaussian")
ZERO = Number(Fraction(0))


def sample(walk: PairWalk, statement: Sample, state: PairState) -> PairState:
    """Draw in both runs."""
    entry = walk.sites[statement.site]
    law, target, at = statement.law, statement.target, statement.at
    move = walk.moves.get(statement.site, Number(0))  # type: ignore[arg-type]
    state, first, second = centre(walk, statement, state)
    kind = walk.checked.types[target]
    if not isinstance(kind, Scalar):
        raise UnsupportedError(f"{target} is not a number")
    drawn = "int" if law in ("Geometric", "DiscreteGaussian", "UniformInt", "ExpMech") else kind.kind
    noise = symbol(
        f"{target}~{statement.site}.{next(walk.serial)}", "bool" if entry.move == "flip" else drawn
    )
    spent = state.cost[statement.site]
    if entry.move != "same":
        if entry.move == "xor" and move == Number(0):  # type: ignore[arg-type]
            distance = z3.BoolVal(False)
        else:
            distance = z3.simplify(walk.reading.formula(move, state))
    match entry.move:
        case "shift":
            state = inside(walk, statement, state, noise)
            if law == "Geometric" and not z3.is_int(distance):
                state = walk.later(state, "integer move", at, z3.IsInt(real(distance)))
                distance = z3.ToInt(distance)
            if law == "Exponential":
                state = replace(state, path=(*state.path, noise >= 0))
                state = walk.later(state, "support", at, noise + distance >= 0)
            if law == "Gumbel":
                state = walk.later(state, "upward move", at, distance >= 0)
            spent = spent + real(absolute(distance))
            first, second = first + noise, second + noise + distance
        case "flip":
            if z3.is_bool(distance):
                raise UnsupportedError("the move of a flip must be a number")
            moved = distance != 0
            spent = spent + choose(moved, z3.RealVal(1), z3.RealVal(0))
            first, second = noise, z3.Xor(noise, moved)
        case "xor":
            if not z3.is_bool(distance):
                raise UnsupportedError("the move of a bit string must be a bit string")
            first, second = noise, z3.Xor(noise, distance)
        case "same":
            state, spent = fixed(walk, statement, state, first, second, spent)
            if law in NOISE:
                first = second = first + noise
            else:
                first = second = noise
            state = supported(walk, statement, state, noise)
    state = replace(state, cost={**state.cost, statement.site: z3.simplify(spent)})
    return walk.set(state, target, first, second)


def inside(walk: PairWalk, statement: Sample, state: PairState, noise: Term) -> PairState:
    """Assume that a draw is not in the tail that the proof gives up."""
    if statement.site not in walk.tails:
        return state
    price, far = walk.sites[statement.site].price, walk.tails[statement.site]
    scales = polynomial(price.numerator, {}, walk.inputs) * real(noise)
    limit = polynomial(price.denominator, {}, walk.inputs) * z3.RealVal(str(far))
    return replace(state, path=(*state.path, scales <= limit if far >= 0 else scales >= limit))


def centre(walk: PairWalk, statement: Sample, state: PairState) -> tuple[PairState, Term, Term]:
    """Return what the noise of both runs is added to."""
    if statement.law in NOISE and len(statement.arguments) == 2:
        return walk.value(statement.arguments[1], state)
    return state, z3.IntVal(0), z3.IntVal(0)


def fixed(
    walk: PairWalk, statement: Sample, state: PairState, first: Term, second: Term, spent: Term
) -> tuple[PairState, Term]:
    """Charge a draw whose value is the same in both runs."""
    match statement.law:
        case law if law in NOISE:
            bound = walk.moves.get(statement.site, ZERO)
            apart, limit = real(first) - real(second), real(walk.reading.formula(bound, state))
            state = walk.later(state, "centres", statement.at, z3.And(apart <= limit, -apart <= limit))
            if law in ("Geometric", "DiscreteGaussian") and not z3.is_int(apart):
                state = walk.later(state, "integer move", statement.at, z3.IsInt(apart))
            return state, spent + choose(z3.simplify(apart == 0), z3.RealVal(0), limit * limit)
        case "ExpMech":
            return state, spent + 1
    return state, spent


def supported(walk: PairWalk, statement: Sample, state: PairState, noise: Term) -> PairState:
    """Assume that a draw lies in the support of its law, after requiring that there is such a law."""
    at = statement.at
    match statement.law:
        case "ExpMech":
            scores = statement.arguments[1]
            if not isinstance(scores, Variable):
                raise UnsupportedError("the scores must be a list")
            size = walk.inputs.size(scores.name, 1)
            state = walk.before(state, "possible law", at, size >= 1)
            return replace(state, path=(*state.path, noise >= 0, noise < size))
        case "Uniform" | "UniformInt":
            values = []
            for argument in statement.arguments:
                state, first, _ = walk.value(argument, state)
                values.append(real(first) if statement.law == "Uniform" else first)
            low, high = values
            exists = low < high if statement.law == "Uniform" else low <= high
            state = walk.before(state, "possible law", at, exists)
            return replace(state, path=(*state.path, noise >= low, noise <= high))
        case "Bernoulli":
            state, chance, _ = walk.value(statement.arguments[0], state)
            return walk.before(state, "possible law", at, z3.And(chance >= 0, chance <= 1))
    return state
