"""Numbers for people: as many digits as mean something."""

from fractions import Fraction


def format_number(value: int | float | Fraction) -> str:
    """Return a number with grouped thousands and at most four significant digits after them."""
    if isinstance(value, int) or (isinstance(value, Fraction) and value.denominator == 1):
        return f"{int(value):,}"
    number = float(value)
    size = abs(number)
    if size >= 1000:
        return f"{number:,.0f}"
    if size >= 1:
        return f"{number:,.2f}"
    return f"{number:.4g}"
