"""Rational numbers, and the few transcendental functions privacy needs, with directed rounding.

Every privacy-relevant parameter is a `Fraction`.  Logarithms, exponentials and roots exist only
as pairs `..._down` and `..._up`: the name says on which side of the true value the returned
rational lies.  They are computed with ball arithmetic (FLINT's Arb), whose balls provably contain
the true value, at a precision that is raised until the two sides agree to the requested bits.
"""

from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction
from math import ceil, isfinite, isqrt
from numbers import Rational
from operator import index
from re import fullmatch
from typing import Any

from flint import arb, ctx, fmpq

from discreet.errors import ParameterError

Real = int | str | Decimal | Fraction | float

BITS = 96
"""Relative precision of directed functions: both sides agree to one part in 2**96."""

HAIR = Fraction(1, 2**80)
"""What calibration takes off a price: more than any rounding of the logarithm that takes it back."""

LARGEST_EXPONENT = 2**20
"""exp() beyond this is refused: no meaningful privacy parameter is that large."""

LONGEST = 2**13
"""Bits of the largest number, and of the smallest one's inverse, that a parameter may be."""

FARTHEST = 2**21
"""Numbers of more bits than this before or after the point are never formed, only bounded."""

MOST_PRECISE = 2**14
"""An enclosure that this many bits do not make narrow is returned as wide as it then is."""

_DECIMALS = 2400
"""Exponents of ten that are surely below LONGEST bits, with the digits that a text may have besides."""

_TEXT = r"[+-]?([0-9]+(/[0-9]+)?|[0-9]*\.?[0-9]*([eE][+-]?[0-9]{1,5})?)"
"""A number as everybody writes it: Python would also take 1_0 for ten, and digits of other scripts."""

_BLANKS = " \t\r\n"


def shown(value: object) -> str:
    """Return a value for a message: as it is written, cut off where it is long."""
    try:
        text = f"{value}" if isinstance(value, int | float | Fraction | Decimal) else repr(value)
    except (ValueError, ArithmeticError):
        return "a number of thousands of digits"
    return text if len(text) <= 60 else f"{text[:50]}..."


def rational(value: Real, name: str = "value") -> Fraction:
    """Return the exact rational that a user meant; a float means its shortest decimal, so 0.1 is 1/10.

    This is the one door for parameters: it refuses what is no number, or a number longer than LONGEST
    bits, without working on it.  A Fraction is exact already, however long, and passes as it is.
    """
    found = _exactly(value)
    if found is None:
        raise ParameterError(
            f"{name} must be a finite number (int, str, Decimal, Fraction or float) of at most "
            f"{LONGEST} bits, got {shown(value)}"
        )
    return found


def _exactly(value: object) -> Fraction | None:
    match value:
        case bool():
            return None
        case Fraction():
            return value
        case int():
            return Fraction(int(value)) if value.bit_length() <= LONGEST else None
        case Decimal():
            return Fraction(value) if value.is_finite() and _short(value) else None
        case float():
            return Fraction(float.__repr__(value)) if isfinite(value) else None
        case str():
            return _written(value.strip(_BLANKS))
    if hasattr(value, "ndim") and hasattr(value, "dtype"):
        return _held(value)
    if isinstance(value, Rational):
        return Fraction(int(value.numerator), int(value.denominator))
    try:
        return _exactly(index(value))  # type: ignore[arg-type]
    except TypeError:
        return None


def _held(array: Any) -> Fraction | None:
    """Return the number in a NumPy scalar, or in an array of no dimension."""
    held = array.item() if array.ndim == 0 and array.dtype.kind in "iufO" else None
    # An extended float gives itself back: it has no shortest decimal.
    return None if getattr(held, "ndim", None) is not None else _exactly(held)


def _written(text: str) -> Fraction | None:
    if len(text) > _DECIMALS or not fullmatch(_TEXT, text):
        return None
    exponent = text.lower().partition("e")[2]
    if exponent and abs(int(exponent)) > _DECIMALS:
        return None
    try:
        number = Fraction(text)
    except (ValueError, ZeroDivisionError):
        return None
    return number if max(abs(number.numerator), number.denominator).bit_length() <= LONGEST else None


def _short(value: Decimal) -> bool:
    digits = len(value.as_tuple().digits)
    return digits <= _DECIMALS and value.adjusted() - digits >= -_DECIMALS and value.adjusted() <= _DECIMALS


def positive(value: Real, name: str) -> Fraction:
    """Return the rational that a user meant, refusing zero and below."""
    number = rational(value, name)
    if number <= 0:
        raise ParameterError(f"{name} must be greater than 0, got {shown(value)}")
    return number


def non_negative(value: Real, name: str) -> Fraction:
    """Return the rational that a user meant, refusing negative numbers."""
    number = rational(value, name)
    if number.numerator < 0:
        raise ParameterError(f"{name} must not be negative, got {shown(value)}")
    return number


