"""Exploring every path of a program on concrete inputs, with its noise left symbolic.

The interpreter is run again and again, each time along the next path: a comparison that depends on noise
is decided both ways and remembered as a linear inequality; a draw with finitely many outcomes is tried
with each of them and contributes its weight.  What comes out is the exact law of the program on these
inputs.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from typing import Any

from discreet.errors import ParameterError
from discreet.verify.check import CheckedProgram
from discreet.verify.integrate import (
    UNIT,
    ZERO,
    Density,
    Function,
    GumbelLaw,
    Inequality,
    LatticeLaw,
    NormalLaw,
    Number,
    TooHardError,
    add,
    exponential,
    is_lattice,
    laplace,
    multiply,
    probability,
    uniform,
)
from discreet.verify.limit import tick
from discreet.verify.linear import Linear, UndecidedError
from discreet.verify.race import winning
from discreet.verify.run import Logistic, Power, Value, decide, execute, require
from discreet.verify.syntax import Sample

MOST_PATHS = 4000
MOST_STEPS = 2000
MOST_COINS = 8


@dataclass(frozen=True, slots=True)
class Form:
    """A linear function of the noises of a path."""

    constant: Fraction
    coefficients: tuple[tuple[int, Fraction], ...]

    def _combine(self, other: Any, sign: int) -> "Form":
        if isinstance(other, int | Fraction) and not isinstance(other, bool):
            return Form(self.constant + sign * other, self.coefficients)
        if not isinstance(other, Form):
            raise TooHardError("noise is combined with something that is not a number")
        slopes = dict(self.coefficients)
        for noise, slope in other.coefficients:
            slopes[noise] = slopes.get(noise, Fraction(0)) + sign * slope
        return form(self.constant + sign * other.constant, slopes)

    def __add__(self, other: Any) -> "Form":
        return self._combine(other, 1)

    __radd__ = __add__

    def __sub__(self, other: Any) -> "Form":
        return self._combine(other, -1)

    def __neg__(self) -> "Form":
        return self * -1

    def __rsub__(self, other: Any) -> "Form":
        return (-self)._combine(other, 1)

    def __mul__(self, factor: Any) -> "Form":
        if not isinstance(factor, int | Fraction):
            raise TooHardError("noise is multiplied by noise")
        return form(self.constant * factor, {n: s * factor for n, s in self.coefficients})

    __rmul__ = __mul__

    def __truediv__(self, divisor: Any) -> "Form":
        if not isinstance(divisor, int | Fraction):
            raise TooHardError("noise is divided by noise")
        return self * (1 / Fraction(divisor))

    def __rtruediv__(self, other: Any) -> "Form":
        raise TooHardError("something is divided by noise")

    def __mod__(self, other: Any) -> "Form":
        raise TooHardError("a remainder of noise is taken")


def form(constant: Fraction, slopes: Mapping[int, Fraction]) -> Form:
    """Return a linear function without vanishing terms."""
    return Form(Fraction(constant), tuple(sorted((n, s) for n, s in slopes.items() if s)))


@dataclass(frozen=True, slots=True)
class ExploredPath:
    """One path: what it returns, which noises it drew, what they must satisfy, and its weight."""

    output: tuple[Value, ...]
    densities: Mapping[int, Density]
    conditions: tuple[Inequality, ...]
    weight: Number
    divisor: Number


class CutError(Exception):
    """A run makes more decisions than it is given."""


@dataclass(slots=True)
class Walker:
    """A machine that follows given decisions first, then always picks the same choice."""

    script: list[int]
    symbolic: bool
    pick: int = 0
    sizes: list[int] = field(default_factory=list)
    densities: dict[int, Density] = field(default_factory=dict)
    conditions: list[Inequality] = field(default_factory=list)
    weight: Number = field(default_factory=lambda: UNIT)
    divisor: Number = field(default_factory=lambda: UNIT)
    deepest: int = 0
    """How many decisions a run may make, if that is limited."""

    def choose(self, size: int) -> int:
        """Return which of so many choices is taken here."""
        place = len(self.sizes)
        if self.deepest and place == self.deepest:
            raise CutError
        self.sizes.append(size)
        if place == len(self.script):
            self.script.append(min(self.pick, size - 1))
        return self.script[place]

    def path(self, output: tuple[Value, ...]) -> ExploredPath:
        """Return the path that was taken."""
        return ExploredPath(output, self.densities, tuple(self.conditions), self.weight, self.divisor)

    def next_script(self) -> list[int] | None:
        """Return the decisions that lead to the next path, or None after the last."""
        script = self.script[: len(self.sizes)]
        while script and script[-1] + 1 >= self.sizes[len(script) - 1]:
            script.pop()
        return [*script[:-1], script[-1] + 1] if script else None

    def draw(self, statement: Sample, arguments: tuple[Value, ...]) -> Value:
        """Return a draw: noise as a symbol, anything else as a choice with its weight."""
        law = statement.law
        match law:
            case "Laplace" | "Exponential" | "Gumbel" | "Geometric" | "Gaussian" | "DiscreteGaussian":
                if isinstance(arguments[0], Form):
                    raise TooHardError("a scale depends on noise")
                scale = Fraction(arguments[0])
                require(scale > 0, "the scale must be positive", statement)
                centre = arguments[1] if len(arguments) > 1 else 0
                makers: dict[str, Any] = {
                    "Laplace": laplace,
                    "Exponential": exponential,
                    "Gumbel": GumbelLaw,
                    "Geometric": LatticeLaw,
                    "Gaussian": partial(NormalLaw, whole=False),
                    "DiscreteGaussian": partial(NormalLaw, whole=True),
                }
                return centre + self.noise(makers[law](scale))
            case "Uniform":
                low, high = Fraction(arguments[0]), Fraction(arguments[1])
                require(high > low, "a uniform law needs an interval", statement)
                return self.noise(uniform(low, high))
            case "UniformInt":
                low, high = arguments
                require(high >= low, "a uniform law needs at least one value", statement)
                pick = self.choose(int(high - low) + 1)
                self.weigh({Fraction(0): Fraction(1, int(high - low) + 1)}, UNIT)
                return int(low) + pick
            case "UniformBits":
                # A string whose length has a name may have any length, so one bit is an instance.
                length = statement.length if isinstance(statement.length, int) else 1
                if length > MOST_COINS:
                    raise TooHardError(f"there are too many strings of {length} bits")
                self.weigh({Fraction(0): Fraction(1, 2**length)}, UNIT)
                return self.choose(2**length)
            case "Bernoulli" if isinstance(arguments[0], Power):
                power = self.exponent(arguments[0].chance(statement))
                truth = self.choose(2) == 0
                self.weigh({power: Fraction(1)} if truth else add(UNIT, {power: Fraction(1)}, -1), UNIT)
                return truth
            case "Bernoulli" if not isinstance(arguments[0], Logistic):
                p = Fraction(arguments[0])
                require(0 <= p <= 1, "a probability must lie between 0 and 1", statement)
                truth = self.choose(2) == 0
                self.weigh({Fraction(0): p if truth else 1 - p} if (p if truth else 1 - p) else ZERO, UNIT)
                return truth
            case "Bernoulli" | "Response":
                given = arguments[0]
                logit = self.exponent(given.logit if isinstance(given, Logistic) else given)
                truth = self.choose(2) == 0
                one: Number = {Fraction(0): Fraction(1)}
                odds: Number = {logit: Fraction(1)}
                self.weigh(odds if truth else one, add(one, odds))
                return truth
            case "ExpMech":
                rate, scores = arguments
                require(bool(scores), "there must be at least one candidate", statement)
                require(decide(">", rate, 0), "the rate must be positive", statement)
                pick = self.choose(len(scores))
                weights = [self.exponent(rate * s) for s in scores]
                whole: Number = ZERO
                for weight in weights:
                    whole = add(whole, {weight: Fraction(1)})
                self.weigh({weights[pick]: Fraction(1)}, whole)
                return pick
        raise TooHardError(f"{law} noise cannot be integrated exactly")

    def exponent(self, value: Value) -> Fraction:
        """Return the exponent of a weight."""
        return exponent(value, symbolic=self.symbolic)

    def noise(self, density: Density) -> Form:
        """Return a new noise."""
        number = len(self.densities)
        self.densities[number] = density
        return Form(Fraction(0), ((number, Fraction(1)),))

    def weigh(self, weight: Number, divisor: Number) -> None:
        """Multiply the weight of this path."""
        self.weight = multiply(self.weight, weight)
        self.divisor = multiply(self.divisor, divisor)

    def compare(self, operator: str, left: Value, right: Value) -> bool:
        """Decide a comparison, or choose its outcome and remember what the noise must satisfy."""
        if isinstance(left, Linear) or isinstance(right, Linear):
            return decide(operator, left, right)
        difference = left - right
        if not isinstance(difference, Form) or not difference.coefficients:
            value = difference.constant if isinstance(difference, Form) else difference
            return decide(operator, value, 0)
        if operator in ("=", "!="):
            if not all(is_lattice(self.densities[n]) for n, _ in difference.coefficients):
                return operator == "!="  # a continuous noise hits a point with probability zero
            sides = [(difference, False), (-difference, False)], [(difference, True)], [(-difference, True)]
            outcome = self.choose(3)
            for side, strict in sides[outcome]:
                self.conditions.append(Inequality(side.constant, side.coefficients, strict))
            return (operator == "=") == (outcome == 0)
        truth = self.choose(2) == 0
        upward = (operator in (">", ">=")) == truth
        strict = (operator in (">", "<")) == truth
        side = difference if upward else -difference
        self.conditions.append(Inequality(side.constant, side.coefficients, strict))
        return truth


def exponent(value: Value, *, symbolic: bool) -> Fraction:
    """Return the exponent of a weight; where epsilon is unknown, as a multiple of it."""
    if isinstance(value, Form):
        raise TooHardError("a parameter depends on noise")
    if not symbolic:
        return Fraction(value)
    if isinstance(value, Linear) and value.constant == 0:
        return value.slope
    if isinstance(value, Linear) or value != 0:
        raise UndecidedError("an exponent is not a multiple of the unknown epsilon")
    return Fraction(0)


def paths(checked: CheckedProgram, values: Mapping[str, Value]) -> Iterator[ExploredPath]:
    """Yield every path of a program on concrete inputs; raises TooHardError where noise is not linear."""
    script: list[int] = []
    symbolic = any(isinstance(value, Linear) for value in values.values())
    for _ in range(MOST_PATHS):
        tick()
        walker = Walker(script, symbolic)
        try:
            output = execute(checked, values, walker, MOST_STEPS)
        except (ParameterError, TypeError) as problem:
            raise TooHardError(str(problem)) from problem
        frozen = tuple(tuple(v) if isinstance(v, list) else v for v in output)
        yield walker.path(frozen)
        following = walker.next_script()
        if following is None:
            return
        script = following
    raise TooHardError(f"the program has more than {MOST_PATHS} paths on these inputs")


@dataclass(frozen=True, slots=True)
class Quotient:
    """A probability: numerator / denominator, both sums of exponentials, the denominator positive."""

    numerator: Number
    denominator: Number


def path_probability(path: ExploredPath, event: tuple[Inequality, ...]) -> Quotient:
    """Return the probability that a path is taken and an event on its noises occurs."""
    if not path.weight:
        return Quotient(ZERO, UNIT)
    continuous: list[Inequality] = []
    races: list[Inequality] = []
    bounds: dict[int, tuple[int | None, int | None]] = {}
    for item in (*path.conditions, *event):
        if any(isinstance(path.densities[n], NormalLaw) for n, _ in item.coefficients):
            raise TooHardError("normal noise cannot be integrated exactly")
        if any(isinstance(path.densities[n], GumbelLaw) for n, _ in item.coefficients):
            races.append(item)
            continue
        integers = [n for n, _ in item.coefficients if isinstance(path.densities[n], LatticeLaw)]
        if not integers:
            continuous.append(item)
            continue
        if len(item.coefficients) > 1:
            raise TooHardError("integer noises are compared with each other")
        least, most = bounds.get(integers[0], (None, None))
        low, high = item.integer_bound()
        least = low if least is None else least if low is None else max(least, low)
        most = high if most is None else most if high is None else min(most, high)
        bounds[integers[0]] = least, most
    densities = {n: d for n, d in path.densities.items() if isinstance(d, Function)}
    weight = multiply(path.weight, probability(densities, continuous))
    above, below = winning(path.densities, races)
    weight, divisor = multiply(weight, above), multiply(path.divisor, below)
    for noise, (least, most) in bounds.items():
        law = path.densities[noise]
        if isinstance(law, LatticeLaw):
            weight = multiply(weight, law.between(least, most))
            divisor = multiply(divisor, law.normaliser())
    return Quotient(weight, divisor)


def product_of(first: Quotient, second: Quotient) -> Quotient:
    """Return the product of two probabilities."""
    above = multiply(first.numerator, second.numerator)
    return Quotient(above, multiply(first.denominator, second.denominator))


def sum_quotients(parts: list[Quotient]) -> Quotient:
    """Return the sum, over a common denominator."""
    total = Quotient(ZERO, UNIT)
    for part in parts:
        if not part.numerator:
            continue
        if part.denominator == total.denominator:
            total = Quotient(add(total.numerator, part.numerator), total.denominator)
        else:
            top = add(
                multiply(total.numerator, part.denominator), multiply(part.numerator, total.denominator)
            )
            total = Quotient(top, multiply(total.denominator, part.denominator))
    return total
