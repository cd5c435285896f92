"""Raw rows on their way through our own code: held, never shown, and no error keeps hold of them.

What prints a value (a log, a notebook, a traceback that shows local variables) sees `<rows, not shown>`.
What fails while rows are in reach fails with a new error, raised where no row is: neither its words, nor its
cause, its context or its traceback lead back to them.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from discreet.errors import DiscreetError, EngineError

T = TypeVar("T")


class Sheltered:
    """A frame that somebody gave, out of sight."""

    __slots__ = ("_rows",)

    def __init__(self, rows: object) -> None:
        self._rows = rows

    @property
    def is_frame(self) -> bool:
        """Whether this is a thing with columns, rather than a number or a list given by mistake."""
        return hasattr(self._rows, "columns") or hasattr(self._rows, "schema")

    def __repr__(self) -> str:
        return "<rows, not shown>"

    def __reduce__(self) -> str:
        raise EngineError("rows cannot be copied out of the process")


def shelter(rows: Any) -> Any:
    """Return a path as it is, and anything else out of sight."""
    return rows if isinstance(rows, str | Path | Sheltered) else Sheltered(rows)


def exposed(rows: Any) -> Any:
    """Return what is sheltered; only for use inside `quietly`."""
    return rows._rows if isinstance(rows, Sheltered) else rows


def quietly(work: Callable[[], T], otherwise: DiscreetError) -> T:
    """Return what `work` returns; whatever goes wrong in it becomes `otherwise`.

    A deliberate error keeps its words and an interruption stays one, but each is raised outside the handler
    and outside the work, without its past.
    """
    problem: BaseException = otherwise
    try:
        return work()
    except EngineError:
        pass
    except DiscreetError as refusal:
        problem = refusal.with_traceback(None)
        problem.__cause__ = problem.__context__ = None
    except Exception:  # noqa: S110 - its words may hold a cell
        pass
    except BaseException as stop:
        problem = type(stop)()
    raise problem
