"""From text to a parser's tree: what may be in a text at all, and what people of all dialects write.

Comments are left out, a closing semicolon too.  Where a token means one thing in one dialect and nothing in
ours (`TOP 5`, `:name`, back-quoted names, the clause WITH DIFFERENTIAL_PRIVACY) it is replaced by ours before
anything is parsed.  Functions whose arguments stand in another order elsewhere are not interpreted by the
parser: the tree keeps their arguments as they were written.
"""

import re
import unicodedata
from collections import OrderedDict
from dataclasses import dataclass
from itertools import pairwise
from threading import Lock
from typing import TypeAlias

from sqlglot import exp
from sqlglot.dialects.duckdb import DuckDB
from sqlglot.parsers.duckdb import DuckDBParser
from sqlglot.tokenizer_core import Token, TokenType

from discreet.errors import QueryError
from discreet.query.language.bounded import clamped
from discreet.query.language.dialect import Manner, meant, words_of
from discreet.query.language.token import like, split
from discreet.query.language.unreadable import UNREADABLE, reading, unreadable

SIZE_LIMIT = 8_192

NAME = "written"
"""Where a tree keeps the name of a function as it was written."""

MARK = "_"
"""What names of parameters end with in a tree."""

AS_WRITTEN = frozenset(
    (
        *("DATE", "DATE_ADD", "DATEADD", "DATE_SUB", "DATETIME_ADD", "DATETIME_SUB", "TIMESTAMP_ADD"),
        *("TIMESTAMP_SUB", "TIMESTAMPADD", "DATE_DIFF", "DATEDIFF", "DATETIME_DIFF", "TIMESTAMP_DIFF"),
        *("TIMESTAMPDIFF", "DATE_TRUNC", "DATETRUNC", "TIMESTAMP_TRUNC", "DATETIME_TRUNC", "DATE_PART"),
        *("DATEPART", "DATETIME", "TO_DATE", "DECODE", "LOG", "LOG10", "LOG2", "TO_CHAR", "WIDTH_BUCKET"),
        *("ADD_MONTHS", "MONTHS_BETWEEN", "LAST_DAY", "TRUNC", "TRUNCATE", "APPROX_QUANTILES", "QUANTILES"),
        *(
            "WEEKDAY",
            "ISOYEAR",
            "YEAROFWEEKISO",
            "WEEKOFYEAR",
            "WEEKISO",
            "EOMONTH",
            "DATENAME",
            "ISODOW",
            "DAYNAME",
            "MONTHNAME",
            "FORMAT_DATE",
            "STRFTIME",
            "DATE_FORMAT",
        ),
        *("ANY_VALUE", "CONTAINS", "ENDS_WITH", "ENDSWITH", "SAFE_DIVIDE", "NVL2", "CONCAT_WS", "TO_DAYS"),
        *("MAKE_DATE", "DATE_FROM_PARTS", "DATEFROMPARTS"),
        *("FORMAT_TIMESTAMP", "FORMAT_DATETIME", "REGEXP_CONTAINS", "REGEXP_FULL_MATCH"),
        *("BOOL_OR", "BOOL_AND", "LOGICAL_OR", "LOGICAL_AND", "BOOLOR_AGG", "BOOLAND_AGG", "REPEAT"),
        *(
            "CONVERT_TIMEZONE",
            "YEARWEEK",
            "APPROX_TOP_COUNT",
            "APPROX_TOP_K",
            "APPROX_TOP_SUM",
            "FROM_UTC_TIMESTAMP",
            "TIMEZONE",
        ),
        *(
            "PARSE_DATE",
            "STR_TO_DATE",
            "RANGE_BUCKET",
            "TIME_SLICE",
            "TRANSLATE",
            "PI",
            "REVERSE",
            "INITCAP",
            "BITAND",
            "BITOR",
        ),
    )
)
"""Functions whose arguments the parser leaves alone."""


class WrittenDialect(DuckDB):
    """DuckDB's dialect, with the functions of `AS_WRITTEN` uninterpreted; names are kept for refusals."""

    ORIGINAL_NAME_META_KEY = NAME

    class Tokenizer(DuckDB.Tokenizer):
        """The words of this dialect: XOR is one between conditions."""

        KEYWORDS = {**DuckDB.Tokenizer.KEYWORDS, "XOR": TokenType.XOR}  # noqa: RUF012

    class Parser(DuckDBParser):
        """The parser of this dialect."""

        FUNCTIONS = {  # noqa: RUF012
            name: build for name, build in DuckDBParser.FUNCTIONS.items() if name not in AS_WRITTEN
        }
        DISJUNCTION = {**DuckDBParser.DISJUNCTION, TokenType.XOR: exp.Xor}  # noqa: RUF012


