"""Functions of text, and patterns."""

from collections.abc import Callable, Sequence
from itertools import product
from math import prod

from discreet.errors import QueryError
from discreet.query.catalog.kind import Day, Kind, Nothing, Text, Truth, Typed, Whole, domain, truth, word
from discreet.query.check.afterwards import WORDS
from discreet.query.check.function.agreement import Rule, settle
from discreet.query.plan import Call, Case, Literal, Scalar

TEXT_LIMIT = 2**20

JOINED_LIMIT = 10_000
"""So many values of joined or converted text are listed; beyond, they are not known beforehand."""

LISTED_LIMIT = 2**20
"""So many characters of declared values are listed, all of them together."""

LONGEST = 4096
"""What makes a text longer takes so many of its first characters: or a cell could outgrow any memory."""

ESCAPE = "!"
"""What makes % and _ ordinary in the patterns of statements; folding case leaves it alone."""


def _text(name: str, argument: Typed) -> Scalar:
    if not isinstance(argument.kind, Text | Nothing):
        raise QueryError(
            name.upper(), f"needs text but got {word(argument.kind)}", "use a text column or CAST(x AS TEXT)"
        )
    return argument.scalar


def short(text: Scalar) -> Scalar:
    """Return the first characters of a text that is about to grow."""
    match text:
        case Literal(value) if value is None or len(str(value)) <= LONGEST:
            return text
        case Call("left", (_, Literal(int(length)))) if length <= LONGEST:
            return text
        case _:
            return Call("left", (text, Literal(LONGEST)))


def _change_text(name: str, arguments: Sequence[Typed]) -> Typed:
    kind = arguments[0].kind
    changes: dict[str, Callable[[str], str]] = {
        "lower": str.lower,
        "upper": str.upper,
        "trim": lambda text: text.strip(" "),
    }
    values = kind.values if isinstance(kind, Text) else None
    # Engines and Python may fold letters beyond ASCII differently, so only ASCII domains are carried over.
    if values is not None and all(value.isascii() for value in values):
        after: tuple[str, ...] | None = tuple(sorted({changes[name](value) for value in values}))
    else:
        after = None
    # Declared values say nothing about what the cells hold, and the proof counts no values of a changed text.
    return Typed(Call(name, (_text(name, arguments[0]),)), Text(after))


def _spelled(name: str, arguments: Sequence[Typed]) -> Typed:
    """Return a text of declared values said by a list: what none of them is has no spelling.

    Engines disagree about letters that are written with several signs, and about where words begin.
    """
    text, kind = _text(name, arguments[0]), arguments[0].kind
    if not isinstance(kind, Text) or kind.values is None or len(kind.values) > SPELLED:
        raise QueryError(
            name.upper(),
            f"needs a column of at most {SPELLED} declared values",
            "declare values for the column, or use UPPER(x), LOWER(x) or LEFT(x, 3)",
        )
    pairs = tuple((value, WORDS[name](value)) for value in kind.values)
    branches = tuple((Call("eq", (text, Literal(one))), Literal(other)) for one, other in pairs)
    return Typed(Case(branches, Literal(None)), Text(tuple(sorted({other for _, other in pairs}))), held=True)


SPELLED = 500
"""So many declared values are spelled out one by one."""


def _length(name: str, arguments: Sequence[Typed]) -> Typed:
    scalar = Call("length", (_text(name, arguments[0]),))
    match arguments[0].kind:
        case Text(values) if values:
            sizes = [len(value) for value in values]
            return Typed(scalar, Whole(min(sizes), max(sizes)))
    # No length is negative.
    return Typed(scalar, Whole(0, None), held=True)


def _substring(name: str, arguments: Sequence[Typed]) -> Typed:
    text = _text(name, arguments[0])
    places: list[int] = []
    for argument in arguments[1:]:
        match argument.scalar:
            case Literal(int(value)) if type(value) is int and 0 <= value <= TEXT_LIMIT:
                places.append(value)
            case _:
                raise QueryError(
                    name.upper(),
                    "positions must be constants that are not negative",
                    "write SUBSTRING(x, 1, 3)",
                )
    values = _cut_values(name, arguments[0].kind, places)
    return Typed(Call(name, (text, *map(Literal, places))), Text(values))


def _cut_values(name: str, kind: Kind, constants: Sequence[int]) -> tuple[str, ...] | None:
    """Return the parts of declared values."""
    values = kind.values if isinstance(kind, Text) else None
    if values is None:
        return None
    first, *rest = constants
    match name:
        case "left":
            cut = {value[:first] for value in values}
        case "right":
            cut = {value[max(len(value) - first, 0) :] for value in values}
        case _ if first >= 1:
            cut = {value[first - 1 : None if not rest else first - 1 + rest[0]] for value in values}
        case _:
            return None
    return tuple(sorted(cut))


def _piece(name: str, arguments: Sequence[Typed]) -> Typed:
    """Return a text that is trimmed, replaced, split or padded by constants."""
    text, longest = _text(name, arguments[0]), TEXT_LIMIT
    found = tuple(argument.scalar for argument in arguments[1:])
    match name, found:
        case (("ltrim" | "rtrim"), (Literal(str(signs)),)) if signs:
            pass
        case "replace", (Literal(str(old)), Literal(str(new))) if old and len(new) <= max(len(old), GROWTH):
            if len(new) > len(old):
                text, longest = short(text), LONGEST
        case "split_part", (Literal(str(sign)), Literal(int(place))) if sign and 1 <= place <= PLACES:
            pass
        case (("lpad" | "rpad"), (Literal(int(length)), Literal(str(fill)))) if (
            fill and 0 <= length <= PLACES
        ):
            pass
        case _:
            raise QueryError(
                name.upper(), "takes constants after the text, and no empty one", _EXAMPLES[name]
            )
    values = arguments[0].kind.values if isinstance(arguments[0].kind, Text) else None
    constants = tuple(one.value for one in found if isinstance(one, Literal))
    after: tuple[str, ...] | None = None
    if values is not None and len(values) * _most(name, max(map(len, values), default=0)) <= LISTED_LIMIT:
        after = tuple(sorted({_PIECES[name](value[:longest], *constants) for value in values}))
    return Typed(Call(name, (text, *found)), Text(after))