def probability(value: Real, name: str) -> Fraction:
    """Return the rational that a user meant, refusing what is not strictly between 0 and 1."""
    number = rational(value, name)
    if not 0 < number < 1:
        raise ParameterError(f"{name} must lie strictly between 0 and 1, got {shown(value)}")
    return number


def whole(value: Real, name: str) -> int:
    """Return the integer that a user meant, refusing fractions."""
    number = rational(value, name)
    if number.denominator != 1:
        raise ParameterError(f"{name} must be a whole number, got {shown(value)}")
    return number.numerator


def flag(value: bool, name: str) -> bool:
    """Return a truth value as it is, refusing what only looks like one."""
    if not isinstance(value, bool):
        raise ParameterError(f"{name} must be True or False, got {shown(value)}")
    return value


def word(value: str, name: str, choices: Sequence[str]) -> str:
    """Return one of the words that are known, refusing everything else."""
    if not isinstance(value, str) or value not in choices:
        known = " or ".join(repr(choice) for choice in choices)
        raise ParameterError(f"{name} must be {known}, got {shown(value)}")
    return value


def listed(values: Any, name: str) -> tuple[Any, ...]:
    """Return the entries of a list, refusing what is none."""
    if not isinstance(values, str | bytes | dict):
        try:
            return tuple(values)
        except TypeError:
            pass
    raise ParameterError(f"{name} must be a list, got {shown(values)}")


def ball(value: Fraction | int) -> arb:
    """Return a ball containing `value` at the working precision."""
    return arb(fmpq(value.numerator, value.denominator))


def from_exact(value: arb) -> Fraction:
    """Return the dyadic rational that an exact ball (radius zero) stands for."""
    mantissa, exponent = value.man_exp()
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)


def ends(value: arb) -> tuple[Fraction, Fraction]:
    """Return rationals at or beyond the two ends of a ball; what is too small to write out is bounded."""
    low, high = value.lower(), value.upper()
    if not (low.is_finite() and high.is_finite()):
        raise ParameterError("these parameters are too large or too small to compute with")
    return _outwards(low, -1), _outwards(high, 1)


def _outwards(exact: arb, side: int) -> Fraction:
    """Return an exact ball as a rational, moved away to the given side where it is too small for that."""
    man, exp = exact.man_exp()
    mantissa, exponent = int(man), int(exp)
    size = exponent + mantissa.bit_length()
    if mantissa and size > FARTHEST:
        raise ParameterError("these parameters lead to numbers too large to write out")
    if mantissa and size < -FARTHEST:
        return Fraction(side, 1 << FARTHEST) if mantissa * side > 0 else Fraction(0)
    if exponent >= 0 or not mantissa:
        return Fraction(mantissa << max(exponent, 0))
    # The mantissa of a ball's end is odd, so that nothing is left to cancel: looking for it took longest.
    twos = (mantissa & -mantissa).bit_length() - 1
    dyadic: Fraction = object.__new__(Fraction)
    dyadic._numerator, dyadic._denominator = mantissa >> twos, 1 << (-exponent - twos)  # type: ignore[attr-defined]
    return dyadic


