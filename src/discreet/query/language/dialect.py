"""Dialects by name: how a text is split into words, and the few words that mean something else there.

The words themselves are read by the one reader of SQL, so a dialect adds no second way to a meaning: what it
does not change is standard, nothing is left out on the way, and a refusal points into the text as it was
written.  A dialect is spelling only.  Everywhere alike, NULL is sorted last, texts are compared character by
character, and dividing released values is the division of numbers.
"""

import re
from dataclasses import dataclass

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.tokenizer_core import Token, TokenType

from discreet.errors import ParameterError, QueryError
from discreet.query.language.place import place_of
from discreet.query.language.server import applied, converted
from discreet.query.language.token import quoted, split
from discreet.query.language.vocabulary import UNITS


@dataclass(frozen=True, slots=True)
class Manner:
    """What a dialect says in its own way.

    `words` names who splits its texts.  `log` is the base of LOG(x), `base_last` whether LOG(x, base) is
    meant.  `sunday` is the number of that day, None where Monday is 1; `weeks` whether weeks are those of
    ISO.  `whole` says that dividing whole numbers leaves a whole number, `power` that ^ is one, `pipes` that
    || joins texts, `plus` that + does and that CONVERT names its type first; `letters` that formats of dates
    are written yyyy-MM, `unit_last` that functions of dates name their unit last.  `names` are functions that
    we call otherwise.
    """

    words: str
    log: str = ""
    base_last: bool = False
    sunday: int | None = 0
    weeks: bool = True
    whole: bool = False
    power: bool = False
    pipes: bool = True
    plus: bool = False
    letters: bool = False
    unit_last: bool = False
    names: tuple[tuple[str, str], ...] = ()


_PASSED = (("TIMESTAMPDIFF", "WHOLE_UNITS"),)
"""Where TIMESTAMPDIFF counts units that have passed, and not boundaries."""

_SPARK = Manner("spark", "e", sunday=1, letters=True, names=_PASSED)
_POSTGRES = Manner("postgres", "10", whole=True, power=True)
_POPULATION = (("VARIANCE", "VAR_POP"), ("STDDEV", "STDDEV_POP"), ("STD", "STDDEV_POP"))
_MYSQL = Manner("mysql", "e", sunday=1, weeks=False, pipes=False, names=(*_POPULATION, *_PASSED))
_TRINO = Manner("trino", sunday=None, whole=True)
_SERVER = Manner(
    "tsql",
    "e",
    base_last=True,
    sunday=1,
    weeks=False,
    whole=True,
    plus=True,
    letters=True,
    names=(("COUNT_BIG", "COUNT"),),
)

DIALECTS: dict[str, Manner | None] = {
    **dict.fromkeys(("standard", "duckdb")),
    "bigquery": Manner("bigquery", "e", base_last=True, sunday=1, weeks=False, unit_last=True),
    "snowflake": Manner("snowflake", names=(("TIMESTAMPDIFF", "DATEDIFF"), ("TIMEDIFF", "DATEDIFF"))),
    **dict.fromkeys(("postgres", "postgresql"), _POSTGRES),
    "redshift": Manner("redshift", "10", whole=True, power=True),
    "spark": _SPARK,
    "databricks": Manner("databricks", "e", sunday=1, letters=True, names=_PASSED),
    **dict.fromkeys(("tsql", "mssql", "sqlserver"), _SERVER),
    **dict.fromkeys(("mysql", "mariadb"), _MYSQL),
    "oracle": Manner("oracle"),
    "sqlite": Manner("sqlite", "10", whole=True),
    **dict.fromkeys(("trino", "presto", "athena"), _TRINO),
}
"""The dialects that a question may be written in; None is what is read without naming one."""


def manner_of(dialect: str | None) -> Manner | None:
    """Return what a dialect of this name says in its own way."""
    if dialect is None:
        return None
    found = dialect.lower() if isinstance(dialect, str) else ""
    if found not in DIALECTS:
        raise ParameterError(f"dialect must be one of {', '.join(DIALECTS)}, got {dialect!r}")
    return DIALECTS[found]


_TEXTS = (TokenType.RAW_STRING, TokenType.NATIONAL_STRING, TokenType.HEREDOC_STRING)


_CODES = (TokenType.UNICODE_STRING, TokenType.HEX_STRING, TokenType.BIT_STRING)
_ESCAPING = ("postgres", "redshift")
"""Where E'...' is a text with escapes; elsewhere such texts are bytes."""


