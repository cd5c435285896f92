"""The words of a manifest, each checked where it stands: an error names the place and what works."""

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from fractions import Fraction
from typing import Any

from discreet.errors import CatalogError, ParameterError
from discreet.exact.number import rational
from discreet.query.name import HIDDEN, folded


def flag(body: Mapping[str, Any], key: str, where: str, *, usual: bool = False) -> bool:
    """Return a key's value, true or false."""
    value = body.get(key, usual)
    if not isinstance(value, bool):
        raise CatalogError(f"{where}.{key} must be true or false, got {value!r}")
    return value


def number(value: object, where: str) -> Fraction:
    """Return a number, exactly as it is written."""
    try:
        return rational(value, where)  # type: ignore[arg-type]
    except ParameterError as problem:
        raise CatalogError(str(problem)) from None


def string(value: object, where: str) -> str:
    """Return a text."""
    if not isinstance(value, str):
        raise CatalogError(f"{where} must be a string, got {value!r}")
    return value


def mapping(value: object, where: str) -> Mapping[str, Any]:
    """Return a section."""
    if not isinstance(value, Mapping):
        raise CatalogError(f"{where} must be a section of key = value lines, got {value!r}")
    return value


def checked_name(name: str, where: str) -> None:
    """Refuse a name that could not be shown, or that belongs to generated statements."""
    if not name or name.startswith(HIDDEN) or len(name) > 128 or not name.isprintable():
        raise CatalogError(
            f"{where}: a name must be printable, not empty, and not begin with two underscores"
        )


def different(names: Iterable[str], where: str) -> None:
    """Refuse names of which two are the same to a question."""
    taken: set[str] = set()
    for name in map(folded, names):
        if name in taken:
            raise CatalogError(f"{where}: two names differ only by case, which makes them one; rename one")
        taken.add(name)


def only(body: Mapping[str, Any], known: Iterable[str], where: str) -> None:
    """Refuse a key that means nothing here: a misspelt limit would protect nobody."""
    for key in body:
        if key not in (allowed := tuple(known)):
            near = get_close_matches(key, allowed, 1)
            hint = f"did you mean {near[0]}?" if near else f"known keys: {', '.join(allowed)}"
            raise CatalogError(f"{where} has an unknown key {key!r}; {hint}")
