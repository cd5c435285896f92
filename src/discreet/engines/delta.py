"""Tables of Delta: which files of a folder are the table now, by its log.

Such a folder keeps the files of rows that were deleted or overwritten until somebody clears them away.  The
log says which files belong to the newest version, and what those columns hold by which files are kept apart:
they are in no file.  delta-rs reads the log.  What a table demands of its readers and is not honoured here is
refused by name, and so is a file outside of the folder.  No message repeats a path or a value of the log:
there are cells in them.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from discreet.errors import CatalogError, DiscreetError
from discreet.extra import library

LOG = "_delta_log"

_HONOURED = ("columnMapping", "deletionVectors", "timestampNtz", "v2Checkpoint")
"""What a log may demand of readers; of the first two only that nothing uses them."""

_INSTEAD = "name the table in a catalog of a Spark that has Delta, spark:catalog.table"

_ZONELESS = ("timestamp", "binary")
"""Types that the log writes in words which do not say all: in which zone, in which encoding."""


@dataclass(frozen=True, slots=True, repr=False)
class Snapshot:
    """One version of a table: columns as the log writes them, which of them are not in files, and the files.

    Each file has the values that these columns have in all its rows.
    """

    schema: str
    apart: tuple[str, ...]
    files: Mapping[str, tuple[object, ...]]


def is_delta(folder: Path) -> bool:
    """Whether a folder belongs to Delta."""
    return (folder / LOG).exists()


def newest(folder: Path) -> Snapshot:
    """Return the newest version of the table in a folder."""
    try:
        return _newest(folder.resolve())
    except DiscreetError as refusal:
        problem: DiscreetError = refusal
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as failure:
        # What panics in Rust is no Exception.
        problem = _unreadable(str(failure))
    raise problem


def _unreadable(said: str) -> CatalogError:
    """Return what is said of a log that could not be read: of the library's own words one name at most."""
    if unknown := re.search(r"Feature '(\w{1,60})' is not supported", said):
        return CatalogError(f"the table has {unknown[1]} of Delta, which is not read here; {_INSTEAD}")
    return CatalogError(
        "the log of Delta could not be read: it is not whole, or a catalog manages the table, or the name of "
        f"the folder has a % in it; {_INSTEAD}"
    )


def _newest(folder: Path) -> Snapshot:
    import pyarrow

    table = library("deltalake", "delta", "a table of Delta").DeltaTable(str(folder))
    _refuse_features(table)
    schema, apart = table.schema().to_json(), tuple(table.metadata().partition_columns)
    _refuse_zoneless(schema, apart)
    named = pyarrow.table(table.get_add_actions())
    values = named["partition"].to_pylist() if apart else [{}] * named.num_rows
    places = list(_places(folder, named["path"].to_pylist()))
    files = {place: tuple(own[column] for column in apart) for place, own in zip(places, values, strict=True)}
    if len(files) != len(places):
        raise CatalogError("the log of Delta names a file twice")
    return Snapshot(schema, apart, files)


def _refuse_features(table: Any) -> None:
    """Refuse what would be read wrongly: rows that only a vector deletes, columns under other names."""
    demanded = table.protocol().reader_features or ()
    if others := sorted(set(demanded) - set(_HONOURED)):
        raise CatalogError(f"the table has {', '.join(others)} of Delta, which is not read here; {_INSTEAD}")
    if table.metadata().configuration.get("delta.columnMapping.mode", "none") != "none":
        raise CatalogError(
            f"the table has columnMapping of Delta, which is not read here; {_INSTEAD}, or copy the table"
        )
    # Whatever the log says of itself, no vector may be there.
    if any(batch.num_rows for batch in table.deletion_vectors()):
        raise CatalogError(
            "the table has deletionVectors of Delta, which are not read here; have its files written anew, "
            f"REORG TABLE … APPLY (PURGE), or {_INSTEAD}"
        )


def _refuse_zoneless(schema: str, apart: Sequence[str]) -> None:
    for column in json.loads(schema)["fields"]:
        if column["name"] in apart and column["type"] in _ZONELESS:
            raise CatalogError(
                f"files of the table are kept apart by a column of type {column['type']}, and the log does "
                f"not say all of its values; keep them apart by a date, or {_INSTEAD}"
            )


def _places(folder: Path, paths: Sequence[str]) -> Iterator[str]:
    """Yield where files of the log are, all of them inside of the folder."""
    for path in paths:
        place = (folder / unquote(path, errors="strict")).resolve()
        if not place.is_relative_to(folder):
            raise CatalogError("the log of Delta names a file outside of its folder; copy the table")
        if not place.is_file():
            raise CatalogError(
                "the log of Delta names a file that is not there; restore it, or have it forgotten, FSCK "
                "REPAIR TABLE"
            )
        yield str(place)
