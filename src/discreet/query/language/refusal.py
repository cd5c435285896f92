"""What is not part of the language: every unexpected attribute of a node, and advice for the rest."""

from difflib import get_close_matches
from typing import Any

from sqlglot import exp

from discreet.errors import QueryError
from discreet.query.language.vocabulary import SUPPORTED


def fields(node: exp.Expr, *known: str) -> dict[str, Any]:
    """Return the set attributes of a node, refusing any that is not expected."""
    present = {key: value for key, value in node.args.items() if value not in (None, False, [], "")}
    for key in present:
        if key not in known:
            raise QueryError(
                words_of(node),
                f"is written with {key.upper().strip('_')}, which is not supported",
                "use its plain form",
            )
    return present


def refusal(node: object) -> QueryError:
    """Return the refusal of a construct that is not part of the language, with the nearest advice."""
    for kinds, reason, instead in ADVICE:
        if isinstance(node, kinds):
            return QueryError(words_of(node), reason, instead)
    words = words_of(node)
    near = get_close_matches(words.upper(), SUPPORTED, 1, 0.7)
    advice = f"did you mean {near[0]}?" if near else f"functions you can use: {', '.join(SUPPORTED)}"
    return QueryError(words, "is not one of the functions and clauses that can be made private", advice)


ADVICE: tuple[tuple[tuple[type, ...], str, str], ...] = (
    (
        (exp.Window,),
        "window functions let one row see other people's rows",
        "use GROUP BY, or a subquery grouped by the person",
    ),
    (
        (exp.Subquery, exp.Select, exp.Exists, exp.SetOperation),
        "a subquery inside an expression would let one person change every row",
        "join a subquery grouped by the person",
    ),
    (
        (exp.Rand,),
        "randomness inside a question is not private noise",
        "leave it out; the answer gets exact noise",
    ),
    (
        (exp.RegexpLike, exp.RegexpExtract),
        "regular expressions take time that depends on the data",
        "use LIKE",
    ),
    ((exp.Placeholder, exp.Parameter), "parameters are not supported", "write the constant"),
    ((exp.Lambda,), "functions of your own are not supported", "use the supported functions"),
    ((exp.Star,), "a private row cannot be released", "list aggregates such as COUNT(*)"),
    (
        (exp.Set, exp.Pragma, exp.Command, exp.Copy, exp.Attach, exp.Create, exp.Insert),
        "only SELECT can be asked",
        "ask a question",
    ),
)


def place_of(node: exp.Expr) -> tuple[int, int] | None:
    """Return the line and column where a construct begins, as far as the parser remembers."""
    found = [
        (int(meta["start"]), int(meta["line"]), int(meta["col"]) - int(meta["end"]) + int(meta["start"]))
        for meta in (part.meta for part in node.walk())
        if {"start", "line", "col", "end"} <= meta.keys()
    ]
    return min(found)[1:] if found else None


def words_of(node: object) -> str:
    """Return what people call a construct."""
    match node:
        case exp.Anonymous():
            return str(node.this)[:40]
        case exp.Func():
            return node.sql_name()
        case _:
            return type(node).__name__.upper()
