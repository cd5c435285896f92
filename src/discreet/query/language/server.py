"""Words that SQL Server has for itself, replaced by ours: CONVERT(type, x, style) and CROSS APPLY."""

from sqlglot.tokenizer_core import Token, TokenType

from discreet.errors import QueryError
from discreet.query.language.token import like, quoted


def converted(tokens: list[Token]) -> list[Token]:
    """Return the words with CONVERT(type, x) as CAST(x AS type)."""
    found = list(tokens)
    at = 0
    while at < len(found):
        opened = at + 1 < len(found) and found[at + 1].token_type is TokenType.L_PAREN
        if opened and found[at].text.upper() in ("CONVERT", "TRY_CONVERT") and not quoted(found[at]):
            commas, end = _arguments(found, at + 2)
            comma = commas[0] if len(commas) == 1 else None
            if len(commas) == 2 and end is not None:
                one, two = commas
                text = _styled(found[at + 2 : one], found[one + 1 : two], found[two + 1 : end])
                found[at:end] = found[at:end] if text is None else text
            elif comma is not None and end is not None:
                kind, inner = found[at + 2 : comma], found[comma + 1 : end]
                cast = Token(TokenType.VAR, "TRY_CAST", found[at].line, found[at].col, found[at].start)
                between = Token(TokenType.ALIAS, "AS", found[comma].line, found[comma].col)
                found[at:end] = [cast, found[at + 1], *inner, between, *kind]
        at += 1
    return found


def applied(tokens: list[Token]) -> list[Token]:
    """Return the words with CROSS JOIN LATERAL for CROSS APPLY."""
    found: list[Token] = []
    for token in tokens:
        if token.token_type is TokenType.APPLY and found:
            if found[-1].token_type is not TokenType.CROSS:
                raise QueryError(
                    "OUTER APPLY",
                    "keeps rows without a partner",
                    "write LEFT JOIN (SELECT person, SUM(x) AS x FROM t GROUP BY person) AS y USING (person)",
                    (found[-1].line, max(found[-1].col - len(found[-1].text) + 1, 1)),
                )
            found += [like(token, TokenType.JOIN, "JOIN"), like(token, TokenType.LATERAL, "LATERAL")]
        else:
            found.append(token)
    return found


_STYLES = {
    **{
        (size, style): form
        for size, form in ((4, "YYYY"), (7, "YYYY-MM"), (10, "YYYY-MM-DD"))
        for style in (23, 120, 121, 126)
    },
    (4, 112): "YYYY",
    (6, 112): "YYYYMM",
    (8, 112): "YYYYMMDD",
}
"""What a date is as a text of so many characters in a style of CONVERT."""


def _styled(kind: list[Token], inner: list[Token], style: list[Token]) -> list[Token] | None:
    """Return CONVERT(varchar(7), d, 120) as TO_CHAR(d, 'YYYY-MM')."""
    words = [token.text.upper() for token in kind]
    if (
        words[:1] not in (["VARCHAR"], ["CHAR"], ["NVARCHAR"], ["NCHAR"])
        or len(words) != 4
        or len(style) != 1
    ):
        return None
    if not words[2].isdecimal() or not style[0].text.isdecimal():
        return None
    form = _STYLES.get((int(words[2]), int(style[0].text)))
    if form is None:
        return None
    first = kind[0]
    head = [like(first, TokenType.VAR, "TO_CHAR"), like(first, TokenType.L_PAREN, "(")]
    return [*head, *inner, like(first, TokenType.COMMA, ","), like(first, TokenType.STRING, form)]


def _arguments(tokens: list[Token], start: int) -> tuple[list[int], int | None]:
    """Return where the commas between arguments stand, and where they end."""
    depth, commas = 0, list[int]()
    for place in range(start, len(tokens)):
        kind = tokens[place].token_type
        depth += (kind is TokenType.L_PAREN) - (kind is TokenType.R_PAREN)
        if depth < 0:
            return commas, place
        if kind is TokenType.COMMA and depth == 0:
            commas.append(place)
    return [], None