_DIALECT = WrittenDialect()


@dataclass(frozen=True, slots=True)
class Written:
    """A text as a tree, with the words of a vendor's privacy clause beside it."""

    tree: exp.Expr
    privacy: tuple[tuple[str, str], ...] | None = None


@reading()
def parsed(text: str, manner: Manner | None = None) -> Written:
    """Return the tree of one statement, refusing what cannot be read in one way only."""
    _printable(text)
    plain = _plain(text) if manner is None else text
    try:
        tokens = _texts(split(plain, _DIALECT), plain) if manner is None else words_of(plain, manner)
    except QueryError:
        raise
    except UNREADABLE:
        raise unreadable() from None
    for token in tokens if manner is not None else ():
        _printable(token.text)
    while tokens and tokens[-1].token_type is TokenType.SEMICOLON:
        tokens.pop()
    if any(token.token_type is TokenType.SEMICOLON for token in tokens):
        raise QueryError(";", "one question is one statement", "ask the questions one at a time")
    tokens, privacy = _without_privacy(clamped(_bare_top(_translated(tokens))))
    for token in tokens:
        place = (token.line, max(token.col - len(token.text) + 1, 1))
        if token.token_type is TokenType.COLON and manner is not None:
            raise QueryError(":", "begins the name of a parameter only", "write :name", place)
    try:
        trees = _DIALECT.parser().parse(tokens, plain)
    except UNREADABLE as problem:
        raise unreadable(*_position(problem)) from None
    if len(trees) != 1 or trees[0] is None:
        raise unreadable()
    tree = trees[0] if manner is None else meant(trees[0], manner)
    _round_trip(tree, _shape(tokens) if manner is None else None)
    return Written(tree, privacy)


def _position(problem: Exception) -> tuple[int, int] | tuple[()]:
    """Return the place of a parser's complaint."""
    for error in getattr(problem, "errors", ()):
        line, column = error.get("line"), error.get("col")
        if isinstance(line, int) and isinstance(column, int):
            return line, column
    return ()


def _printable(text: str) -> None:
    """Refuse a text that is too long, or that holds what nobody sees."""
    if len(text.encode("utf-8", "replace")) > SIZE_LIMIT:
        raise QueryError("the question", f"is longer than {SIZE_LIMIT} bytes", "shorten it or split it")
    if text.isascii() and text.isprintable():
        return
    if any(
        unicodedata.category(character) in ("Cc", "Cf", "Co", "Cs") and character not in "\n\t\r"
        for character in text
    ):
        raise QueryError(
            "the question", "contains invisible or control characters", "retype it as plain text"
        )


def _plain(text: str) -> str:
    """Return a text without comments and back quotes, every other character in its place."""
    return _PIECES.sub(_piece, text)


_PIECES = re.compile(
    r"""(?P<escaped>(?<!\w)[eE]'(?:[^'\\]|\\.|'')*')|(?P<raw>(?<!\w)[rR]'[^'\\]*(?:\\[^'][^'\\]*)*')|(?P<string>'[^']*(?:'|\Z))|(?P<name>"[^"]*(?:"|\Z))|(?P<back>`[^`]*(?:`|\Z))"""
    r"""|(?P<line>--[^\n]*)|(?P<block>/\*.*?(?:\*/|\Z))"""
    r"""|(?P<dollar>(?<![\w$])\$(?P<tag>(?:[^\W\d]\w*)?)\$.*?(?:\$(?P=tag)\$|\Z))""",
    re.DOTALL,
)


def _piece(match: re.Match[str]) -> str:
    found = match.group()
    if match.lastgroup == "raw":
        # A raw text of BigQuery: what stands in it is what it is, as in any text here.
        return " " + found[1:]
    if match.lastgroup == "back":
        if '"' in found or len(found) < 2 or not found.endswith("`"):
            raise QueryError("a name in back quotes", "cannot be read", 'write "name"')
        return f'"{found[1:-1]}"'
    if match.lastgroup == "block" and ("/*" in found[2:] or not found.endswith("*/") or found == "/*/"):
        # Dialects disagree about where such a comment ends.
        raise QueryError(
            "a comment", "inside a comment, or without an end, can be read in two ways", "end it with */"
        )
    if match.lastgroup == "block" and found.startswith("/*+"):
        raise QueryError("a hint", "is not part of a question", "leave it out")
    if match.lastgroup in ("line", "block"):
        return re.sub(r"[^\r\n]", " ", found)
    return found