def words_of(text: str, manner: Manner) -> list[Token]:
    """Return the words of a text as our reader calls them."""
    found: list[Token] = []
    for token in split(text, Dialect.get_or_raise(manner.words)):
        _readable(token, manner)
        kind, word = token.token_type, token.text
        if kind in _TEXTS or (kind is TokenType.BYTE_STRING and manner.words in _ESCAPING):
            kind = TokenType.STRING
        elif kind is TokenType.TIMESTAMPTZ and manner.words == "bigquery":
            # A moment is one in UTC there, as it is here.
            kind = TokenType.TIMESTAMP
        elif kind is TokenType.PARAMETER:
            word = "$"
        elif dict(manner.names).get(word.upper()) and not quoted(token):
            kind, word = TokenType.VAR, dict(manner.names)[word.upper()]
        # A new word has no comments: what people note down is not part of a question.
        found.append(Token(kind, word, token.line, token.col, token.start, token.end))
    found = _separated(found) if manner.words == "mysql" else found
    found = _exact(found) if manner.words == "redshift" else found
    return applied(converted(found)) if manner.plus else found


def _exact(tokens: list[Token]) -> list[Token]:
    """Return the words without APPROXIMATE before an aggregate: what gets noise need not be approximate."""
    kept = zip(tokens, [*tokens[1:], None], strict=True)
    return [
        one
        for one, after in kept
        if quoted(one)
        or one.text.upper() != "APPROXIMATE"
        or after is None
        or after.text.upper() not in ("COUNT", "PERCENTILE_DISC")
    ]


def _readable(token: Token, manner: Manner) -> None:
    """Refuse what this dialect means otherwise than our reader would."""
    place = (token.line, max(token.col - len(token.text) + 1, 1))
    kind = token.token_type
    for comment in token.comments:
        if comment.startswith("!"):
            raise QueryError("a comment /*! ... */", "is run by some servers", "leave it out", place)
        if "/*" in comment or "*/" in comment:
            raise QueryError("a comment", "inside a comment can be read in two ways", "end it with */", place)
    if kind is TokenType.CARET and not manner.power:
        raise QueryError("^", "compares bits in this dialect", "write POWER(x, 2)", place)
    if kind is TokenType.DPIPE and not manner.pipes:
        raise QueryError("||", "means OR in this dialect", "write OR, or CONCAT(a, b) for texts", place)
    if kind in _CODES or (kind is TokenType.BYTE_STRING and manner.words not in _ESCAPING):
        raise QueryError("a text of bytes or codes", "is not supported", "write its characters", place)
    if token.text.upper() == "KEEP" and manner.words == "oracle" and not quoted(token):
        raise QueryError(
            "KEEP",
            "picks rows by an order",
            "write MAX_BY(x, day) for the last, MIN_BY(x, day) for the first",
            place,
        )
    if kind is TokenType.HINT:
        raise QueryError("a hint", "is not part of a question", "leave it out", place)


def meant(tree: exp.Expr, manner: Manner) -> exp.Expr:
    """Return a tree in which the words of a dialect are those of our reader, changed in place."""
    for node in reversed(list(tree.walk(bfs=False))):
        for rule in (_unit, _logarithm, _week, _joined, _divided, _format, _pattern, _every, _sized):
            try:
                other = rule(node, manner)
            except QueryError as refused:
                raise refused.at(place_of(node)) from None
            if other is not node:
                node.replace(other)
                break
    return tree


def _name(node: exp.Expr) -> str:
    return str(node.this).upper() if isinstance(node, exp.Anonymous) else ""


def _logarithm(node: exp.Expr, manner: Manner) -> exp.Expr:
    if _name(node) != "LOG":
        return node
    parts = node.expressions
    if len(parts) == 2:
        value, base = parts if manner.base_last else parts[::-1]
        return exp.Paren(this=exp.Div(this=exp.Ln(this=value), expression=exp.Ln(this=base)))
    if len(parts) == 1 and manner.log:
        return exp.Ln(this=parts[0]) if manner.log == "e" else exp.Anonymous(this="LOG10", expressions=parts)
    return node


_WEEKDAYS = ("DAYOFWEEK", "DAY_OF_WEEK", "DOW", "DW", "WEEKDAY")
_SHORT = {
    **dict.fromkeys(("YY", "YYYY"), "year"),
    **dict.fromkeys(("QQ", "Q"), "quarter"),
    **dict.fromkeys(("MM", "M"), "month"),
    **dict.fromkeys(("DD", "D"), "day"),
    **dict.fromkeys(("DY", "Y"), "dayofyear"),
    **dict.fromkeys(("HH",), "hour"),
    **dict.fromkeys(("MI", "N"), "minute"),
    **dict.fromkeys(("SS", "S"), "second"),
    **dict.fromkeys(("ISO_WEEK", "ISOWK", "ISOWW"), "isoweek"),
}
_DATES = {
    **dict.fromkeys(("DATEPART", "DATE_PART"), 2),
    **dict.fromkeys(("DATE_TRUNC", "DATETRUNC", "TIMESTAMP_TRUNC", "DATETIME_TRUNC"), 2),
    **dict.fromkeys(("DATE_DIFF", "DATEDIFF", "TIMESTAMP_DIFF", "DATETIME_DIFF", "DATEADD"), 3),
}
"""Functions of dates that name a unit of time, with how many arguments."""


