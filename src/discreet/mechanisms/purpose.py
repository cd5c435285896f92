"""What a mechanism was made for: how far one person moves what it hides.

The same noise is worth a different promise at every sensitivity, so a mechanism remembers the one it was
calibrated for, and says it when printed.  Built by hand from its ratio alone it knows none, and then nothing
is assumed: whoever asks what it promises has to say how far one person moves the answer.
"""

from discreet.errors import ParameterError
from discreet.exact.number import Real, flag, shown, whole
from discreet.privacy.sensitivity import Sensitivity

UNKNOWN = (
    "this {kind} does not know {what}, so nothing can be said about its privacy; "
    "name it, as in guarantee({example}) or {kind}(..., {field}={example}), or calibrate one"
)


def remembered(sensitivity: Sensitivity | Real | None) -> Sensitivity | None:
    """Return what a mechanism keeps of the sensitivity it was made for."""
    return None if sensitivity is None else Sensitivity.of(sensitivity)


def moved(given: Sensitivity | Real | None, made_for: Sensitivity | None, kind: object) -> Sensitivity:
    """Return the sensitivity that was named or, when none was, the one the mechanism was made for."""
    if given is not None:
        return Sensitivity.of(given)
    if made_for is None:
        raise ParameterError(
            UNKNOWN.format(
                kind=type(kind).__name__,
                what="how far one person moves its answer",
                field="sensitivity",
                example=1,
            )
        )
    return made_for


def one_way(given: bool | None, sensitivity: Sensitivity | Real | None, made_for: bool) -> bool:
    """Return whether all scores move the same way: as named, or as remembered with the sensitivity.

    A sensitivity that is named is that of other scores, of which nothing else is known.
    """
    if given is not None:
        return flag(given, "monotone")
    return made_for if sensitivity is None else False


def counted(given: int | None, made_for: int | None, kind: object, field: str) -> int:
    """Return how many of something one person has: as named, or as the mechanism remembers it."""
    if given is None and made_for is None:
        raise ParameterError(
            UNKNOWN.format(
                kind=type(kind).__name__,
                what=f"in how many {field} one person is",
                field=field,
                example=1,
            )
        )
    return at_least_one(made_for if given is None else given, field)


def at_least_one(value: Real | None, name: str) -> int:
    """Return a whole number of at least one."""
    number = whole(0 if value is None else value, name)
    if number < 1:
        raise ParameterError(f"{name} must be at least 1, got {shown(value)}")
    return number