_ESCAPED = re.compile(r"""[eE]'(?:[^'\\]|''|\\['\\])*'""")
"""A text of PostgreSQL with escapes that clients write: those of quotes and backslashes."""


def _texts(tokens: list[Token], text: str) -> list[Token]:
    """Return the tokens with texts in dollars, and those with escapes, as the plain texts that they are."""
    found: list[Token] = []
    for token in tokens:
        kind = token.token_type
        if kind is TokenType.BYTE_STRING and not _ESCAPED.fullmatch(text[token.start : token.end + 1]):
            raise QueryError(
                "a text with escapes",
                r"has others than \\ and \'",
                "write its characters, without E before it",
            )
        texts = kind in (TokenType.BYTE_STRING, TokenType.HEREDOC_STRING)
        found.append(like(token, TokenType.STRING, token.text) if texts else token)
    return found


def _translated(tokens: list[Token]) -> list[Token]:
    """Return the tokens with TOP and parameters as our dialect has them."""
    found: list[Token] = []
    marks = 0
    for place, token in enumerate(tokens):
        before = tokens[place - 1] if place else None
        after = tokens[place + 1] if place + 1 < len(tokens) else None
        if token.token_type is TokenType.PLACEHOLDER and token.text == "?":
            marks += 1
            found += [like(token, TokenType.PARAMETER, "$"), like(token, TokenType.NUMBER, str(marks))]
            continue
        if found and found[-1].token_type is TokenType.PARAMETER and token.text.isidentifier():
            # Behind the mark even FROM is a name; what is appended keeps it from being a word again.
            token = like(token, TokenType.VAR, f"{token.text}{MARK}")
        elif _names_parameter(before, token, after):
            token = like(token, TokenType.PARAMETER, "$")
        elif _is_top(before, token, tokens[place + 1 : place + 3]):
            token = like(token, TokenType.TOP, token.text)
        elif _is_quotient(before, token, after):
            token = like(token, TokenType.VAR, "QUOTIENT")
        found.append(token)
    return found


def _bare_top(tokens: list[Token]) -> list[Token]:
    """Return the tokens with TOP 5 for TOP (5), which would be multiplied where * follows."""
    for place, token in enumerate(tokens):
        kinds = [one.token_type for one in tokens[place + 1 : place + 4]]
        if token.token_type is TokenType.TOP and kinds == [
            TokenType.L_PAREN,
            TokenType.NUMBER,
            TokenType.R_PAREN,
        ]:
            return [*tokens[: place + 1], tokens[place + 2], *_bare_top(tokens[place + 4 :])]
    return tokens


_ENDS = frozenset(
    (TokenType.VAR, TokenType.IDENTIFIER, TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.NUMBER)
)


def _names_parameter(before: Token | None, token: Token, after: Token | None) -> bool:
    """Whether a colon begins a parameter: nothing stands before it that it could belong to."""
    return (
        token.token_type is TokenType.COLON
        and after is not None
        and after.start == token.end + 1
        and (after.text.isidentifier() or after.token_type is TokenType.NUMBER)
        and before is not None
        and before.token_type not in _ENDS
    )


def _is_top(before: Token | None, token: Token, after: list[Token]) -> bool:
    """Whether a word is the TOP of SELECT TOP 5, and not a column of that name."""
    if token.text.upper() != "TOP" or token.token_type is not TokenType.VAR or before is None:
        return False
    if before.token_type not in (TokenType.SELECT, TokenType.DISTINCT):
        return False
    kinds = [one.token_type for one in after]
    return kinds[:1] == [TokenType.NUMBER] or kinds == [TokenType.L_PAREN, TokenType.NUMBER]


def _is_quotient(before: Token | None, token: Token, after: Token | None) -> bool:
    """Whether a word is the function DIV(a, b), and not the sign of a DIV b."""
    calls = after is not None and after.token_type is TokenType.L_PAREN
    return _word(token) == "DIV" and calls and before is not None and before.token_type not in _ENDS


def _word(token: Token) -> str:
    """Return a token as a word of the language; texts and quoted names are none."""
    quoted = token.token_type in (TokenType.STRING, TokenType.IDENTIFIER)
    return "" if quoted else token.text.upper()


PRIVATE = ("DIFFERENTIAL_PRIVACY", "ANONYMIZATION")
"""What follows WITH in a vendor's privacy clause, now and formerly."""


