"""Rational numbers, and the few transcendental functions privacy needs, with directed rounding.

Every privacy-relevant parameter is a `Fraction`.  Logarithms, exponentials and roots exist only
as pairs `..._down` and `..._up`: the name says on which side of the true value the returned
rational lies.  They are computed with ball arithmetic (FLINT's Arb), whose balls provably contain
the true value, at a precision that is raised until the two sides agree to the requested bits.
"""

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from math import isfinite, isqrt

from flint import arb, ctx, fmpq

from discreet.errors import ParameterError

Real = int | str | Decimal | Fraction | float

BITS = 96
"""Relative precision of directed functions: both sides agree to one part in 2**96."""

HAIR = Fraction(1, 2**80)
"""What calibration takes off a price: more than any rounding of the logarithm that takes it back."""

LARGEST_EXPONENT = 2**20
"""exp() beyond this is refused: no meaningful privacy parameter is that large."""


def rational(value: Real, name: str = "value") -> Fraction:
    """Return the exact rational that a user meant; a float means its shortest decimal, so 0.1 is 1/10."""
    match value:
        case bool():
            pass
        case Fraction():
            return value
        case int():
            return Fraction(value)
        case Decimal() if value.is_finite():
            return Fraction(value)
        case float() if isfinite(value):
            return Fraction(float.__repr__(value))
        case str():
            try:
                return Fraction(value.strip())
            except (ValueError, ZeroDivisionError):
                pass
        case _ if hasattr(value, "__index__"):
            return Fraction(int(value))
        case _ if hasattr(value, "item"):  # a NumPy scalar
            return rational(value.item(), name)
    raise ParameterError(
        f"{name} must be a finite number (int, str, Decimal, Fraction or float), got {value!r}"
    )


def positive(value: Real, name: str) -> Fraction:
    """Return the rational that a user meant, refusing zero and below."""
    number = rational(value, name)
    if number <= 0:
        raise ParameterError(f"{name} must be greater than 0, got {value}")
    return number


def non_negative(value: Real, name: str) -> Fraction:
    """Return the rational that a user meant, refusing negative numbers."""
    number = rational(value, name)
    if number < 0:
        raise ParameterError(f"{name} must not be negative, got {value}")
    return number


def probability(value: Real, name: str) -> Fraction:
    """Return the rational that a user meant, refusing what is not strictly between 0 and 1."""
    number = rational(value, name)
    if not 0 < number < 1:
        raise ParameterError(f"{name} must lie strictly between 0 and 1, got {value}")
    return number


def whole(value: Real, name: str) -> int:
    """Return the integer that a user meant, refusing fractions."""
    number = rational(value, name)
    if number.denominator != 1:
        raise ParameterError(f"{name} must be a whole number, got {value}")
    return number.numerator


def ball(value: Fraction | int) -> arb:
    """Return a ball containing `value` at the working precision."""
    return arb(fmpq(value.numerator, value.denominator))


def from_exact(value: arb) -> Fraction:
    """Return the dyadic rational that an exact ball (radius zero) stands for."""
    mantissa, exponent = value.man_exp()
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)


def enclose(function: Callable[[], arb], bits: int = BITS) -> tuple[Fraction, Fraction]:
    """Return rationals low <= f() <= high agreeing to `bits`, raising the precision until they do."""
    precision = bits + 32
    while True:
        with ctx.workprec(precision):
            value = function()
            low, high = value.lower(), value.upper()
        if low.is_finite() and high.is_finite():
            down, up = from_exact(low), from_exact(high)
            if up - down <= max(abs(down), abs(up)) / 2**bits:
                return down, up
        precision *= 2


def certain(value: Callable[[], arb], precision: int = 192) -> tuple[Fraction, Fraction]:
    """Return rationals around value() as one evaluation gives them, however wide."""
    with ctx.workprec(precision):
        enclosure = value()
        return from_exact(enclosure.lower()), from_exact(enclosure.upper())


def exp_bounds(x: Fraction, bits: int = BITS) -> tuple[Fraction, Fraction]:
    """Return rationals around exp(x)."""
    if x > LARGEST_EXPONENT:
        raise ParameterError(f"an exponent of {float(x):.3g} is too large to be a privacy parameter")
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
    return enclose(lambda: ball(x).log(), bits)


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
    exact: Callable[[], Fraction] | None = None,
) -> bool:
    """Decide value() <= bound.

    What `limit` bits cannot tell apart is settled by `exact`, the same value as a fraction; without it the
    answer is no, the cautious one.
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
    return exact is not None and exact() <= bound


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
