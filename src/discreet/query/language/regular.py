"""Regular expressions that are patterns in disguise.

A general expression is matched in time that depends on the data.  Many that people write consist of plain
characters, `.`, `.*`, `.+`, anchors and alternatives at the top; these are the same as LIKE patterns, which
every engine matches in linear time.  The others are refused.
"""

from discreet.errors import QueryError
from discreet.query.plan import Call, Literal, Scalar

SPECIAL = frozenset("()[]{}?+*^$|\\.")

ESCAPED = SPECIAL | frozenset("-/@ ")
"""Characters that stand for themselves after a backslash."""

ALTERNATIVES = 16


def matched(text: Scalar, pattern: Scalar, *, whole: bool = False, insensitive: bool = False) -> Scalar:
    """Return the condition that a text contains a match, or with `whole` is one."""
    match pattern:
        case Literal(str(expression)):
            pass
        case _:
            raise _refused("is not constant")
    if expression.startswith("(?i)"):
        expression, insensitive = expression.removeprefix("(?i)"), True
    options = _alternatives(expression)
    found = [_like(text, option, whole=whole, insensitive=insensitive) for option in options]
    return found[0] if len(found) == 1 else Call("or", tuple(found))


def similar(text: Scalar, pattern: Scalar) -> Scalar:
    """SIMILAR TO with nothing but what LIKE has, and alternatives."""
    match pattern:
        case Literal(str(expression)) if not set(expression) & set("()[]{}?+*\\"):
            found = [Call("like", (text, Literal(option))) for option in expression.split("|")]
            if len(found) <= ALTERNATIVES:
                return found[0] if len(found) == 1 else Call("or", tuple(found))
    raise _refused("is more than a pattern with alternatives")


def _refused(why: str) -> QueryError:
    return QueryError(
        "a regular expression", f"{why}, and would take time that depends on the data", "use LIKE"
    )


def _alternatives(expression: str) -> list[str]:
    """Return the alternatives of an expression; a group around all of them is taken off."""
    before = "^" if expression.startswith("^(") else ""
    after = "$" if expression.endswith(")$") else ""
    inner = expression[len(before) : len(expression) - len(after)]
    if inner.startswith("(") and inner.endswith(")") and "(" not in inner[1:]:
        body = inner[1:-1].removeprefix("?:")
        options = [f"{before}{option}{after}" for option in _split(body)]
    elif before or after:
        raise _refused("has groups")
    else:
        options = _split(expression)
    if len(options) > ALTERNATIVES:
        raise _refused(f"has more than {ALTERNATIVES} alternatives")
    return options


def _split(expression: str) -> list[str]:
    found, escaped = [""], False
    for character in expression:
        if character == "|" and not escaped:
            found.append("")
        else:
            found[-1] += character
        escaped = character == "\\" and not escaped
    return found


def _like(text: Scalar, expression: str, *, whole: bool, insensitive: bool) -> Scalar:
    rest = expression.removeprefix("^")
    found = [] if whole or rest != expression else ["%"]
    place, ends = 0, whole
    while place < len(rest):
        character, following = rest[place], rest[place + 1 : place + 2]
        if character == "." and following in ("*", "+"):
            found += ["%"] if following == "*" else ["_", "%"]
            place += 2
        elif character == ".":
            found.append("_")
            place += 1
        elif character == "\\" and following in ESCAPED:
            found.append(_plain(following))
            place += 2
        elif character == "$" and not following:
            ends, place = True, place + 1
        elif character in SPECIAL:
            raise _refused("is more than characters, dots, anchors and alternatives")
        else:
            found.append(_plain(character))
            place += 1
        if rest[place : place + 1] in ("*", "+", "?", "{"):
            raise _refused("repeats more than a dot")
    found += [] if ends else ["%"]
    # Any text after any text is any text.
    kept = [part for place, part in enumerate(found) if part != "%" or found[place - 1 : place] != ["%"]]
    return Call("ilike" if insensitive else "like", (text, Literal("".join(kept)), Literal("!")))


def _plain(character: str) -> str:
    return f"!{character}" if character in "%_!" else character