def _narrow(down: Fraction, up: Fraction, bits: int) -> bool:
    """Return whether up - down <= max(|down|, |up|) / 2**bits, where both denominators are powers of two."""
    common = max(down.denominator, up.denominator)
    low, high = down.numerator * (common // down.denominator), up.numerator * (common // up.denominator)
    return (high - low) << bits <= max(abs(low), abs(high))


def enclose(function: Callable[[], arb], bits: int = BITS) -> tuple[Fraction, Fraction]:
    """Return rationals low <= f() <= high agreeing to `bits`, raising the precision until they do.

    A value that may be zero, which no precision tells, is enclosed as narrowly as MOST_PRECISE bits do.
    """
    precision, before = bits + 32, ctx.prec
    while True:
        # As ctx.workprec does, at half of its price.
        ctx.prec = precision
        try:
            value = function()
            found = ends(value) if value.is_finite() else None
        finally:
            ctx.prec = before
        if found is not None:
            # A ball's own word is enough where it is clear.
            clear = value.rel_accuracy_bits() > bits + 4
            if clear or _narrow(*found, bits) or _beyond(found) or precision > MOST_PRECISE:
                return found
        elif precision > MOST_PRECISE:
            raise ParameterError("these parameters are too large or too small to compute with")
        precision *= 2


def _beyond(found: tuple[Fraction, Fraction]) -> bool:
    """Whether an end stands for something too small to write out."""
    return any(end.numerator in (-1, 1) and end.denominator.bit_length() > FARTHEST for end in found)


def certain(value: Callable[[], arb], precision: int = 192) -> tuple[Fraction, Fraction]:
    """Return rationals around value() as one evaluation gives them, however wide."""
    with ctx.workprec(precision):
        return ends(value())


def exp_bounds(x: Fraction, bits: int = BITS) -> tuple[Fraction, Fraction]:
    """Return rationals around exp(x)."""
    if x > LARGEST_EXPONENT:
        raise ParameterError(f"an exponent of {shown(x)} is too large to be a privacy parameter")
    if x < -LARGEST_EXPONENT:
        return Fraction(0), exp_bounds(Fraction(-LARGEST_EXPONENT), bits)[1]
    return enclose(lambda: ball(x).exp(), bits)


def exp_down(x: Fraction, bits: int = BITS) -> Fraction:
    """Return a rational at or just below exp(x)."""
    return exp_bounds(x, bits)[0]


def exp_up(x: Fraction, bits: int = BITS) -> Fraction:
    """Return a rational at or just above exp(x)."""
    return exp_bounds(x, bits)[1]


def log_bounds(x: Fraction, bits: int = BITS) -> tuple[Fraction, Fraction]:
    """Return rationals around the natural logarithm of x > 0."""
    if x <= 0:
        raise ParameterError("the logarithm needs a positive number")
    return enclose(lambda: log_ball(x), bits)


def log_ball(x: Fraction) -> arb:
    """Return a ball around ln(x), whose relative error is small also where x is close to 1."""
    return ball(x - 1).log1p() if Fraction(1, 2) < x < 2 else ball(x).log()


def log_quotient(x: Fraction, y: Fraction) -> int:
    """Return about ln(x) / ln(y), rounded up: a first guess for exact searches, however extreme x and y."""
    return ceil(log_bounds(x, 40)[0] / log_bounds(y, 40)[0])


def log_down(x: Fraction, bits: int = BITS) -> Fraction:
    """Return a rational at or just below ln(x)."""
    return log_bounds(x, bits)[0]


def log_up(x: Fraction, bits: int = BITS) -> Fraction:
    """Return a rational at or just above ln(x)."""
    return log_bounds(x, bits)[1]


def sqrt_down(x: Fraction, bits: int = BITS) -> Fraction:
    """Return a rational at or just below the square root of x >= 0."""
    scale = _root_scale(x, bits)
    return Fraction(isqrt(x.numerator * scale**2 // x.denominator), scale)


def sqrt_up(x: Fraction, bits: int = BITS) -> Fraction:
    """Return a rational at or just above the square root of x >= 0."""
    scale = _root_scale(x, bits)
    square = -(-x.numerator * scale**2 // x.denominator)
    root = isqrt(square)
    return Fraction(root if root * root == square else root + 1, scale)


def _root_scale(x: Fraction, bits: int) -> int:
    if x < 0:
        raise ParameterError("the square root needs a number that is not negative")
    # A perfect square of a rational comes out exactly because the denominator divides the scale.
    return int(x.denominator) << max(bits - (x.numerator * x.denominator).bit_length() // 2, 1)


def round_up(x: Fraction, bits: int) -> Fraction:
    """Return the smallest multiple of 2**-bits at or above x."""
    return Fraction(-(-x.numerator * 2**bits // x.denominator), 2**bits)


def round_down(x: Fraction, bits: int) -> Fraction:
    """Return the largest multiple of 2**-bits at or below x."""
    return Fraction(x.numerator * 2**bits // x.denominator, 2**bits)


def float_up(x: Fraction) -> float:
    """Return the smallest float at or above x, for display."""
    from math import inf, nextafter

    try:
        nearest = float(x)
    except OverflowError:
        return inf
    return nearest if Fraction(nearest) >= x else nextafter(nearest, inf)


def float_down(x: Fraction) -> float:
    """Return the largest float at or below x, for display."""
    return 0.0 - float_up(-x)  # not -float_up, which would show zero as -0


def at_most(
    value: Callable[[], arb],
    bound: Fraction,
    limit: int = 1 << 13,
    *,
    exact: Callable[[], Fraction | None] | None = None,
) -> bool:
    """Decide value() <= bound.

    What `limit` bits cannot tell apart is settled by `exact`, the same value as a fraction; without it, or
    when it is None because the fraction would be too long, the answer is no, the cautious one.
    """
    precision = 128
    while precision <= limit:
        with ctx.workprec(precision):
            difference = value() - ball(bound)
            if difference <= 0:
                return True
            if difference > 0:
                return False
        precision *= 2
    settled = None if exact is None else exact()
    return settled is not None and settled <= bound


def least_integer(holds: Callable[[int], bool], guess: int, lowest: int = 0) -> int:
    """Return the smallest k >= lowest where a monotone predicate holds, searching outwards from a guess."""
    high = max(guess, lowest)
    step = 1
    while not holds(high):
        high += step
        step *= 2
    low = high - 1
    step = 1
    while low >= lowest and holds(low):
        high, low = low, low - step
        step *= 2
    low = max(low, lowest - 1)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high
