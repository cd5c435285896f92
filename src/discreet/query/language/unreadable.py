"""What cannot be read: the parser's complaints and remarks are about its own words, which nobody wrote.

Whatever goes wrong inside the parser, or where its tree is not as we expect, is one refusal; what it remarks
meanwhile is shown to nobody.
"""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from sqlglot.errors import SqlglotError

from discreet.errors import DiscreetError, QueryError

UNREADABLE = (SqlglotError, RecursionError, ValueError, TypeError, IndexError, AttributeError, KeyError)

_READING: ContextVar[bool] = ContextVar("reading", default=False)


class _Unasked(logging.Filter):
    """Keeps what the parser remarks while a question is read; whoever else uses it hears everything."""

    def filter(self, record: logging.LogRecord) -> bool:
        return not _READING.get()


logging.getLogger("sqlglot").addFilter(_Unasked())


@contextmanager
def reading() -> Iterator[None]:
    """Refuse in our own words whatever cannot be read meanwhile."""
    token = _READING.set(True)
    try:
        yield
    except DiscreetError:
        raise
    except UNREADABLE:
        raise unreadable() from None
    finally:
        _READING.reset(token)


def unreadable(line: int | None = None, column: int | None = None) -> QueryError:
    """Return the refusal of a text that is no SQL."""
    return QueryError(
        "the question",
        "is not SQL that can be read",
        "write one SELECT ... FROM ... statement",
        None if line is None or column is None else (line, column),
    )
