"""Folders that Spark reads: of Parquet files, all of them; of Delta, those that its log names now.

Where Spark has no library of Delta its files are read as they are.  Columns that were added later are NULL in
older files, and those that are in no file come from the log, by the path of the file that a row is in.
"""

import json
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from discreet.engines.delta import LOG, Snapshot, is_delta, newest
from discreet.errors import CatalogError

NO_PATTERN = ("__globPaths__", "false")
_AS_NAMED = {**dict([NO_PATTERN]), "recursiveFileLookup": "true"}
"""A path is no pattern, and names of folders are no columns."""

_FILE = "__file"


def read_folder(session: Any, folder: str) -> Any:
    """Return the rows of a folder as they are now."""
    place = Path(folder)
    if is_delta(place):
        return _table(session, newest(place))
    if any(map(is_delta, place.absolute().parents)):
        raise CatalogError("this is inside of a folder of Delta and may hold deleted rows; give that folder")
    if not place.exists() and is_seen(session, f"{folder}/{LOG}"):
        raise CatalogError(
            "this folder belongs to Delta, and its log can be read only where this process sees it; name the "
            "table in a catalog instead, spark:catalog.table"
        )
    return _reader(session, folder).parquet(folder)


def _reader(session: Any, path: str) -> Any:
    """Return what reads a path, which is no pattern where something has exactly that name."""
    return session.read.option(*NO_PATTERN) if Path(path).exists() else session.read


def is_seen(session: Any, path: str) -> bool:
    """Whether there is something at a path, for Spark."""
    from pyspark.errors import AnalysisException

    try:
        return _reader(session, path).text(path).schema is not None
    except AnalysisException as problem:
        if problem.getCondition() == "PATH_NOT_FOUND":
            return False
        raise


def _table(session: Any, snapshot: Snapshot) -> Any:
    from pyspark.sql.types import StringType, StructField, StructType

    columns = StructType.fromJson(json.loads(snapshot.schema)).fields
    types = {column.name: StructField(column.name, column.dataType) for column in columns}
    apart = [types.pop(name) for name in snapshot.apart]
    if not snapshot.files:
        return session.createDataFrame([], StructType([*types.values(), *apart]))
    reader = session.read.schema(StructType([*types.values()])).options(**_AS_NAMED)
    found = reader.parquet(*snapshot.files)
    # As Spark writes a path, in which signs may be replaced.
    written = {unquote(path.removeprefix("file://")): path for path in found.inputFiles()}
    if written.keys() != snapshot.files.keys():
        raise CatalogError("Spark sees other files than this process; name the table in a catalog instead")
    if not apart:
        return found
    rows = [(path.replace("file:///", "file:/"), *snapshot.files[place]) for place, path in written.items()]
    parts = session.createDataFrame(rows, StructType([StructField(_FILE, StringType()), *apart]))
    return _joined(found, parts)


def _joined(found: Any, parts: Any) -> Any:
    """Return rows with what the log says of the file that each is in; a row of an unknown file fails."""
    from pyspark.sql import functions

    named = found.withColumn(_FILE, found.metadataColumn("_metadata").getField("file_path"))
    joined = named.join(functions.broadcast(parts), named[_FILE] == parts[_FILE], "left")
    known, unknown = parts[_FILE].isNotNull(), functions.raise_error(functions.lit("unknown"))
    said = [functions.when(known, parts[name]).otherwise(unknown).alias(name) for name in parts.columns[1:]]
    return joined.select(*(named[name] for name in found.columns), *said)
