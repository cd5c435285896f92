"""What is not part of the language: every unexpected attribute of a node, and advice for the rest."""

import re
from difflib import get_close_matches
from typing import Any

from sqlglot import exp

from discreet.errors import QueryError
from discreet.query.language.place import place_of
from discreet.query.language.text import NAME, WrittenDialect
from discreet.query.language.vocabulary import SUPPORTED


def fields(node: exp.Expr, *known: str) -> dict[str, Any]:
    """Return the set attributes of a node, refusing any that is not expected."""
    present = {key: value for key, value in node.args.items() if _is_set(value)}
    for key in present:
        if key not in known:
            part = PARTS.get(key)
            reason = "has a part that is not supported" if part is None else f"is written with {part}"
            raise QueryError(words_of(node), reason, "use its plain form", place_of(node))
    return present


def _is_set(value: Any) -> bool:
    """Whether an attribute says anything; nodes are not compared, which takes long."""
    return isinstance(value, exp.Expr) or value not in (None, False, [], "")


PARTS = {
    "columns": "a list of column names, which is not supported",
    "distinct": "DISTINCT, which is not supported there",
    "ignore_nulls": "IGNORE NULLS, which is not supported",
    "hints": "a hint; hints are not part of a question",
    "version": "a version of the table, which is not supported",
    "when": "a time of the table, which is not supported",
    "pivots": "PIVOT, which is not supported",
    "sample": "a sample, which is not supported",
    "with_": "WITH, which is not supported there",
    "totals": "WITH TOTALS; write ROLLUP",
    "siblings": "SIBLINGS, which is not supported",
    "with_fill": "WITH FILL, which is not supported",
    "expression": "one argument more than it takes",
    "expressions": "more arguments than it takes",
    "length": "one argument more than it takes",
    "zone": "a time zone, which is not supported",
    "collation": "a collation, which is not supported",
    "position": "a place, which is not supported",
    "format": "a format, which is not supported",
    "default": "a value for failures; what cannot be converted is NULL here",
}
"""What people call parts of a construct that are not supported."""


def refusal(node: object) -> QueryError:
    """Return the refusal of a construct that is not part of the language, with the nearest advice."""
    place = place_of(node) if isinstance(node, exp.Expr) else None
    for kinds, words, reason, instead in ADVICE:
        if isinstance(node, kinds):
            return QueryError(words, reason, instead, place)
    words = words_of(node)
    near = get_close_matches(words.upper(), SUPPORTED, 1, 0.7)
    advice = f"did you mean {near[0]}?" if near else f"functions you can use: {', '.join(SUPPORTED)}"
    return QueryError(
        words, "is not one of the functions and clauses that can be made private", advice, place
    )


ADVICE: tuple[tuple[tuple[type, ...], str, str, str], ...] = (
    (
        (exp.Window,),
        "a window function",
        "over rows of people lets one row see other people's rows",
        "use it over aggregates, or use GROUP BY, or a subquery grouped by the person",
    ),
    (
        (exp.Subquery, exp.Select, exp.Exists),
        "a subquery inside an expression",
        "would let one person change every row",
        "join a subquery grouped by the person",
    ),
    (
        (exp.SetOperation,),
        "UNION, INTERSECT or EXCEPT",
        "would count a person in several places",
        "use a condition with OR, or one question each",
    ),
    (
        (exp.Rand,),
        "RANDOM",
        "randomness inside a question is not private noise",
        "leave it out; the answer gets exact noise",
    ),
    (
        (exp.RegexpLike, exp.RegexpILike, exp.RegexpReplace, exp.SimilarTo),
        "a regular expression",
        "takes time that depends on the data",
        "use LIKE",
    ),
    (
        (exp.Overlaps,),
        "OVERLAPS",
        "is not supported",
        "compare the ends: WHERE begun < DATE '2024-03-01' AND ended > DATE '2024-02-01'",
    ),
    (
        (exp.Values,),
        "VALUES",
        "is a table that the manifest does not declare",
        "say it with CASE WHEN ward = 'A' THEN 'first' ELSE 'other' END, or ask for a public table",
    ),
    (
        (exp.RegexpExtract, exp.RegexpExtractAll),
        "a part that matches a regular expression",
        "is looked for in time that depends on the data",
        "cut the text at places or signs: SUBSTRING(x, 1, 3), LEFT(x, 2), SPLIT_PART(x, '-', 1)",
    ),
    (
        (exp.Placeholder, exp.Parameter),
        "a parameter",
        "has no value",
        "give it with parameters=..., or write the constant",
    ),
    (
        (exp.ArrayAgg, exp.ArrayUniqueAgg, exp.List),
        "a list of values",
        "shows what single rows hold",
        "group by the column, and count: SELECT x, COUNT(*) AS n FROM t GROUP BY x",
    ),
    (
        (exp.MD5, exp.MD5Digest, exp.SHA, exp.SHA2),
        "a hash",
        "hides nothing: whoever guesses a value can check the guess",
        "use the column itself",
    ),
    ((exp.Lambda,), "a function of your own", "is not supported", "use the supported functions"),
    ((exp.Star,), "*", "a private row cannot be released", "list aggregates such as COUNT(*)"),
    (
        (
            *(exp.Set, exp.Pragma, exp.Command, exp.Copy, exp.Attach, exp.Detach, exp.Create, exp.Insert),
            *(exp.Update, exp.Delete, exp.Drop, exp.Describe, exp.Show, exp.Use, exp.Alter, exp.Merge),
        ),
        "a statement",
        "only SELECT can be asked",
        "ask a question",
    ),
)
"""Constructs that are not part of the language: what people call them, why, and what works instead."""


