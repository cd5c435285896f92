"""The oracle: what programs really do, computed from their syntax tree by nothing that the verifier uses.

It runs the procedures of a file as they were parsed, with frames of its own for calls, on distributions over
states: a draw splits a state, equal states are merged, dead variables are forgotten.  Numbers are rationals;
probabilities are pairs of integers around them, in units of 2**-160, rounded outwards.  Integer noise is cut
off where it is rare, and what is cut off is counted and never ignored.  Laplace noise is put on a lattice,
which keeps every alignment by whole steps of it and so must keep the loss of a proof by such ones; what
breaks a claim has to do so on lattices of several steps.

Which inputs are neighbours is read from the declarations here once more, and in plain words.
"""

from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product

from discreet.exact.number import exp_bounds
from discreet.verify import syntax as tree

ONE = 1 << 160
MOST_STATES = 4000
MOST_TURNS = 40
FINER = (Fraction(1, 2), Fraction(1, 3))


class BeyondError(Exception):
    """The oracle cannot say what a program does; nothing follows."""


class MeaninglessError(Exception):
    """The program has no meaning on this input: a law without parameters, a list read outside its bounds."""


def exp_units(exponent):
    """Return integers around 2**160 exp(x)."""
    if abs(exponent) > 60:
        raise BeyondError("a very large exponent")
    low, high = exp_bounds(Fraction(exponent), 200)
    return int(low * ONE), -int(-high * ONE // 1)


def times(p, q):
    return p[0] * q[0] // ONE, -(-p[1] * q[1] // ONE)


def plus(p, q):
    return p[0] + q[0], p[1] + q[1]


def share(part, whole):
    """Return part / whole, for intervals of positive numbers."""
    return part[0] * ONE // whole[1], -(-part[1] * ONE // whole[0])


def exactly(fraction):
    units = fraction * ONE
    return int(units // 1), -int(-units // 1)


# What an expression means


def value(expression, env):
    match expression:
        case tree.Number(number):
            return number
        case tree.TruthValue(truth):
            return truth
        case tree.Variable(name, side):
            if name not in env:
                raise MeaninglessError(name)
            return env[(name, side) if side else name]
        case tree.Size(array, side):
            return Fraction(len(env[(array, side) if side else array]))
        case tree.Element(array, index, side):
            place, items = value(index, env), env[(array, side) if side else array]
            if place.denominator != 1 or not 0 <= place < len(items):
                raise MeaninglessError(array)
            return items[int(place)]
        case tree.Apply("[]", (tree.Variable(array, side), row, entry)):
            items = env[(array, side) if side else array]
            for place in (value(row, env), value(entry, env)):
                if place.denominator != 1 or not 0 <= place < len(items):
                    raise MeaninglessError(array)
                items = items[int(place)]
            return items
        case tree.Unary("not", operand):
            return not value(operand, env)
        case tree.Unary(_, operand):
            return -value(operand, env)
        case tree.Conditional(condition, positive, negative):
            return value(positive if value(condition, env) else negative, env)
        case tree.Apply("size", (tree.Variable(array),)):
            return Fraction(len(env[array]))
        case tree.Apply(function, arguments):
            return applied(function, [value(a, env) for a in arguments])
        case tree.Binary("and", left, right):
            return value(left, env) and value(right, env)
        case tree.Binary("or", left, right):
            return value(left, env) or value(right, env)
        case tree.Binary(operator, left, right):
            return operated(operator, value(left, env), value(right, env))
    raise BeyondError(type(expression).__name__)


def applied(function, values):
    match function, values:
        case "abs", [x]:
            return abs(x)
        case "min" | "max", [x, y]:
            return min(x, y) if function == "min" else max(x, y)
        case "exp", [x]:
            return Power(x)
    raise BeyondError(function)


@dataclass(frozen=True)
class Power:
    """exp(x), which is only good for odds."""

    exponent: Fraction
    more: int = 0


def operated(operator, x, y):
    if isinstance(x, Power) or isinstance(y, Power):
        return odds(operator, x, y)
    match operator:
        case "+":
            return x + y
        case "-":
            return x - y
        case "*":
            return x * y
        case "/" | "mod" if y == 0 or (operator == "mod" and y < 0):
            raise MeaninglessError(operator)
        case "/":
            return x / y
        case "mod":
            return x % y
        case "xor":
            return x ^ y if isinstance(x, bool) else Fraction(int(x) ^ int(y))
        case "=":
            return x == y
        case "!=":
            return x != y
        case "<":
            return x < y
        case "<=":
            return x <= y
        case ">":
            return x > y
        case ">=":
            return x >= y
    raise BeyondError(operator)


def odds(operator, x, y):
    match operator, x, y:
        case "+", Power(e, 0), Fraction(numerator=1, denominator=1):
            return Power(e, 1)
        case "+", Fraction(numerator=1, denominator=1), Power(e, 0):
            return Power(e, 1)
        case "/", Power(e, 0), Power(f, 1) if e == f:
            return Logit(e)
        case "/", Fraction(numerator=1, denominator=1), Power(e, 1):
            return Logit(-e)
    raise BeyondError("exp")


@dataclass(frozen=True)
class Logit:
    exponent: Fraction


# What a draw may be


def outcomes(draw, env, spread, lattice):
    """Return values with weights, and the weight that is cut off, less than about 2**-spread."""
    law, nothing = draw.law, (0, 0)
    if law == "ExpMech":
        rate, scores = (value(a, env) for a in draw.arguments)
        if not scores or rate <= 0:
            raise MeaninglessError(law)
        top = max(scores)
        weights = [exp_units(rate * (s - top)) for s in scores]
        return [(Fraction(k), w) for k, w in enumerate(shares(weights))], nothing
    if law == "UniformBits":
        if draw.length not in range(1, 4):
            raise BeyondError("long strings")
        return [(Fraction(k), exactly(Fraction(1, 2**draw.length))) for k in range(2**draw.length)], nothing
    given = [value(a, env) for a in draw.arguments]
    if law == "Response" or (law == "Bernoulli" and isinstance(given[0], Logit)):
        exponent = given[0] if law == "Response" else given[0].exponent
        yes, no = shares([exp_units(min(exponent, 0)), exp_units(min(-exponent, 0))])
        return [(True, yes), (False, no)], nothing
    if law == "Bernoulli" and isinstance(given[0], Power):
        if given[0].more or given[0].exponent > 0:
            raise MeaninglessError(law)
        low, high = exp_units(given[0].exponent)
        return [(True, (low, high)), (False, (max(ONE - high, 0), ONE - low))], nothing
    if law == "Bernoulli":
        if not 0 <= given[0] <= 1:
            raise MeaninglessError(law)
        return [(True, exactly(given[0])), (False, exactly(1 - given[0]))], nothing
    if law == "UniformInt":
        low, high = (int(g) for g in given)
        if low > high:
            raise MeaninglessError(law)
        return [(Fraction(k), exactly(Fraction(1, high - low + 1))) for k in range(low, high + 1)], nothing
    if law in ("Geometric", "Laplace"):
        if given[0] <= 0:
            raise MeaninglessError(law)
        centre = given[1] if len(given) > 1 else Fraction(0)
        return geometric(given[0], centre, spread, lattice if law == "Laplace" else Fraction(1))
    raise BeyondError(law)


def shares(weights):
    whole = (sum(w[0] for w in weights), sum(w[1] for w in weights))
    return [share(w, whole) for w in weights]


def geometric(scale, centre, spread, step):
    """Return noise of k steps around a centre: Pr[k] = (1 - a) / (1 + a) a**|k|, a = exp(-step / scale)."""
    a, radius = exp_units(-step / scale), 1 + int(spread * scale / step * 7 / 10)
    front = share((ONE - a[1], ONE - a[0]), (ONE + a[0], ONE + a[1]))
    found, power = [(centre, front)], (ONE, ONE)
    for k in range(1, radius + 1):
        power = times(power, a)
        weight = times(front, power)
        found += [(centre + k * step, weight), (centre - k * step, weight)]
    tail = times(share((2 * a[0], 2 * a[1]), (ONE + a[0], ONE + a[1])), power)
    return found, tail


# What a program does


@dataclass
class Law:
    """Outputs with their probabilities, and what was cut off."""

    outputs: dict = field(default_factory=dict)
    lost: tuple = (0, 0)


def live(block, after):
    """Return the names that a block, or what comes after it, may still read."""
    found = set(after)
    for statement in tree.statements(block):
        for expression in tree.expressions(statement):
            found |= mentioned(expression)
        if isinstance(statement, tree.Put):
            found.add(statement.target)
    return found


def mentioned(expression):
    found = set(tree.names(expression))
    for part in tree.subexpressions(expression):
        if isinstance(part, tree.Apply):
            found.add(part.function)
    return found


def entries(item):
    """Return the numbers of an element of a list: of a row, all of them."""
    return item if isinstance(item, tuple) else (item,)


class Machine:
    """Runs the procedures of a file."""

    def __init__(self, procedures, spread=10, lattice=Fraction(1)):
        self.procedures = {p.name: p for p in procedures}
        self.main = procedures[-1]
        self.spread, self.lattice = spread, lattice

    def law(self, inputs):
        """Return the law of the output of the last procedure."""
        found = Law()
        env = {k: tuple(v) if isinstance(v, list) else v for k, v in inputs.items()}
        states, returned, kept = {freeze(env): (ONE, ONE)}, self.main.body[-1], self.constants()
        for env, weight in self.block(
            self.main.body[:-1], states, mentioned_in(returned) | kept, found
        ).items():
            output = tuple(value(v, dict(env)) for v in returned.values)
            found.outputs[output] = plus(found.outputs.get(output, (0, 0)), weight)
        return found

    def constants(self):
        """Return the names that every procedure sees without being given them."""
        return {"eps"}

    def block(self, block, states, after, found):
        for place, statement in enumerate(block):
            later = live(block[place + 1 :], after)
            states = self.step(statement, states, later, found)
            if len(states) > MOST_STATES:
                raise BeyondError("too many states")
        return states

    def step(self, statement, states, later, found):
        match statement:
            case tree.While(condition, body):
                return self.loop(condition, body, states, later, found)
            case tree.If(condition, positive, negative):
                sides = ({}, {})
                for env, weight in states.items():
                    sides[0 if value(condition, dict(env)) else 1][env] = weight
                first = self.block(positive, sides[0], later, found)
                return merge(first, self.block(negative, sides[1], later, found))
        after = {}
        for frozen, weight in states.items():
            for env, chance in self.simple(statement, dict(frozen), found, weight, later):
                key = freeze({k: v for k, v in env.items() if k in later})
                after[key] = plus(after.get(key, (0, 0)), times(weight, chance))
        return after

    def simple(self, statement, env, found, weight, later):
        match statement:
            case tree.Assign(target, tree.Items(())):
                return [({**env, target: ()}, (ONE, ONE))]
            case tree.Assign(target, tree.Apply(name, arguments)) if self.is_call(name, env):
                return self.called(target, name, arguments, env, found, weight)
            case tree.ProcedureCall(target, name, arguments):
                return self.called(target, name, arguments, env, found, weight)
            case tree.Assign(target, expression):
                return [({**env, target: value(expression, env)}, (ONE, ONE))]
            case tree.Append(target, expression):
                item = value(expression, env)
                kept = {target: (*env[target], item)} if target in env else {}  # nobody reads it any more
                return [({**env, **kept}, (ONE, ONE))]
            case tree.Put(target, index, expression):
                place, item, items = value(index, env), value(expression, env), list(env[target])
                if place.denominator != 1 or not 0 <= place < len(items):
                    raise MeaninglessError(target)
                items[int(place)] = item
                return [({**env, target: tuple(items)}, (ONE, ONE))]
            case tree.Sample(target):
                each, tail = outcomes(statement, env, self.spread, self.lattice)
                if target not in later:
                    return [(env, (ONE, ONE))]
                found.lost = plus(found.lost, times(weight, tail))
                return [({**env, target: drawn}, chance) for drawn, chance in each]
        raise BeyondError(type(statement).__name__)

    def is_call(self, name, env):
        return name in self.procedures and name not in env

    def called(self, target, name, arguments, env, found, weight):
        """Run another procedure in a frame of its own."""
        callee = self.procedures[name]
        frame = {k: v for k, v in env.items() if k in self.constants()}
        if len(arguments) != len(callee.parameters):
            raise BeyondError("arity")
        for parameter, argument in zip(callee.parameters, arguments, strict=True):
            frame[parameter.name] = value(argument, env)
        inner, returned = Law(), callee.body[-1]
        kept = mentioned_in(returned) | self.constants()
        states = self.block(callee.body[:-1], {freeze(frame): (ONE, ONE)}, kept, inner)
        found.lost = plus(found.lost, times(weight, inner.lost))
        return [({**env, target: value(returned.values[0], dict(f))}, chance) for f, chance in states.items()]

    def loop(self, condition, body, states, later, found):
        done, inside = {}, live(body, later | mentioned(condition))
        for _ in range(MOST_TURNS):
            going = {}
            for env, weight in states.items():
                if value(condition, dict(env)):
                    going[env] = weight
                else:
                    key = freeze({k: v for k, v in env if k in later})
                    done[key] = plus(done.get(key, (0, 0)), weight)
            if not going:
                return done
            states = self.block(body, going, inside, found)
        raise BeyondError("a long loop")


def mentioned_in(statement):
    return {name for e in tree.expressions(statement) for name in mentioned(e)}


def merge(one, two):
    found = dict(one)
    for env, weight in two.items():
        found[env] = plus(found.get(env, (0, 0)), weight)
    return found


def freeze(env):
    return tuple(sorted(env.items(), key=lambda item: item[0]))


def breaks(first, second, epsilon, delta=Fraction(0), *, surely=True):
    """Return outputs that are too likely in the first law, whatever was cut off, or if that never happens."""
    factor = exp_units(epsilon)
    excess = {}
    for output, weight in first.outputs.items():
        other = second.outputs.get(output, (0, 0))
        gap = weight[0] - times(factor, (other[1], other[1]))[1]
        if gap > 0:
            excess[output] = gap
    slack = (times(factor, second.lost)[1] if surely else 0) + exactly(delta)[1] + 1
    if sum(excess.values()) > slack:
        return sorted(excess, key=lambda o: -excess[o])
    return None


# Which inputs there are


def relation(program, parameter):
    for clause in program.neighbours:
        if clause.name == parameter.name:
            return clause
    kind = parameter.type.element if isinstance(parameter.type, tree.Array) else parameter.type
    return tree.Neighbours(parameter.name, "any" if kind.kind == "bits" else "replace")


def choices(kind, numbers):
    if kind.kind == "bool":
        return [False, True]
    if kind.kind == "bits":
        if kind.length not in range(1, 4):
            raise BeyondError("long strings")
        return [Fraction(k) for k in range(2**kind.length)]
    low = kind.low if kind.low is not None else numbers[0]
    high = kind.high if kind.high is not None else numbers[1]
    return [Fraction(k) for k in range(low, high + 1)]


def is_valid(program, env):
    """Return whether an input satisfies everything that the header says of one input."""
    for parameter in program.parameters:
        given = env[parameter.name]
        listed = isinstance(parameter.type, tree.Array)
        kind = parameter.type.element if listed else parameter.type
        clause = relation(program, parameter) if parameter.private else None
        for item in [e for i in given for e in entries(i)] if listed else (given,):
            if kind.kind == "int" and item.denominator != 1:
                return False
            lows, highs = [kind.low], [kind.high]
            if clause is not None and clause.low is not None:
                lows, highs = [*lows, value(clause.low, env)], [*highs, value(clause.high, env)]
            if any(low is not None and item < low for low in lows):
                return False
            if any(high is not None and item > high for high in highs):
                return False
    if not any(p.name == "eps" for p in program.parameters) and env["eps"] <= 0:
        return False
    return all(value(clause, env) for clause in program.requires)


def are_neighbours(program, one, two):
    """Return whether two valid inputs are neighbours."""
    if not (is_valid(program, one) and is_valid(program, two)):
        return False
    if any(one[k] != two[k] for k in one if k not in {p.name for p in program.parameters if p.private}):
        return False
    both = {(name, side): item for side, env in ((1, one), (2, two)) for name, item in env.items()}
    try:
        if not value(program.adjacency, {**one, **both}):
            return False
    except MeaninglessError:
        return False
    return all(is_related(program, p, one, two) for p in program.parameters if p.private)


def is_related(program, parameter, one, two):
    clause = relation(program, parameter)
    listed = isinstance(parameter.type, tree.Array)
    first, second = ([*e[parameter.name]] if listed else [e[parameter.name]] for e in (one, two))
    if clause.kind == "any":
        return True
    if clause.kind == "add-remove":
        longer, shorter = (first, second) if len(first) > len(second) else (second, first)
        return len(longer) == len(shorter) + 1 and any(
            longer[:k] + longer[k + 1 :] == shorter for k in range(len(longer))
        )
    if len(first) != len(second):
        return False
    changes = [(a, b) for a, b in zip(first, second, strict=True) if a != b]
    if clause.bound is not None:
        for env in (one, two):
            bound = value(clause.bound, env)
            moves = [abs(y - x) for a, b in changes for x, y in zip(entries(a), entries(b), strict=True)]
            if bound < 0 or any(move > bound for move in moves):
                return False
    match clause.kind:
        case "one" | "replace":
            return len(changes) <= 1
        case "monotone":
            return all(b >= a for a, b in changes) or all(b <= a for a, b in changes)
        case "all":
            return True
    raise BeyondError(clause.kind)


def constants(program):
    """Return the names that only the header mentions."""
    found = {"eps"}
    clauses = [*program.requires, program.adjacency]
    for clause in program.neighbours:
        clauses += [e for e in (clause.bound, clause.low, clause.high) if e is not None]
    claim = program.claim
    clauses += [e for e in (getattr(claim, "epsilon", None), getattr(claim, "delta", None)) if e is not None]
    for clause in clauses:
        found |= {n for n in mentioned(clause) if program.parameter(n) is None} - {
            "abs",
            "min",
            "max",
            "size",
        }
    return found - {p.name for p in program.parameters}


def inputs(program, epsilons, sizes=(1, 2), numbers=(0, 2), most=400):
    """Return small inputs that the header allows."""
    if any(isinstance(p.type, tree.SensitiveQuery) for p in program.parameters):
        raise BeyondError("a query")
    options = [
        (name, list(epsilons) if name == "eps" else [Fraction(1)]) for name in sorted(constants(program))
    ]
    for parameter in program.parameters:
        if isinstance(parameter.type, tree.Array):
            items = choices(parameter.type.element, numbers)
            if parameter.type.width:
                items = list(product(items, repeat=parameter.type.width))
            options.append((parameter.name, [v for n in sizes for v in product(items, repeat=n)]))
        elif parameter.name == "eps":
            options.append(("eps", list(epsilons)))
        else:
            options.append((parameter.name, choices(parameter.type, numbers)))
    found = []
    for chosen in product(*(values for _, values in options)):
        env = dict(zip((name for name, _ in options), chosen, strict=True))
        if is_valid(program, env):
            found.append(env)
            if len(found) >= most:
                break
    return found


def attack(procedures, pick, pairs=12, spread=10, epsilons=(Fraction(1), Fraction(2))):
    """Return two neighbouring inputs and outputs that break the claim of a program, or None.

    `pick` chooses among the pairs.  Raises BeyondError where the oracle does not understand the program.
    """
    program, machine, laws = procedures[-1], Machine(procedures, spread), {}
    everything = inputs(program, epsilons)
    candidates = [(a, b) for a in everything for b in everything if a != b and are_neighbours(program, a, b)]
    pick.shuffle(candidates)
    for one, two in candidates[:pairs]:
        epsilon, delta = claimed(program, one, two)
        for env in (one, two):
            if freeze(env) not in laws:
                laws[freeze(env)] = machine.law(env)
        found = breaks(laws[freeze(one)], laws[freeze(two)], epsilon, delta)
        if found and all(
            breaks(*(Machine(procedures, spread, step).law(env) for env in (one, two)), epsilon, delta)
            for step in FINER
        ):
            return one, two, found
    return None


def claimed(program, one, two):
    """Return the smallest claim that either input allows."""
    match program.claim:
        case tree.EpsilonClaim(epsilon, delta):
            slack = Fraction(0) if delta is None else min(value(delta, e) for e in (one, two))
            return min(value(epsilon, e) for e in (one, two)), slack
        case tree.Secret():
            return Fraction(0), Fraction(0)
    raise BeyondError("the claim")
