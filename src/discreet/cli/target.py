"""Files that a command is asked to write: refused before its work begins, not after."""

from pathlib import Path

from discreet.errors import ParameterError
from discreet.show.save import check_target


def chart_target(path: Path | None) -> Path | None:
    """Return where a chart will be saved; an option's callback."""
    return None if path is None else check_target(path)


def page_target(path: Path | None) -> Path | None:
    """Return where a page or a proof will be written; an option's callback."""
    if path is not None and (path.is_dir() or not path.parent.is_dir()):
        raise ParameterError(f"{path} cannot be written: name a file in a folder that exists")
    return path