def _most(name: str, longest: int) -> int:
    """Return how long a piece of a text of this length can be."""
    return PLACES if name in ("lpad", "rpad") else GROWTH * longest if name == "replace" else longest


GROWTH, PLACES = 8, 1_000
"""What is put in place of a text may be so long; parts and characters are counted so far."""


def _split(text: str, sign: str, place: int) -> str:
    parts = text.split(sign)
    return parts[place - 1] if place <= len(parts) else ""


_PIECES: dict[str, Callable[..., str]] = {
    "ltrim": str.lstrip,
    "rtrim": str.rstrip,
    "replace": str.replace,
    "split_part": _split,
    "lpad": lambda text, length, fill: (fill * length)[: max(length - len(text), 0)] + text[:length],
    "rpad": lambda text, length, fill: (text + fill * length)[:length],
}

_EXAMPLES = {
    **dict.fromkeys(("ltrim", "rtrim"), "write LTRIM(x, '/')"),
    "replace": "write REPLACE(x, 'abc', 'd'), with at most 8 characters in place of fewer",
    "split_part": "write SPLIT_PART(x, '/', 1)",
    **dict.fromkeys(("lpad", "rpad"), "write LPAD(x, 5, '0')"),
}


def _concat(name: str, arguments: Sequence[Typed]) -> Typed:
    parts = [_as_text(argument) for argument in arguments]
    values: tuple[str, ...] | None = None
    known = [part.kind.values if isinstance(part.kind, Text) else None for part in parts]
    if None not in known and _joined_size([one or () for one in known]) <= LISTED_LIMIT:
        cut = [[text[:LONGEST] for text in one or ()] for one in known]
        values = tuple(sorted({"".join(texts) for texts in product(*cut)}))
    return Typed(Call("concat", tuple(short(_text("||", part)) for part in parts)), Text(values))


def _joined_size(known: Sequence[Sequence[str]]) -> int:
    """Return at least how many characters all joined values have; too many where there are too many."""
    count = prod(map(len, known))
    longest = sum(max(map(len, one), default=0) for one in known)
    return count * (1 + longest) if count <= JOINED_LIMIT else LISTED_LIMIT + 1


def _as_text(argument: Typed) -> Typed:
    """Return what is joined to text as text."""
    argument = settle(argument)
    if isinstance(argument.kind, Whole | Truth | Day):
        return Typed(Call("to_text", (argument.scalar,)), Text(shown_values(argument.kind)))
    return argument


def shown_values(kind: Kind) -> tuple[str, ...] | None:
    """Return the texts of the declared values of a kind."""
    if isinstance(kind, Truth):
        return ("false", "true")
    values = domain(kind)
    return None if values is None or len(values) > JOINED_LIMIT else tuple(sorted(map(str, values)))


def _pattern(name: str, arguments: Sequence[Typed]) -> Typed:
    text = _text(name, arguments[0])
    for argument in arguments[1:]:
        match argument.scalar:
            case Literal(str(pattern)) if pattern.count("%") <= 4 and len(pattern) <= 200:
                pass
            case _:
                raise QueryError(
                    name.upper(),
                    "the pattern must be constant text with at most four %",
                    "write x LIKE 'abc%'",
                )
    constants = tuple(argument.scalar for argument in arguments[1:])
    match constants:
        case (Literal(str(pattern)), Literal(str(escape))) if len(escape) == 1:
            constants = _escaped(pattern, escape)
        case (_, _):
            raise QueryError("ESCAPE", "must be one character", "write LIKE '10!%' ESCAPE '!'")
    return truth(Call(name, (text, *constants)))


def _escaped(pattern: str, escape: str) -> tuple[Literal, ...]:
    """Return the pattern with an escape character of our own, and that character where it is needed.

    Engines that fold case fold the pattern too: with a letter as escape character, other letters would turn
    into it, and what the pattern then means, or that it is an error, would show at some cells only.
    """
    characters = _characters(pattern, escape)
    if not any(itself and character in "%_" for character, itself in characters):
        return (Literal("".join(character for character, _ in characters)),)
    special = ("%", "_", ESCAPE)
    safe = (ESCAPE + c if itself and c in special else c for c, itself in characters)
    return Literal("".join(safe)), Literal(ESCAPE)


def _characters(pattern: str, escape: str) -> list[tuple[str, bool]]:
    """Return what a pattern consists of, each character with whether it stands for itself."""
    found: list[tuple[str, bool]] = []
    rest = iter(pattern)
    for character in rest:
        if character != escape:
            found.append((character, character not in ("%", "_")))
            continue
        following = next(rest, "")
        if following not in ("%", "_", escape):
            raise QueryError(
                "ESCAPE", "must be followed by %, _ or itself in the pattern", "double the escape character"
            )
        found.append((following, True))
    return found


RULES: dict[str, Rule] = {
    **dict.fromkeys(("lower", "upper", "trim"), _change_text),
    **dict.fromkeys(("reverse", "initcap"), _spelled),
    "length": _length,
    **dict.fromkeys(("substring", "left", "right"), _substring),
    "concat": _concat,
    **dict.fromkeys(_PIECES, _piece),
    **dict.fromkeys(("like", "ilike", "starts_with"), _pattern),
}
