"""Bounds as vendors write them inside an aggregate, replaced by functions before anything is parsed.

BigQuery says SUM(x, contribution_bounds_per_row => (0, 100)), and said ANON_SUM(x CLAMPED BETWEEN 0 AND 100):
both are CLAMP of what is aggregated.  SUM(x, contribution_bounds_per_group => (0, 100)) bounds what a person
adds to a group, which is BOUNDED_PER_GROUP(SUM(x), 0, 100) here.
"""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from sqlglot.tokenizer_core import Token, TokenType

from discreet.errors import QueryError
from discreet.query.language.constant import settled
from discreet.query.language.token import like
from discreet.query.plan import Aggregate, Call, Literal, Scalar

PER_ROW, PER_GROUP = "CONTRIBUTION_BOUNDS_PER_ROW", "CONTRIBUTION_BOUNDS_PER_GROUP"

ANONYMOUS = {
    **{f"ANON_{name}": name for name in ("COUNT", "SUM", "AVG", "VAR_POP", "STDDEV_POP", "PERCENTILE_CONT")},
    "ANON_QUANTILES": "APPROX_QUANTILES",
}
"""The aggregates of the clause WITH ANONYMIZATION, and their own names."""

LEVELLED = ("APPROX_QUANTILES", "PERCENTILE_CONT", "PERCENTILE_DISC")
"""Aggregates that take a number after what is aggregated."""


def clamped(tokens: list[Token]) -> list[Token]:
    """Return the tokens with CLAMP in place of bounds that stand in the arguments of an aggregate."""
    found = [_renamed(token, tokens[place + 1 : place + 2]) for place, token in enumerate(tokens)]
    anonymous = {id(one) for one, other in zip(found, tokens, strict=True) if one is not other}
    place = 0
    while place < len(found):
        word = _word(found[place]) if _follows(found, place, "=>", "BETWEEN") else ""
        if word in (PER_ROW, PER_GROUP, "CLAMPED"):
            opened = _opened(found, place)
            if word == PER_GROUP:
                found = _outside(found, opened, place)
            elif word == PER_ROW or (opened > 0 and id(found[opened - 1]) in anonymous):
                found = _rewritten(found, opened, place)
        place += 1
    return found


def _rewritten(tokens: list[Token], opened: int, place: int) -> list[Token]:
    """Return f(x, bounds) as f(CLAMP(x, low, high)), and f(x, 4, bounds) as f(CLAMP(x, low, high), 4)."""
    named = _word(tokens[place]) == PER_ROW
    closed = _closed(tokens, place)
    value = tokens[opened + 1 : place - named]
    rest: list[Token] = []
    if opened > 0 and _word(tokens[opened - 1]) in LEVELLED:
        value, rest = _parted(value)
    bounds = tokens[place + 2 : closed]
    ends = _listed(bounds) if named else _between(bounds)
    apart = not named or tokens[place - 1].text == ","
    if opened < 1 or ends is None or not value or not apart or _commas(value):
        raise QueryError(
            tokens[place].text, "bounds one value", "write SUM(CLAMP(x, 0, 100))", _place(tokens[place])
        )
    mark = tokens[place]
    comma, close = like(mark, TokenType.COMMA, ","), like(mark, TokenType.R_PAREN, ")")
    head = [like(mark, TokenType.VAR, "CLAMP"), like(mark, TokenType.L_PAREN, "(")]
    inside = [*head, *value, comma, *ends[0], comma, *ends[1], close, *rest]
    return [*tokens[: opened + 1], *inside, *tokens[closed:]]


def _parted(tokens: list[Token]) -> tuple[list[Token], list[Token]]:
    """Return what stands before the first comma, and the rest with the comma."""
    for place in range(len(tokens)):
        if tokens[place].text == "," and not _commas(tokens[:place]) and _even(tokens[:place]):
            return tokens[:place], tokens[place:]
    return tokens, []


def _even(tokens: list[Token]) -> bool:
    words = list(map(_word, tokens))
    return words.count("(") == words.count(")")