def _without_privacy(tokens: list[Token]) -> tuple[list[Token], tuple[tuple[str, str], ...] | None]:
    """Return the tokens without the clause WITH DIFFERENTIAL_PRIVACY OPTIONS (...), and what it says."""
    words = [_word(token) for token in tokens]
    said = [n for n, pair in enumerate(pairwise(words)) if pair[0] == "WITH" and pair[1] in PRIVATE]
    at = next(iter(said), None)
    if at is None or at == 0 or words[at - 1] != "SELECT":
        return tokens, None
    if len(said) > 1:
        raise QueryError("WITH DIFFERENTIAL_PRIVACY", "is said twice", "say it once, in the outermost SELECT")
    if words[at + 2 : at + 4] != ["OPTIONS", "("]:
        return tokens[:at] + tokens[at + 2 :], ()
    depth, end = 0, at + 3
    for end in range(at + 3, len(tokens)):
        depth += (words[end] == "(") - (words[end] == ")")
        if depth == 0:
            break
    if depth:
        raise unreadable()
    inside = tokens[at + 4 : end]
    return tokens[:at] + tokens[end + 1 :], _options(inside)


def _options(tokens: list[Token]) -> tuple[tuple[str, str], ...]:
    found: list[tuple[str, str]] = []
    parts: list[list[Token]] = [[]]
    for token in tokens:
        if token.token_type is TokenType.COMMA:
            parts.append([])
        else:
            parts[-1].append(token)
    for part in parts if tokens else []:
        if len(part) < 3 or part[1].text != "=":
            raise QueryError(
                "OPTIONS", "lists name = value pairs", "write OPTIONS (epsilon = 0.5, delta = 1e-9)"
            )
        name = part[0].text.lower()
        name = "max_groups_contributed" if name == "kappa" else name
        if name in (known for known, _ in found):
            raise QueryError(f"OPTIONS, {name}", "is given twice", "give it once")
        if any(one.end + 1 != other.start for one, other in pairwise(part[2:])):
            raise QueryError(f"OPTIONS, {name}", "is more than one value", f"write {name} = 0.5")
        found.append((name, "".join(one.text for one in part[2:])))
    return tuple(found)


_Shape: TypeAlias = tuple[tuple[TokenType, str], ...]
_PLAIN = re.compile(r"[1-9][0-9]{0,14}(?:\.[0-9]{1,15})?|0(?:\.[0-9]{1,15})?")
_PLAIN_TEXT = re.compile(r"[A-Za-z0-9 _.:-]{1,60}")
_COMPARE = frozenset((TokenType.EQ, TokenType.NEQ, TokenType.LT, TokenType.LTE, TokenType.GT, TokenType.GTE))
_survived: OrderedDict[_Shape, None] = OrderedDict()
_turn = Lock()

SHAPES = 256
LONGEST_SHAPE = 256
"""So many of the newest shapes are remembered, of at most so many words each."""


def _shape(tokens: list[Token]) -> _Shape | None:
    """Return the words of a text, plain constants of a kind taken for one; None where there are too many."""
    if len(tokens) > LONGEST_SHAPE:
        return None
    before = (None, *tokens)
    return tuple(
        (token.token_type, "0" if _is_plain(token, last) else token.text)
        for token, last in zip(tokens, before, strict=False)
    )


def _is_plain(token: Token, last: Token | None) -> bool:
    """Whether a word is a plain number, or a plain text that something is compared with."""
    if token.token_type is TokenType.NUMBER:
        return _PLAIN.fullmatch(token.text) is not None
    compared = token.token_type is TokenType.STRING and last is not None and last.token_type in _COMPARE
    return compared and _PLAIN_TEXT.fullmatch(token.text) is not None


def _round_trip(tree: exp.Expr, shape: _Shape | None) -> None:
    """Refuse a tree that does not survive being written and read again: two readings of it exist.

    A plain number is written as it was read and read as one word, and so is a text of letters and digits that
    something is compared with; so a tree survives with any such constants where it has with others, and need
    not be written again.  What is remembered is that and no tree: planned is what the very text was read as.
    """
    with _turn:
        if shape is not None and shape in _survived:
            _survived.move_to_end(shape)
            return
    written = tree.sql(dialect=_DIALECT)
    try:
        again = _DIALECT.parse(written)
    except UNREADABLE:
        again = []
    # Writing changes a tree; nobody needs the second one afterwards.
    if len(again) != 1 or again[0] is None or again[0].sql(_DIALECT, copy=False) != written:
        raise QueryError("the question", "can be read in more than one way", "write it more plainly")
    if shape is not None:
        with _turn:
            _survived[shape] = None
            while len(_survived) > SHAPES:
                _survived.popitem(last=False)
