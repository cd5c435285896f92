"""A rewriting of a refused question, one click away: what the refusal says, done to the text.

Nothing here has to be right: a rewriting is a text like any other, and is offered only if the same checker
that refused the question takes it.  It may ask for something else than was meant, so it is shown before it is
used.
"""

import re
from collections.abc import Iterator

from discreet.errors import DiscreetError, QueryError
from discreet.query.catalog.manifest import Catalog
from discreet.release.pricing import check_question

LONGEST = 4000
"""Longer questions are left to their authors, and"""

MOST = 12
"""so are those that list more."""

_PIECES = re.compile(r"'(?:[^']|'')*'|--[^\n]*|\"(?:[^\"]|\"\")*\"|[A-Za-z_][A-Za-z0-9_]*|.", re.DOTALL)
_NEAR = re.compile(r"did you mean (.+)\?")
_WHOLE = re.compile(r"SELECT\b(?P<items>.*?)\bFROM\b(?P<rest>.*)", re.DOTALL | re.IGNORECASE)
_AFTER = re.compile(r"\b(GROUP\s+BY|HAVING|ORDER\s+BY|LIMIT)\b", re.IGNORECASE)
_DISTINCT = re.compile(r"DISTINCT\s+", re.IGNORECASE)
_NAME = re.compile(r"(?:[A-Za-z_]\w*\.)?[A-Za-z_]\w*")


def remedy(catalog: Catalog, sql: str, refused: QueryError) -> str | None:
    """Return a question like the refused one that would be understood, if one is near."""
    if len(sql) > LONGEST:
        return None
    for candidate in _candidates(sql.strip().rstrip(";").rstrip(), refused):
        try:
            check_question(catalog, candidate, None)
        except DiscreetError:
            continue
        return candidate
    return None


def _candidates(sql: str, refused: QueryError) -> Iterator[str]:
    near = _NEAR.fullmatch(refused.instead)
    if near is not None:
        yield _renamed(sql, refused.clause.removeprefix("FROM ").rpartition(".")[2], near[1])
        return
    found = _WHOLE.fullmatch(sql)
    if found is None or len(re.findall(r"\bSELECT\b", sql, re.IGNORECASE)) != 1:
        return
    listed = _DISTINCT.sub("", found["items"].strip(), count=1)
    items = [item.strip() for item in _split(listed)]
    keys = [item for item in items if _NAME.fullmatch(item)]
    if len(items) > MOST:
        return
    rest = found["rest"].strip()
    cut = _AFTER.search(rest)
    source, after = (rest, "") if cut is None else (rest[: cut.start()].rstrip(), rest[cut.start() :])
    if len(keys) < len(items) and items != ["*"]:
        tail = "" if after[:5].upper() == "GROUP" else after
        yield f"SELECT {listed}\nFROM {source}\nGROUP BY {', '.join(keys)}\n{tail}".rstrip()
    elif keys:
        yield f"SELECT {listed}, COUNT(*) AS n\nFROM {source}\nGROUP BY {listed}"
    for key in keys[:2]:
        yield f"SELECT COUNT(DISTINCT {key}) AS n\nFROM {source}"
    yield f"SELECT COUNT(*) AS n\nFROM {source}"


def _renamed(sql: str, wrong: str, right: str) -> str:
    """Return a text with a name in the place of another, wherever it stands as a name."""
    name = right if _NAME.fullmatch(right) else '"' + right.replace('"', '""') + '"'
    both = {wrong.casefold(), f'"{wrong}"'.casefold()}
    return "".join(name if piece.casefold() in both else piece for piece in _PIECES.findall(sql))


def _split(items: str) -> Iterator[str]:
    """Return what stands between commas outside of brackets and quotes."""
    depth, current = 0, ""
    for piece in _PIECES.findall(items):
        depth += (piece == "(") - (piece == ")")
        if piece == "," and depth == 0:
            yield current
            current = ""
        else:
            current += piece
    yield current