def _unit(node: exp.Expr, manner: Manner) -> exp.Expr:
    """Quote the unit of time and put it first, so that nobody takes it for a column."""
    parts = node.expressions
    if _DATES.get(_name(node)) != len(parts):
        return node
    first, *rest = (parts[-1], *reversed(parts[:-1])) if manner.unit_last else parts
    word = _word(first)
    if word in UNITS or word in _WEEKDAYS or (manner.plus and word in _SHORT):
        unit = _SHORT[word] if manner.plus and word in _SHORT else word.lower()
        node.set("expressions", [exp.Literal.string(unit), *rest])
    return node


def _week(node: exp.Expr, manner: Manner) -> exp.Expr:
    """Days and weeks of the week: where Sunday stands, and where a week begins."""
    if isinstance(node, exp.DayOfWeek):
        return _weekday(node.this, manner)
    if _name(node) == "WEEKDAY" and len(node.expressions) == 1 and manner.words in _MONDAY_IS_ZERO:
        return exp.Paren(this=exp.Sub(this=_iso(node.expressions[0]), expression=exp.Literal.number(1)))
    unit, subject = _asked(node)
    if unit in _WEEKDAYS and subject is not None:
        return _weekday(subject, manner)
    if unit in ("WEEK", "WK", "WW") and not manner.weeks:
        raise QueryError(
            unit, "begins on Sunday in this dialect", "write ISOWEEK, as in EXTRACT(ISOWEEK FROM d)"
        )
    return node


_MONDAY_IS_ZERO = ("mysql", "spark", "databricks")


def _word(node: exp.Expr) -> str:
    """Return a unit of time as it was written, bare or quoted."""
    bare = isinstance(node, exp.Column) and not node.args.get("table")
    return node.name.upper() if bare or isinstance(node, exp.Literal | exp.Var) else ""


def _asked(node: exp.Expr) -> tuple[str, exp.Expr | None]:
    """Return the unit in which a date is asked about, and the date where a part of it is asked for."""
    if isinstance(node, exp.Extract):
        return _word(node.this), node.expression
    if isinstance(node, exp.Week):
        return "WEEK", node.this
    if _DATES.get(_name(node)) != len(node.expressions) or _name(node) == "DATEADD":
        return "", None
    return _word(node.expressions[0]), node.expressions[1] if "PART" in _name(node) else None


def _iso(subject: exp.Expr) -> exp.Expr:
    return exp.Anonymous(this="ISODOW", expressions=[subject])


def _weekday(subject: exp.Expr, manner: Manner) -> exp.Expr:
    if manner.sunday is None:
        return _iso(subject)
    plain = exp.DayOfWeek(this=subject)
    if not manner.sunday:
        return plain
    return exp.Paren(this=exp.Add(this=plain, expression=exp.Literal.number(manner.sunday)))


def _joined(node: exp.Expr, manner: Manner) -> exp.Expr:
    if manner.plus and isinstance(node, exp.Add) and (_is_text(node.this) or _is_text(node.expression)):
        return exp.DPipe(this=node.this, expression=node.expression, safe=True)
    return node


def _is_text(node: exp.Expr) -> bool:
    match node:
        case exp.Literal():
            return bool(node.is_string)
        case exp.Paren():
            return _is_text(node.this)
        case exp.DPipe() | exp.Concat() | exp.Lower() | exp.Upper() | exp.Trim() | exp.Substring():
            return True
        case exp.Left() | exp.Right():
            return True
        case exp.Add():
            return _is_text(node.this) or _is_text(node.expression)
        case exp.Cast():
            return node.to.this in exp.DataType.TEXT_TYPES
        case _:
            return False


def _sized(node: exp.Expr, manner: Manner) -> exp.Expr:
    """Return a text of at most so many characters as that many of the text."""
    if not isinstance(node, exp.Cast) or node.to.this not in exp.DataType.TEXT_TYPES:
        return node
    sizes = node.to.expressions
    size = str(sizes[0].name) if len(sizes) == 1 else ""
    node.set("to", exp.DataType.build("text"))
    return exp.Left(this=node.copy(), expression=exp.Literal.number(size)) if size.isdecimal() else node


