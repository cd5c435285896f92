"""The parts of a regular expression: characters, classes of them, and how often each may follow."""

import re
from dataclasses import dataclass, replace
from string import ascii_letters, ascii_lowercase, ascii_uppercase, digits

from discreet.errors import QueryError

SPECIAL = frozenset("()[]{}?+*^$|\\.")

ESCAPED = SPECIAL | frozenset("-/@ ")
"""Characters that stand for themselves after a backslash."""

CLASSES = {"d": frozenset(digits), "w": frozenset(f"{ascii_letters}{digits}_"), "s": frozenset(" \t\n\r\f\v")}
"""What \\d, \\w and \\s stand for."""

_FOLD = str.maketrans(ascii_uppercase, ascii_lowercase)

_COUNTED = re.compile(r"\{(\d{1,3})(?:(,)(\d{1,3})?)?\}")

MOST = 128
"""So many characters a class may list."""


@dataclass(frozen=True, slots=True)
class Piece:
    """One of some characters (`inverse`: of all others), from `least` to `most` times, None: any number."""

    signs: frozenset[str]
    inverse: bool = False
    least: int = 1
    most: int | None = 1

    @property
    def any(self) -> bool:
        """Whether every character is meant."""
        return self.inverse and not self.signs

    @property
    def size(self) -> int:
        """How many characters are meant, or more than can be listed."""
        return MOST * MOST if self.inverse else len(self.signs)

    @property
    def folded(self) -> "Piece":
        """The same for a text of small letters."""
        return replace(self, signs=frozenset(sign.translate(_FOLD) for sign in self.signs))


def pieces(expression: str) -> list[Piece]:
    """Return the parts of an expression without groups, alternatives and anchors."""
    found: list[Piece] = []
    place = 0
    while place < len(expression):
        piece, place = _piece(expression, place)
        least, most, place = _times(expression, place)
        found.append(replace(piece, least=least, most=most))
    return found


def _refused(why: str) -> QueryError:
    return QueryError(
        "a regular expression", f"{why}, and would take time that depends on the data", "use LIKE"
    )


def _piece(expression: str, place: int) -> tuple[Piece, int]:
    sign, following = expression[place], expression[place + 1 : place + 2]
    if sign == ".":
        return Piece(frozenset(), inverse=True), place + 1
    if sign == "\\" and following in ESCAPED:
        return Piece(frozenset(following)), place + 2
    if sign == "\\" and following in CLASSES:
        return Piece(CLASSES[following]), place + 2
    if sign == "[":
        return _listed(expression, place + 1)
    if sign in SPECIAL:
        raise _refused("is more than characters, classes of them, dots, anchors and alternatives")
    return Piece(frozenset(sign)), place + 1


def _listed(expression: str, place: int) -> tuple[Piece, int]:
    """Read [a-z_], from behind its bracket."""
    inverse = expression[place : place + 1] == "^"
    place += inverse
    signs: set[str] = set()
    while expression[place : place + 1] not in ("]", ""):
        sign, following = expression[place], expression[place + 1 : place + 2]
        if sign == "\\" and following in CLASSES:
            signs |= CLASSES[following]
            place += 2
            continue
        if sign == "[" or (sign == "\\" and following not in ESCAPED):
            raise _refused("has a class that is more than a list of characters")
        sign, place = (following, place + 2) if sign == "\\" else (sign, place + 1)
        last = expression[place + 1 : place + 2]
        if expression[place : place + 1] == "-" and last not in ("]", ""):
            signs |= _range(sign, last)
            place += 2
        else:
            signs.add(sign)
    if place >= len(expression) or not 0 < len(signs) <= MOST:
        raise _refused(f"has a class without an end, or of more than {MOST} characters")
    return Piece(frozenset(signs), inverse), place + 1


def _range(first: str, last: str) -> set[str]:
    """Return the characters of a-z, which must be letters of one case or digits."""
    for alphabet in (digits, ascii_lowercase, ascii_uppercase):
        if first in alphabet and last in alphabet and first <= last:
            return set(alphabet[alphabet.index(first) : alphabet.index(last) + 1])
    raise _refused("has a range that is not one of digits, or of letters of one case")


def _times(expression: str, place: int) -> tuple[int, int | None, int]:
    """Return how often a part may follow, and where the next one begins."""
    sign = expression[place : place + 1]
    least, most = {"*": (0, None), "+": (1, None), "?": (0, 1)}.get(sign, (1, 1))
    place += sign in ("*", "+", "?") and sign != ""
    if sign == "{":
        counted = _COUNTED.match(expression, place)
        if counted is None:
            raise _refused("repeats a part in a way that is not a number")
        first, comma, last = counted.groups()
        least, most = int(first), int(last) if last else None if comma else int(first)
        place = counted.end()
        if most is not None and most < least:
            raise _refused("repeats a part less often than it must")
    if expression[place : place + 1] in ("*", "+", "?", "{"):
        raise _refused("repeats what is repeated")
    return least, most, place
