"""Views of a DuckDB file, and columns that it computes: what differs each time it is read is refused.

Statements read a table more than once, and a person's weights hold for the rows that were counted.  A view is
looked through as it is written, with the views, tables and macros that it names; what only looks like a
sample or a call is refused too, so that nothing has to be understood.
"""

import re
from collections.abc import Iterator
from typing import Any

from discreet.errors import CatalogError

_WORD = re.compile(r"""'(?:[^']|'')*'|(?:"((?:[^"]|"")*)"|([^\W\d]\w*))(?:(?=\s*(\())|)""")
_SAMPLE = re.compile(r"\b(TABLESAMPLE|USING\s+SAMPLE)\b", re.IGNORECASE)

_COMPUTED = re.compile(r"\bGENERATED ALWAYS AS\s*\(", re.IGNORECASE)
_PIECE = re.compile(r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|[()]""")

_VIEWS = "SELECT lower(view_name), sql FROM duckdb_views() WHERE database_name = $1"
_TABLES = "SELECT lower(table_name), sql FROM duckdb_tables() WHERE database_name = $1"
_FUNCTIONS = """
SELECT lower(function_name), macro_definition FROM duckdb_functions()
WHERE stability = 'VOLATILE' OR (database_name = $1 AND macro_definition IS NOT NULL)
"""


def has_collation(connection: Any, database: str) -> bool:
    """Whether some relation of an attached file compares texts otherwise than character by character."""
    texts = [*connection.execute(_VIEWS, [database]).fetchall()]
    texts += connection.execute(_TABLES, [database]).fetchall()
    return any("COLLATE" in text.upper() for _, text in texts)


def refuse_random(connection: Any, database: str, name: str, relation: str) -> None:
    """Refuse a relation of an attached file that is, or reads, something random."""
    relations = connection.execute(_VIEWS, [database]).fetchall()
    for own, text in connection.execute(_TABLES, [database]).fetchall():
        relations += [(own, part) for part in _computed(text)]
    if relation.lower() not in (own for own, _ in relations):
        return
    functions = connection.execute(_FUNCTIONS, [database]).fetchall()
    volatile = {own for own, text in functions if text is None}
    defined: dict[str, list[str]] = {}
    for own, text in (*relations, *functions):
        defined.setdefault(own, []).append(text or "")
    waiting, seen = [relation.lower()], set[str]()
    while waiting:
        own = waiting.pop()
        if own in seen:
            continue
        seen.add(own)
        for text in defined.get(own, ()):
            words = list(_words(text))
            if _SAMPLE.search(text) or any(called and word in volatile for word, called in words):
                raise CatalogError(
                    f"tables.{name}.source: a view or computed column with something random in it shows "
                    "other rows each time it is read; store what it shows as a table"
                )
            waiting += [word for word, _ in words]


def _computed(text: str) -> Iterator[str]:
    """Yield how a table computes columns; what a column holds by default was decided when it was stored."""
    for begun in _COMPUTED.finditer(text):
        depth = 1
        for piece in _PIECE.finditer(text, begun.end()):
            depth += {"(": 1, ")": -1}.get(piece[0], 0)
            if not depth:
                yield text[begun.end() : piece.start()]
                break


def _words(text: str) -> Iterator[tuple[str, bool]]:
    """Yield the names in a text of SQL, in small letters, and whether each is called."""
    for found in _WORD.finditer(text):
        if found[1] is not None or found[2] is not None:
            name = found[2] or (found[1] or "").replace('""', '"')
            yield name.lower(), found[3] is not None