CLAUSES = {
    "windows": (
        "window functions let one row see other people's rows",
        "use GROUP BY, or a subquery grouped by the person",
    ),
    "sample": (
        "sampling inside a question is not supported",
        "ask about all rows; the noise is small on large data",
    ),
    "hint": ("hints are not part of a question", "leave them out"),
    "into": ("a question cannot write", "save the answer where you asked for it"),
    "locks": ("a question cannot lock", "leave it out"),
    "laterals": ("lateral joins are not supported", "join on the person's column"),
    "pivots": ("pivots are not supported", "use GROUP BY with several columns"),
    "match": ("pattern matching over rows is not supported", "use a subquery grouped by the person"),
    "connect": ("recursive questions are not supported", "use joins"),
    "prewhere": ("is not supported", "use WHERE"),
    "cluster": ("is not supported", "leave it out"),
    "distribute": ("is not supported", "leave it out"),
    "sort": ("is not supported", "use ORDER BY"),
    "settings": ("a question cannot change settings", "leave it out"),
    "format": ("a question cannot choose a format", "convert the answer afterwards"),
    "options": ("a question cannot set options", "leave them out"),
    "kind": ("SELECT AS is not supported", "list the columns"),
    "operation_modifiers": ("is not supported", "leave it out"),
    "exclude": ("is not supported", "list the columns you want"),
}
"""Clauses of SELECT that are not part of the language: why, and what works instead."""

CLAUSE_WORDS = {
    "windows": "WINDOW",
    "sample": "SAMPLE",
    "locks": "FOR UPDATE",
    "laterals": "LATERAL",
    "pivots": "PIVOT",
}
"""What people call clauses that a parser calls otherwise."""


def words_of(node: object) -> str:
    """Return what people call a construct: the name of a function, and otherwise what they wrote."""
    match node:
        case exp.Anonymous():
            return str(node.this)[:40]
        case exp.Func() if not isinstance(node, exp.Connector | exp.Binary | exp.Array):
            return str(node.meta.get(NAME) or node.sql_name())[:40]
        case exp.Expr():
            for kinds, words, _, _ in ADVICE:
                if isinstance(node, kinds):
                    return words
            return _shortened(node)
        case _:
            return "the question"


def _shortened(node: exp.Expr) -> str:
    try:
        text = " ".join(node.sql(dialect=WrittenDialect).split())
    except (ValueError, AttributeError, KeyError, TypeError, RecursionError):
        text = ""
    return "the question" if not text else text if len(text) <= 60 else f"{text[:57]}..."


WRITTEN = {
    "a window function": r"\bOVER\b",
    "a subquery for a value": r"\(\s*SELECT\b",
    "GROUP BY in a subquery": r"\(\s*SELECT\b",
    "STRING_AGG": r"\b(LISTAGG|GROUP_CONCAT)\b",
    "QUANTILE": r"\b(PERCENTILE|APPROX_)\w*",
    "OPTIONS": r"\bOPTIONS\b",
    "a list of constants in FROM": r"\b(GENERATE_SERIES|GENERATE_DATE_ARRAY|UNNEST|VALUES|RANGE)\b",
    "the first, last or any value": r"\b(FIRST|LAST|ANY_VALUE|ARG_MIN|ARG_MAX|MIN_BY|MAX_BY)\b",
    "privacy_unit_column": r"\bprivacy_unit_column\b",
    "the question": r"^\s*\b(INSERT|UPDATE|DELETE|CREATE|DROP|ALTER|MERGE)\b",
}
"""How a text can write what a refusal calls by other words."""


def located(refused: QueryError, text: str) -> QueryError:
    """Return a refusal with the place of its clause: the first one, outside of subqueries where it is there.

    What is refused once a question is read as a whole is most often a part of its outermost SELECT.
    """
    words = r"\s+".join(re.escape(word) for word in refused.clause.split())
    kin = (pattern for start, pattern in WRITTEN.items() if refused.clause.startswith(start))
    plain = _QUOTED.sub(lambda found: re.sub(r"[^\n]", "\0", found.group()), text)
    for pattern, inside in ((rf"(?<!\w){words}(?!\w)", text), *((one, plain) for one in kin)):
        found = list(re.finditer(pattern, plain, re.IGNORECASE)) or (
            list(re.finditer(pattern, inside, re.IGNORECASE))
        )
        if found:
            break
    else:
        return refused
    start = min(found, key=lambda one: (_depth(plain, one.start()), one.start())).start()
    before = text[:start]
    return refused.at((before.count("\n") + 1, start - before.rfind("\n")))


_QUOTED = re.compile(r"'[^']*'|--[^\n]*|/\*.*?\*/", re.DOTALL)
"""Constants and comments, in which no clause stands."""


def _depth(text: str, place: int) -> int:
    """Return inside how many subqueries a place is."""
    opened: list[bool] = []
    for found in re.finditer(r"\(\s*(?:SELECT|WITH)\b|\(|\)", text[:place], re.IGNORECASE):
        if found.group() == ")":
            opened = opened[:-1]
        else:
            opened.append(len(found.group()) > 1)
    return sum(opened)