def _divided(node: exp.Expr, manner: Manner) -> exp.Expr:
    if not manner.whole or not isinstance(node, exp.Div) or node.find(exp.AggFunc) is not None:
        return node
    if not _is_real(node.this) and not _is_real(node.expression):
        # Whether both are whole is known once their columns are.
        node.set("typed", True)
    return node


def _is_real(node: exp.Expr) -> bool:
    """Whether a number is none of the whole ones by the way it is written."""
    match node:
        case exp.Literal():
            return not node.is_string and not str(node.this).isdecimal()
        case exp.Paren() | exp.Neg() | exp.Abs():
            return _is_real(node.this)
        case exp.Add() | exp.Sub() | exp.Mul() | exp.Div():
            return _is_real(node.this) or _is_real(node.expression)
        case exp.Cast():
            return node.to.this in exp.DataType.REAL_TYPES
        case exp.Sqrt() | exp.Ln() | exp.Exp():
            return True
        case _:
            return False


_LETTERS: dict[str, str] = {
    "yyyy": "%Y",
    "MM": "%m",
    "dd": "%d",
    "HH": "%H",
    "mm": "%M",
    "ss": "%S",
    "MMMM": "%B",
    "MMM": "%b",
    "EEEE": "%A",
    "EEE": "%a",
    "E": "%a",
    "dddd": "%A",
    "ddd": "%a",
}


def _format(node: exp.Expr, manner: Manner) -> exp.Expr:
    """DATE_FORMAT(d, 'yyyy-MM') and FORMAT(d, 'yyyy-MM')."""
    parts = [node.this, *node.expressions] if isinstance(node, exp.Format) else node.expressions
    named = isinstance(node, exp.Format) or _name(node) == "DATE_FORMAT"
    if not manner.letters or not named or len(parts) != 2:
        return node
    day, form = parts
    pieces = re.findall(r"([A-Za-z])(\1*)|([^A-Za-z]+)", form.name) if isinstance(form, exp.Literal) else []
    said = [other or _LETTERS.get(letter + more) for letter, more, other in pieces]
    if not said or None in said or "%" in form.name:
        raise QueryError(
            _name(node) or "FORMAT", "has a format that is not supported", "write a format such as 'yyyy-MM'"
        )
    text = exp.Literal.string("".join(word or "" for word in said))
    return exp.Anonymous(this="STRFTIME", expressions=[day, text])


_BACKSLASHED = ("postgres", "redshift", "mysql", "bigquery", "spark", "databricks")
"""Where a backslash in a pattern takes the meaning from the sign behind it, without ESCAPE."""


def _pattern(node: exp.Expr, manner: Manner) -> exp.Expr:
    if not isinstance(node, exp.Like | exp.ILike) or not isinstance(node.expression, exp.Literal):
        return node
    if manner.plus and "[" in node.expression.name:
        raise QueryError(
            "[ in LIKE", "begins a set of characters in this dialect", "write one LIKE for each, with OR"
        )
    plain = "\\" not in node.expression.name or isinstance(node.parent, exp.Escape)
    if plain or manner.words not in _BACKSLASHED:
        return node
    return exp.Escape(this=node.copy(), expression=exp.Literal.string("\\"))


_FIRST_ALONE = ("postgres", "sqlite", "tsql")
"""Where REGEXP_REPLACE replaces the first match alone, or is not known."""


def _every(node: exp.Expr, manner: Manner) -> exp.Expr:
    """REGEXP_REPLACE(x, p, y) where it replaces every match."""
    plain = isinstance(node, exp.RegexpReplace) and node.args.get("modifiers") is None
    if plain and manner.words not in _FIRST_ALONE:
        node.set("modifiers", exp.Literal.string("g"))
    return node


def _separated(tokens: list[Token]) -> list[Token]:
    """Return the words with GROUP_CONCAT(x ORDER BY y SEPARATOR ',') as GROUP_CONCAT(x, ',' ORDER BY y)."""
    found = list(tokens)
    for at in range(len(found) - 2):
        after = found[at + 1 : at + 3]
        ends = [token.token_type for token in after] == [TokenType.STRING, TokenType.R_PAREN]
        if found[at].text.upper() != "SEPARATOR" or quoted(found[at]) or not ends:
            continue
        depth, place = 0, at
        for before in range(at - 1, -1, -1):
            kind = found[before].token_type
            depth += (kind is TokenType.R_PAREN) - (kind is TokenType.L_PAREN)
            if depth < 0:
                break
            if depth == 0 and kind is TokenType.ORDER_BY:
                place = before
        mark = found[at]
        comma = Token(TokenType.COMMA, ",", mark.line, mark.col, mark.start, mark.end)
        found[place : at + 2] = [comma, after[0], *found[place:at]]
    return found
