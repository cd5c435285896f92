"""Regular expressions that are conditions in disguise.

A general expression is matched in time that depends on the data.  Many that people write are conditions that
every engine decides in linear time, and are said with those; the others are refused.

*Patterns.*  Characters, `.`, `.*` and `.+` are those of LIKE.  Optional and counted parts (`s?`, `x{1,3}`),
and classes of few characters (`gr[ae]y`), are alternatives, each of which is a pattern.

*Places.*  Where an expression is anchored and its parts have one length each (`^[A-Z]{2}[0-9]{4}`), the
character at a place is looked up in the class of the place.

*Runs.*  `^ab[0-9]+$` holds where nothing is left of the text after `ab` once digits are trimmed from its
left.  At an end that is not anchored a run is as good as its shortest form: there `[0-9]+` is `[0-9]`.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import prod

from discreet.errors import QueryError
from discreet.query.language.unfolded import Piece, pieces
from discreet.query.plan import Among, Call, Literal, Scalar

ALTERNATIVES = 16
PATTERNS = 64
"""So many patterns stand for an expression with classes of characters."""

LENGTH = 64
"""So many places are looked up one by one."""


def matched(text: Scalar, pattern: Scalar, *, whole: bool = False, insensitive: bool = False) -> Scalar:
    """Return the condition that a text contains a match, or with `whole` is one."""
    match pattern:
        case Literal(str(expression)):
            pass
        case _:
            raise refused("is not constant")
    if expression.startswith("(?i)"):
        expression, insensitive = expression.removeprefix("(?i)"), True
    found: list[Scalar] = []
    for option in _alternatives(expression):
        found += (_condition(text, one, insensitive=insensitive) for one in _forms(option, whole=whole))
    if len(found) > PATTERNS:
        raise refused("has too many alternatives")
    return found[0] if len(found) == 1 else Call("or", tuple(dict.fromkeys(found)))


def similar(text: Scalar, pattern: Scalar) -> Scalar:
    """SIMILAR TO with nothing but what LIKE has, and alternatives."""
    match pattern:
        case Literal(str(expression)) if not set(expression) & set("()[]{}?+*\\"):
            found = [Call("like", (text, Literal(option))) for option in expression.split("|")]
            if len(found) <= ALTERNATIVES:
                return found[0] if len(found) == 1 else Call("or", tuple(found))
    raise refused("is more than a pattern with alternatives")


def refused(why: str) -> QueryError:
    """Return the refusal of an expression that takes more than constant places, runs and patterns."""
    return QueryError(
        "a regular expression", f"{why}, and would take time that depends on the data", "use LIKE"
    )


_PLAIN = r"(?:\\.|\[[^\]]*\]|[^()|\\\[\]])*"
_GROUP = re.compile(
    rf"(?P<before>{_PLAIN})\((?:\?:)?(?!\?)(?P<inside>{_PLAIN}(?:\|{_PLAIN})*)\)(?P<after>(?![*+?{{]){_PLAIN})"
)
"""An expression with one group, which is there once."""


def _alternatives(expression: str) -> list[str]:
    """Return the alternatives of an expression; a group around all of them is taken off."""
    grouped = _GROUP.fullmatch(expression)
    if grouped is not None and (grouped["before"].strip("^") or grouped["after"].strip("$")):
        # One group inside: its alternatives are those of the whole.
        options = [f"{grouped['before']}{option}{grouped['after']}" for option in _split(grouped["inside"])]
        if len(options) > ALTERNATIVES:
            raise refused(f"has more than {ALTERNATIVES} alternatives")
        return options
    before = "^" if expression.startswith("^(") else ""
    after = "$" if expression.endswith(")$") else ""
    inner = expression[len(before) : len(expression) - len(after)]
    if inner.startswith("(") and inner.endswith(")") and "(" not in inner[1:]:
        body = inner[1:-1].removeprefix("?:")
        options = [f"{before}{option}{after}" for option in _split(body)]
    elif before or after:
        raise refused("has groups")
    else:
        options = _split(expression)
    if len(options) > ALTERNATIVES:
        raise refused(f"has more than {ALTERNATIVES} alternatives")
    return options


def _split(expression: str) -> list[str]:
    found, escaped, listed = [""], False, False
    for character in expression:
        if character == "|" and not escaped and not listed:
            found.append("")
        else:
            found[-1] += character
        listed = (listed or character == "[") and not (character == "]" and not escaped)
        escaped = character == "\\" and not escaped
    return found


@dataclass(frozen=True, slots=True)
class Anchored:
    """Parts one after the other, each once or a run; `begins` and `ends` say which ends are anchored."""

    parts: tuple[Piece, ...]
    begins: bool
    ends: bool


def _forms(expression: str, *, whole: bool) -> Iterator[Anchored]:
    """Yield what an expression stands for once optional and counted parts are written out."""
    begins = whole or expression.startswith("^")
    rest = expression.removeprefix("^")
    ends = whole or (rest.endswith("$") and not rest.endswith("\\$"))
    parts = pieces(rest[:-1] if rest.endswith("$") and not rest.endswith("\\$") else rest)
    choices = [list(_counts(part)) for part in parts]
    if prod(map(len, choices)) > ALTERNATIVES:
        raise refused("has too many optional parts")
    for chosen in product(*choices):
        found = [one for count, part in zip(chosen, parts, strict=True) for one in _written_out(part, count)]
        if len(found) > LENGTH:
            raise refused(f"has more than {LENGTH} places")
        yield Anchored(tuple(_short(found, begins=begins, ends=ends)), begins, ends)


def _counts(part: Piece) -> range:
    most = part.least if part.most is None else part.most
    return range(part.least, most + 1)


def _written_out(part: Piece, count: int) -> list[Piece]:
    once = replace(part, least=1, most=1)
    run = [replace(part, least=0)] if part.most is None else []
    return [once] * min(count, LENGTH + 1) + run


def _short(parts: list[Piece], *, begins: bool, ends: bool) -> list[Piece]:
    """Return parts without runs at open ends, where any text may follow anyway."""
    while parts and parts[-1].most is None and not ends:
        parts = parts[:-1]
    while parts and parts[0].most is None and not begins:
        parts = parts[1:]
    if not parts:
        return parts
    alike = next((place for place, part in enumerate(parts) if part != parts[0]), len(parts))
    if not begins and parts[alike : alike + 1] == [replace(parts[0], least=0, most=None)]:
        # What is repeated at an open beginning is as good as its shortest form, too.
        parts = parts[:alike] + parts[alike + 1 :]
    return parts


def _condition(text: Scalar, form: Anchored, *, insensitive: bool) -> Scalar:
    runs = [place for place, part in enumerate(form.parts) if part.most is None]
    if all(form.parts[place].any for place in runs) and _patterns(form.parts) <= PATTERNS:
        options = [_like(text, chosen, form, insensitive) for chosen in _chosen(form.parts)]
        return options[0] if len(options) == 1 else Call("or", tuple(options))
    if insensitive:
        text = Call("lower", (text,))
        form = replace(form, parts=tuple(part.folded for part in form.parts))
    if not runs:
        return _placed(text, form)
    if len(runs) == 1 and runs[0] == len(form.parts) - 1 and form.begins and form.ends:
        return _trimmed(text, form)
    raise refused("repeats more than its last part")


def _patterns(parts: Sequence[Piece]) -> int:
    return prod(part.size for part in parts if not part.any)


def _chosen(parts: Sequence[Piece]) -> Iterator[tuple[str, ...]]:
    """Yield the signs of LIKE for every choice of characters."""
    signs = [
        (("%",) if part.most is None else ("_",)) if part.any else tuple(map(_plain, sorted(part.signs)))
        for part in parts
    ]
    yield from product(*signs)


def _like(text: Scalar, signs: tuple[str, ...], form: Anchored, insensitive: bool) -> Scalar:
    found = [*([] if form.begins else ["%"]), *signs, *([] if form.ends else ["%"])]
    # Any text after any text is any text.
    kept = [part for place, part in enumerate(found) if part != "%" or found[place - 1 : place] != ["%"]]
    return Call("ilike" if insensitive else "like", (text, Literal("".join(kept)), Literal("!")))


def _plain(character: str) -> str:
    return f"!{character}" if character in "%_!" else character


def _placed(text: Scalar, form: Anchored) -> Scalar:
    """Return that the first or last characters are as the parts say, one by one."""
    size = len(form.parts)
    if not form.begins and not form.ends:
        return _anywhere(text, form)
    length = Call("length", (text,))
    # Where both ends are anchored there are no other characters.
    whole = Call("eq" if form.begins and form.ends else "ge", (length, Literal(size)))
    subject = text if form.begins else Call("right", (text, Literal(size)))
    tests = [_test(subject, place, part) for place, part in enumerate(form.parts, 1) if not part.any]
    return Call("and", (whole, *tests)) if tests else whole


def _anywhere(text: Scalar, form: Anchored) -> Scalar:
    """Return that a text has the parts somewhere: `[0-9]{5}` is LIKE '%00000%' once every digit is a 0.

    Needs: classes have no character in common, so that which of them a character was of can be told after.
    """
    classes = list(dict.fromkeys(part.signs for part in form.parts if not part.any))
    if any(part.inverse and not part.any for part in form.parts):
        raise refused("leaves characters out at no certain place")
    if len(frozenset[str]().union(*classes)) != sum(map(len, classes)):
        raise refused("has classes with common characters at no certain place")
    for signs in classes:
        text = replaced(text, signs, min(signs))
    signs_of = tuple("_" if part.any else _plain(min(part.signs)) for part in form.parts)
    return _like(text, signs_of, form, False)


def replaced(text: Scalar, signs: frozenset[str], new: str) -> Scalar:
    """Return a text with one character, or none, in place of every one of some characters."""
    for sign in sorted(signs - {new}):
        text = Call("replace", (text, Literal(sign), Literal(new)))
    return text


def without_matches(text: Scalar, pattern: Scalar, new: Scalar) -> Scalar:
    """REGEXP_REPLACE(x, '[aeiou]', '', 'g'): every character of a class is another one, or none."""
    match pattern, new:
        case Literal(str(expression)), Literal(str(sign)) if len(sign) <= 1:
            parts = pieces(expression)
            if len(parts) == 1 and not parts[0].inverse and parts[0].least == 1:
                once = parts[0].most == 1
                # A run of characters is gone when each of them is; otherwise it is one match, not several.
                if once or (sign == "" and parts[0].most is None):
                    return replaced(text, parts[0].signs, sign)
    raise QueryError(
        "REGEXP_REPLACE",
        "is more than one character, or none, in place of those of a class, and would take time that "
        "depends on the data",
        "write REPLACE(x, 'ab', 'c'), or TRANSLATE(x, '0123456789', '')",
    )


def _test(text: Scalar, place: int, part: Piece) -> Scalar:
    here = Call("substring", (text, Literal(place), Literal(1)))
    among = Among(here, tuple(map(Literal, sorted(part.signs))))
    return Call("not", (among,)) if part.inverse else among


def _trimmed(text: Scalar, form: Anchored) -> Scalar:
    """Return that after the first characters nothing is left but those of the run."""
    *first, run = form.parts
    if run.inverse or run.any:
        raise refused("repeats what is no list of characters")
    rest = Call("substring", (text, Literal(len(first) + 1)))
    gone = Call("eq", (Call("ltrim", (rest, Literal("".join(sorted(run.signs))))), Literal("")))
    before = Anchored(tuple(first), begins=True, ends=False)
    return Call("and", (_placed(text, before), gone)) if first else gone
