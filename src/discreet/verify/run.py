"""The reference interpreter: what a program means, executed in exact rational arithmetic.

One interpreter serves every purpose.  A *machine* tells it how to draw and how to decide a comparison:
`ExactDraws` draws with the library's exact samplers; the refuter and the finite decision procedure plug in
machines that explore every path instead.

Continuous laws are executed on a declared grid of step h, by default 2**-32: Laplace(b) becomes h times
the two-sided geometric variable of ratio exp(-h/b), the exponential law h times the geometric one, the
Gumbel law is rounded down to the grid, the Gaussian becomes h times the discrete Gaussian of variance
sigma**2 / h**2, and the uniform law is uniform over 2**32 grid points. The proofs of this room are about the
ideal laws on the real numbers; a deployed mechanism should be one of the library's discrete mechanisms.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NoReturn, Protocol, assert_never

from flint import ctx

from discreet.errors import ParameterError, ProgramError
from discreet.exact import sample as sampler
from discreet.exact.choice import choose_exponents
from discreet.exact.coins import Coins, source
from discreet.exact.number import ball
from discreet.verify.check import CheckedProgram
from discreet.verify.limit import tick
from discreet.verify.linear import Linear, UndecidedError
from discreet.verify.syntax import (
    Append,
    Apply,
    Ask,
    Assign,
    Binary,
    Conditional,
    Element,
    Expr,
    If,
    Items,
    Number,
    ProcedureCall,
    Put,
    Return,
    Sample,
    Size,
    Statement,
    TruthValue,
    Unary,
    Variable,
    While,
)

Value = Any
"""An int or Fraction, a bool, an int standing for a bit string, or whatever a machine computes with."""

GRID = Fraction(1, 2**32)
LONGEST = 100_000
"""Statements executed before a run is given up as not terminating."""
MOST_BITS = 20_000


class FaultError(ProgramError):
    """A program has no meaning on the input it is run on."""

    def __init__(self, what: str, line: int, column: int) -> None:
        self.what = what
        super().__init__(what, line, column)


class Machine(Protocol):
    """How a run draws and how it decides."""

    def draw(self, statement: Sample, arguments: tuple[Value, ...]) -> Value:
        """Return a draw from the law of the statement."""

    def compare(self, operator: str, left: Value, right: Value) -> bool:
        """Decide a comparison of two numbers."""


@dataclass(frozen=True, slots=True)
class ExactDraws:
    """Exact draws from secure coins; `grid` is the step of continuous laws, `bits` the length of strings."""

    coins: Coins | None = None
    grid: Fraction = GRID
    bits: int = 128

    def draw(self, statement: Sample, arguments: tuple[Value, ...]) -> Value:
        """Return one exact draw."""
        coins = self.coins or source()
        law = statement.law
        match law:
            case "Laplace" | "Exponential" | "Gumbel" | "Geometric" | "Gaussian" | "DiscreteGaussian":
                scale = _positive(arguments[0], statement)
                centre = arguments[1] if len(arguments) > 1 else 0
                if law == "Geometric":
                    return centre + two_sided(1 / scale, coins)
                if law == "Laplace":
                    return centre + self.grid * two_sided(self.grid / scale, coins)
                if law == "Exponential":
                    return self.grid * one_sided(self.grid / scale, coins)
                if law == "Gumbel":
                    return self.grid * gumbel(scale / self.grid, coins)
                if law == "DiscreteGaussian":
                    return centre + sampler.discrete_gaussian(scale**2, coins=coins)
                return centre + self.grid * sampler.discrete_gaussian((scale / self.grid) ** 2, coins=coins)
            case "Uniform":
                low, high = (Fraction(a) for a in arguments)
                require(low < high, "a uniform law needs an interval", statement)
                return low + (high - low) * Fraction(coins.bits(32), 2**32)
            case "UniformInt":
                least, most = (int(a) for a in arguments)
                require(least <= most, "a uniform law needs at least one value", statement)
                return least + sampler.uniform_below(most - least + 1, coins=coins)
            case "UniformBits":
                return coins.bits(statement.length if isinstance(statement.length, int) else self.bits)
            case "Bernoulli":
                if isinstance(arguments[0], Logistic):
                    return respond(Fraction(arguments[0].logit), coins)
                if isinstance(arguments[0], Power):
                    decay = -arguments[0].chance(statement)
                    return bool(sampler.bernoulli_exp(Fraction(decay), coins=coins))
                require(0 <= arguments[0] <= 1, "a probability must lie between 0 and 1", statement)
                return bool(sampler.bernoulli(Fraction(arguments[0]), coins=coins))
            case "Response":
                return respond(Fraction(arguments[0]), coins)
            case "ExpMech":
                rate, scores = arguments
                require(bool(scores), "there must be at least one candidate", statement)
                require(rate > 0, "the rate must be positive", statement)
                return choose_exponents([-rate * s for s in scores], coins=coins)
        raise ProgramError(f"no sampler for {law}", statement.at.line, statement.at.column)

    def compare(self, operator: str, left: Value, right: Value) -> bool:
        """Decide a comparison of two rationals."""
        return decide(operator, left, right)


def _misused(*_: Value) -> NoReturn:
    raise ParameterError(
        "exp has no exact value: it may be a probability, exp(e), exp(e) / (1 + exp(e)) or 1 / (1 + exp(e))"
    )


class Symbolic:
    """A number that is kept as it is written because it is irrational: nothing can be computed with it."""

    __slots__ = ()
    __neg__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = _misused
    __lt__ = __le__ = __gt__ = __ge__ = __mod__ = _misused


@dataclass(frozen=True, slots=True)
class Logistic(Symbolic):
    """The number exp(l) / (1 + exp(l))."""

    logit: Value
    __add__ = __radd__ = _misused


def one_sided(rate: Fraction, coins: Coins) -> int:
    """Return k >= 0 with probability (1 - a) a**k, a = exp(-rate), by the exact method of Canonne et al."""
    numerator, denominator = rate.numerator, rate.denominator
    while True:
        remainder = sampler.uniform_below(denominator, coins=coins)
        if sampler.bernoulli_exp(Fraction(remainder, denominator), coins=coins):
            break
    turns = 0
    while sampler.bernoulli_exp(Fraction(1), coins=coins):
        turns += 1
    return int((remainder + denominator * turns) // numerator)


def gumbel(scale: Fraction, coins: Coins) -> int:
    """Return floor(scale G), where Pr[G <= t] = exp(-exp(-t)).

    G is -ln(-ln U) for a uniform U, of which as many bits are drawn as it takes to tell the floor.
    """
    bits, drawn = 0, 0
    while True:
        bits, drawn = bits + 64, drawn << 64 | coins.bits(64)
        with ctx.workprec(2 * bits):
            low, high = (
                (ball(-scale) * (-(ball(Fraction(u, 2**bits)).log())).log()).floor()
                if 0 < u < 2**bits
                else None
                for u in (drawn, drawn + 1)
            )
            if low is not None and high is not None and low.is_exact() and low == high:
                return int(low.fmpz())


def two_sided(rate: Fraction, coins: Coins) -> int:
    """Return k with probability proportional to exp(-rate |k|)."""
    while True:
        size = one_sided(rate, coins)
        negative = coins.bits(1)
        if size or not negative:
            return -size if negative else size


def respond(logit: Fraction, coins: Coins) -> bool:
    """Return true with probability exp(l) / (1 + exp(l))."""
    if logit < 0:
        return not respond(-logit, coins)
    # Odds exp(l) : 1, by rejection: propose a fair coin, and keep tails with probability exp(-l).
    while True:
        if coins.bits(1):
            return True
        if sampler.bernoulli_exp(logit, coins=coins):
            return False


def _sign(value: Fraction) -> int:
    return (value > 0) - (value < 0)


def require(condition: bool, message: str, statement: Sample) -> None:
    """Refuse parameters with which a law does not exist."""
    if not condition:
        raise FaultError(f"{statement.law}: {message}", statement.at.line, statement.at.column)


def _positive(value: Value, statement: Sample) -> Fraction:
    require(value > 0, "the scale must be positive", statement)
    return Fraction(value)


def decide(operator: str, left: Value, right: Value) -> bool:
    """Decide a comparison of two numbers, or of two truth values."""
    if isinstance(left, Linear) or isinstance(right, Linear):
        difference = left - right
        signs = difference.signs() if isinstance(difference, Linear) else {_sign(difference)}
        answers = {decide(operator, sign, 0) for sign in signs}
        if len(answers) > 1:
            raise UndecidedError("a comparison depends on epsilon")
        return answers.pop()
    match operator:
        case "<":
            return bool(left < right)
        case "<=":
            return bool(left <= right)
        case ">":
            return bool(left > right)
        case ">=":
            return bool(left >= right)
        case "=":
            return bool(left == right)
        case "!=":
            return bool(left != right)
    raise ParameterError(f"{operator} is not a comparison")


@dataclass(slots=True)
class Run:
    """One execution: the values of the variables, and the machine that draws and decides."""

    checked: CheckedProgram
    machine: Machine
    values: dict[str, Value]
    limit: int = LONGEST
    steps: int = 0

    def value(self, expression: Expr) -> Value:
        """Evaluate an expression."""
        match expression:
            case Number(value):
                return int(value) if value.denominator == 1 else value
            case TruthValue(value):
                return value
            case Variable(name):
                return self.values[name]
            case Unary("not", operand):
                return not self.value(operand)
            case Unary(_, operand):
                return -self.value(operand)
            case Binary(operator, left, right):
                return self._binary(operator, left, right)
            case Conditional(condition, positive, negative):
                return self.value(positive if self.value(condition) else negative)
            case Apply(function, arguments):
                return self._apply(function, arguments)
            case Element(array, index):
                return self.values[array][self._place(array, index, "read", expression)]
            case Size(array):
                return len(self.values[array])
            case Ask(query, data):
                return self.values[query](self.values[data])
            case Items():
                return []
        assert_never(expression)

    def _place(self, array: str, index: Expr, deed: str, node: Expr | Statement) -> Value:
        """Return a place of a list, which it must have."""
        place = self.value(index)
        if not 0 <= place < len(self.values[array]):
            self._fail(f"{array} is {deed} outside its bounds", node)
        return int(place) if isinstance(place, Fraction) else place

    def _binary(self, operator: str, left: Expr, right: Expr) -> Value:
        first = self.value(left)
        if operator == "and":
            return first and self.value(right)
        if operator == "or":
            return first or self.value(right)
        second = self.value(right)
        match operator:
            case "+":
                return self._small(first + second, right)
            case "-":
                return self._small(first - second, right)
            case "*":
                return self._small(first * second, right)
            case "/":
                if isinstance(second, Power):
                    return _logistic(first, second)
                if isinstance(second, int | Fraction) and second == 0:
                    self._fail("division by zero", right)
                quotient = first * Fraction(1, second) if isinstance(second, int) else first / second
                return self._small(quotient, right)
            case "mod":
                if isinstance(second, int | Fraction) and second <= 0:
                    self._fail("a remainder is taken by a number that is not positive", right)
                return first % second
            case "xor":
                return first ^ second
        if isinstance(first, bool) and isinstance(second, bool):
            return decide(operator, first, second)
        return self.machine.compare(operator, first, second)

    def _apply(self, function: str, arguments: tuple[Expr, ...]) -> Value:
        values = [self.value(a) for a in arguments]
        match function:
            case "abs":
                return values[0] if self.machine.compare(">=", values[0], 0) else -values[0]
            case "min":
                return values[0] if self.machine.compare("<=", *values) else values[1]
            case "max":
                return values[0] if self.machine.compare(">=", *values) else values[1]
        return Power(values[0])

    def _small(self, value: Value, expression: Expr) -> Value:
        """Refuse numbers that would fill the memory."""
        if isinstance(value, int) and not isinstance(value, bool) and value.bit_length() > MOST_BITS:
            self._fail(f"a number has more than {MOST_BITS} bits", expression)
        if (
            isinstance(value, Fraction)
            and value.numerator.bit_length() + value.denominator.bit_length() > MOST_BITS
        ):
            self._fail(f"a number has more than {MOST_BITS} bits", expression)
        return value

    def _fail(self, message: str, node: Expr | Statement) -> NoReturn:
        raise FaultError(message, node.at.line, node.at.column)

    def block(self, block: Sequence[Statement]) -> tuple[Value, ...]:
        """Execute statements; the result is what a return among them returns."""
        for statement in block:
            self._count(statement)
            match statement:
                case Assign(target, value):
                    self.values[target] = self.value(value)
                case Append(target, value):
                    self.values[target] = [*self.values[target], _told(self.value(value))]
                case Put(target, index, value):
                    place, items = self._place(target, index, "changed", statement), [*self.values[target]]
                    items[place] = _told(self.value(value))
                    self.values[target] = items
                case Sample(target, _, arguments):
                    given = tuple(self.value(a) for a in arguments)
                    if statement.law != "Bernoulli":
                        given = tuple(_told(value) for value in given)
                    self.values[target] = self.machine.draw(statement, given)
                case If(condition, positive, negative):
                    self.block(positive if self.value(condition) else negative)
                case While(condition, body):
                    while self.value(condition):
                        self.block(body)
                        self._count(statement)
                case Return(values):
                    return tuple(_told(self.value(v)) for v in values)
                case ProcedureCall(at=at):
                    raise ProgramError("calls must be inlined first", at.line, at.column)
        return ()

    def _count(self, statement: Statement) -> None:
        tick()
        self.steps += 1
        if self.steps > self.limit:
            at = statement.at
            raise ProgramError(f"the run did not end within {self.limit} statements", at.line, at.column)


@dataclass(frozen=True, slots=True)
class Power(Symbolic):
    """exp(r), with just enough arithmetic to recognise exp(r) / (1 + exp(r))."""

    exponent: Value
    plus: int = 0

    def __add__(self, other: Value) -> "Power":
        return Power(self.exponent, 1) if other == 1 and not self.plus else _misused()

    __radd__ = __add__

    def chance(self, statement: Sample) -> Value:
        """Return the exponent of a probability, which must be one."""
        if self.plus:
            _misused()
        require(decide("<=", self.exponent, 0), "a probability must lie between 0 and 1", statement)
        return self.exponent


def _told(value: Value) -> Value:
    """Return a value that leaves the program or sets a scale, which must be an exact number."""
    return _misused() if isinstance(value, Symbolic) else value


def _logistic(first: Value, second: Value) -> Logistic:
    match first, second:
        case Power(above, 0), Power(below, 1) if above == below:
            return Logistic(above)
        case 1, Power(below, 1):
            return Logistic(-below)
    return _misused()


def execute(
    checked: CheckedProgram, values: Mapping[str, Value], machine: Machine, limit: int = LONGEST
) -> tuple[Value, ...]:
    """Run a program on checked inputs; returns the tuple of returned values."""
    return Run(checked, machine, dict(values), limit).block(checked.program.body)
