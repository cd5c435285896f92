"""What functions demand of their arguments, and how they refuse."""

from collections.abc import Callable, Sequence
from typing import TypeAlias

from discreet.errors import ProofError
from discreet.query.plan import Literal, Scalar
from discreet.query.proof.value import Kind, Value, alike, constant, fits, union, whole

Rule: TypeAlias = Callable[[str, Sequence[Value], Sequence[Scalar]], Value]
"""What a function of this name yields for arguments of which the values and the texts are known."""

NUMBERS = frozenset((Kind.WHOLE, Kind.REAL, Kind.NULL))
TRUTHS = frozenset((Kind.TRUTH, Kind.NULL))
TEXTS = frozenset((Kind.TEXT, Kind.NULL))
REALS = frozenset((Kind.REAL, Kind.NULL))
WHOLES = frozenset((Kind.WHOLE, Kind.NULL))
TIMES = frozenset((Kind.DAY, Kind.MOMENT, Kind.NULL))


def refuse(name: str, reason: str) -> ProofError:
    """Return the refusal of one function."""
    return ProofError(f"the function {name}", reason)


def need(name: str, values: Sequence[Value], kinds: frozenset[Kind]) -> None:
    """Refuse arguments of other kinds."""
    for value in values:
        if value.kind not in kinds:
            raise refuse(name, f"does not take {value.kind} values")


def written(scalar: Literal) -> Value:
    """Return a constant, refusing whole ones for which an engine may choose a type that is not theirs."""
    value = constant(scalar.value)
    if value.kind is Kind.WHOLE and value.bits > 64:
        raise ProofError("a whole constant", "needs more than 64 bits")
    return value


def wide(scalar: Scalar, value: Value) -> Value:
    """Return a constant in the width that an engine gives it inside arithmetic: at least 64 bits."""
    if isinstance(scalar, Literal) and value.kind is Kind.WHOLE:
        return whole(value.low, value.high, max(value.bits, 64), null=False)
    return value


def agreed(name: str, values: Sequence[Value]) -> Value:
    """Return what holds all values, refusing kinds that an engine would have to cast."""
    joint = union(values)
    if joint is None:
        raise refuse(name, "mixes types that an engine would have to cast")
    return joint


def compared(name: str, values: Sequence[Value]) -> None:
    """Refuse comparisons of kinds that an engine would have to cast."""
    if not alike(values):
        raise refuse(name, "compares identifiers whose stored type is not declared")
    kinds = {value.kind for value in values} - {Kind.NULL}
    # Every whole number has a double, but not every date is a moment.
    if len(kinds) > 1 and not kinds <= NUMBERS:
        raise refuse(name, "compares different types, which an engine would have to cast")


def fitting(name: str, low: int, high: int, bits: int, *, null: bool = True) -> Value:
    """Return a whole number of this width, refusing an interval that may leave it."""
    if not fits(low, high, bits):
        raise refuse(name, f"may leave the integers of {bits} bits, and then raises")
    return whole(low, high, bits, null=null)