def _outside(tokens: list[Token], opened: int, place: int) -> list[Token]:
    """Return f(x, bounds) as BOUNDED_PER_GROUP(f(x), low, high)."""
    closed = _closed(tokens, place)
    ends = _listed(tokens[place + 2 : closed])
    if (
        opened < 1
        or place - opened < 3
        or ends is None
        or tokens[place - 1].text != ","
        or closed == len(tokens)
    ):
        raise QueryError(
            tokens[place].text,
            "bounds what a person adds to a group",
            "write SUM(x, contribution_bounds_per_group => (0, 100))",
            _place(tokens[place]),
        )
    mark = tokens[place]
    comma, close = like(mark, TokenType.COMMA, ","), like(mark, TokenType.R_PAREN, ")")
    head = [like(mark, TokenType.VAR, "BOUNDED_PER_GROUP"), like(mark, TokenType.L_PAREN, "(")]
    inside = [*tokens[opened - 1 : place - 1], close, comma, *ends[0], comma, *ends[1], close]
    return [*tokens[: opened - 1], *head, *inside, *tokens[closed + 1 :]]


def _opened(tokens: list[Token], place: int) -> int:
    """Return where the parenthesis around a place opens, or -1 where there is none."""
    depth = 0
    for before in range(place - 1, -1, -1):
        depth += (_word(tokens[before]) == ")") - (_word(tokens[before]) == "(")
        if depth < 0:
            return before
    return -1


def _closed(tokens: list[Token], place: int) -> int:
    """Return where the parenthesis around a place closes, or the end of the text."""
    depth = 0
    for after in range(place, len(tokens)):
        depth += (_word(tokens[after]) == "(") - (_word(tokens[after]) == ")")
        if depth < 0:
            return after
    return len(tokens)


def _listed(tokens: list[Token]) -> tuple[list[Token], list[Token]] | None:
    """Return the ends of (low, high)."""
    texts = [token.text for token in tokens]
    if len(texts) < 5 or texts[0] != "(" or texts[-1] != ")" or texts.count(",") != 1:
        return None
    comma = texts.index(",")
    return tokens[1:comma], tokens[comma + 1 : -1]


def _between(tokens: list[Token]) -> tuple[list[Token], list[Token]] | None:
    """Return the ends of low AND high."""
    words = [_word(token) for token in tokens]
    if words.count("AND") != 1 or "," in words:
        return None
    place = words.index("AND")
    return (tokens[:place], tokens[place + 1 :]) if place and place + 1 < len(tokens) else None


def _commas(tokens: list[Token]) -> bool:
    """Whether there are several arguments, or a word that belongs before the only one."""
    depth = 0
    for token in tokens:
        text = token.text if _word(token) else ""
        depth += (text == "(") - (text == ")")
        if depth == 0 and (text == "," or _word(token) in ("DISTINCT", "*")):
            return True
    return False


def _renamed(token: Token, after: list[Token]) -> Token:
    called = bool(after) and after[0].token_type is TokenType.L_PAREN
    name = ANONYMOUS.get(_word(token)) if called else None
    return token if name is None else like(token, TokenType.VAR, name)


def _follows(tokens: list[Token], place: int, *words: str) -> bool:
    return place + 1 < len(tokens) and _word(tokens[place + 1]) in words


def _place(token: Token) -> tuple[int, int]:
    return token.line, max(token.col - len(token.text) + 1, 1)


def _word(token: Token) -> str:
    """Return a token as a word of the language; texts and quoted names are none."""
    quoted = token.token_type in (TokenType.STRING, TokenType.IDENTIFIER)
    return "" if quoted else token.text.upper()


def per_group(arguments: Sequence[Scalar]) -> Scalar:
    """BOUNDED_PER_GROUP(SUM(x), 0, 100): what one person adds to a group is clamped."""
    match tuple(map(_number, arguments)):
        case (
            Aggregate("sum" | "count" | "avg", distinct=False, within=None) as found,
            Literal(int() | Fraction() as low),
            Literal(int() | Fraction() as high),
        ) if low <= high and not isinstance(low, bool) and not isinstance(high, bool):
            return replace(found, within=(Fraction(low), Fraction(high)))
    raise QueryError(
        "contribution_bounds_per_group",
        "bounds a COUNT, SUM or AVG by two constants, the lower one first",
        "write SUM(x, contribution_bounds_per_group => (0, 100))",
    )


def _number(scalar: Scalar) -> Scalar:
    match scalar:
        case Call("negate", (Literal(Fraction() as number),)):
            return Literal(-number)
        case _:
            return settled(scalar)
