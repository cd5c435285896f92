"""The wizard's surveyor: it reads schemas, works drafts of manifests out and saves them, in its own process.

    python -m discreet.console.surveyor

Every message names the places that the operator allows; nothing outside of them is opened, wherever links
lead.  Of a source it reads names and types of columns, and no cell: of a text file the first line, if that is
said to be names and reads like names.  Whatever a draft says besides is what somebody typed.
"""

import json
import re
import resource
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from discreet.console.decisions import checked, document, promised, weighed
from discreet.console.process import attend
from discreet.engines.opening import describe
from discreet.engines.records import Dialect
from discreet.engines.survey import form_of, tables_in
from discreet.errors import CatalogError, DiscreetError, ParameterError
from discreet.query.catalog.dialect import dialect
from discreet.query.catalog.written import written
from discreet.release.draft import candidates, declarable
from discreet.release.sources import kind_of

ROOM = 3 * 2**30
"""The most address space."""

LISTED = 200
MOST = 80
"""A source of more columns is declared by hand."""

_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,59}")
_HEADING = re.compile(r"[^\W\d][^\x00-\x1f]{0,79}")
SIGNS = {"comma": ",", "semicolon": ";", "tab": "\t", "bar": "|"}


def work(asked: Mapping[str, Any]) -> bytes:
    """Return what was found as JSON; a deliberate refusal is a finding too."""
    todo = {"places": places, "columns": columns, "draft": draft, "save": save}[asked["what"]]
    try:
        found = todo(asked)
    except DiscreetError as error:
        found = {"refused": str(error)}
    return json.dumps(found).encode()


def places(asked: Mapping[str, Any]) -> dict[str, Any]:
    """Return the allowed places, and of folders the files that could be declared."""
    return {"places": [{"name": name, "files": list(_files(name))} for name in asked["places"]]}


def _files(place: str) -> Iterator[str]:
    if "://" in place:
        return
    folder, count = Path(place).resolve(), 0
    for file in sorted((*folder.glob("*.*"), *folder.glob("*/*.*"))):
        if form_of(file) and "#" not in str(file) and _inside(folder, file) and file.is_file():
            yield file.relative_to(folder).as_posix()
            count += 1
            if count == LISTED:
                return


def _inside(folder: Path, file: Path) -> bool:
    return file.resolve().is_relative_to(folder)


def columns(asked: Mapping[str, Any]) -> dict[str, Any]:
    """Return the names and types of a source's columns, and what they suggest."""
    source, given = source_of(asked), asked["given"]
    settings = csv_settings(source, given)
    found = describe(source, dialect=Dialect(**dict(dialect(settings or {}, "csv"))))
    names = [name for name, _ in found]
    if settings is not None and "header" not in settings and not all(map(_HEADING.fullmatch, names)):
        raise CatalogError(
            "the first line of the file does not read like names of columns, so it is not shown; if it is "
            "data, say that the file has no header and write the names yourself"
        )
    if len(names) > MOST:
        raise CatalogError(f"a draft has at most {MOST} columns; declare this source by hand")
    fit = [name for name in names if declarable(name, names)]
    asked_about = [
        {"name": name, "type": kind, "fixed": physical is not None}
        for name, physical in found
        if name in fit and (kind := kind_of(physical)) is not None
    ]
    return {
        "columns": asked_about,
        "left_out": len(names) - len(asked_about),
        "units": fit,
        "likely": candidates(fit)[:1],
        "table": _title(source),
    }


def _title(source: str) -> str:
    place, _, inside = source.partition("#")
    return inside.rpartition(".")[2] or Path(place).name.partition(".")[0]


def source_of(asked: Mapping[str, Any]) -> str:
    """Return the source that a form names, if it lies in an allowed place."""
    given = asked["given"]
    number, name = given.get("place", ""), given.get("file", "").strip()
    if not number.isdecimal() or len(number) > 4 or int(number) >= len(asked["places"]):
        raise ParameterError("place: choose one of those that are offered")
    place = asked["places"][int(number)]
    if "://" in place:
        if not name or "#" in name:
            raise ParameterError("file: name a table of the database, as in public.visits")
        return f"{place}#{name}"
    path, _, inside = name.partition("#")
    return _found(Path(place).resolve(), path, inside)


def _found(folder: Path, path: str, inside: str) -> str:
    # Whether there is nothing, or something outside that a link leads to, is answered alike.
    nothing = CatalogError(
        "file: this place has no such file; name a .csv, .parquet or .duckdb file by its path inside it"
    )
    try:
        file = (folder / path).resolve()
        if not file.is_relative_to(folder) or not file.is_file() or "#" in str(file):
            raise nothing
    except (OSError, ValueError, RuntimeError):
        raise nothing from None
    form = form_of(file)
    if form is None:
        raise nothing
    if form != "tables":
        return str(file)
    if not inside:
        listed = ", ".join(tables_in(file)[:LISTED])
        raise CatalogError(f"file: add the table, as in {path}#TABLE; this file has {listed or 'none'}")
    return f"{file}#{inside}"


def csv_settings(source: str, given: Mapping[str, str]) -> dict[str, Any] | None:
    """Return how a text file is written, as somebody said; None for what is no text file."""
    if "://" in source or form_of(Path(source.partition("#")[0])) != "text":
        return None
    delimiter, encoding = SIGNS.get(given.get("delimiter", ""), ","), given.get("encoding") or "utf-8"
    settings: dict[str, Any] = {} if delimiter == "," else {"delimiter": delimiter}
    if encoding != "utf-8":
        settings["encoding"] = encoding
    if given.get("header") == "none":
        settings["header"] = [line.strip() for line in given.get("names", "").split("\n") if line.strip()]
    return settings


def draft(asked: Mapping[str, Any]) -> dict[str, Any]:
    """Return a draft as text, what it promises, and what each decision in it does."""
    made = _document(asked)
    catalog = checked(made)
    return {"toml": written(made), "catalogue": promised(catalog), **weighed(made)}


def _document(asked: Mapping[str, Any]) -> dict[str, Any]:
    source = source_of(asked)
    return document(
        asked["given"], _told(source, Path(asked["drafts"])), csv_settings(source, asked["given"])
    )


def _told(source: str, drafts: Path) -> str:
    """Return a source as the manifest names it: relative to itself where the file lies below it."""
    if "://" in source:
        return source
    place, _, inside = source.partition("#")
    file, folder = Path(place), drafts.resolve()
    told = file.relative_to(folder).as_posix() if file.is_relative_to(folder) else place
    return f"{told}#{inside}" if inside else told


def save(asked: Mapping[str, Any]) -> dict[str, Any]:
    """Write a draft into a file of its own, which must not exist; the source must have what it declares."""
    made = _document(asked)
    checked(made)
    name = made["dataset"]["name"]
    if not _NAME.fullmatch(name):
        raise ParameterError(
            "name: 1 to 60 lower-case letters, digits, hyphens and underscores, for it also names the file"
        )
    there = columns(asked)
    known = {*there["units"]}
    (table,) = made["tables"].values()
    for column in (*table["columns"], *({table["unit"]} - {"row"})):
        if column not in known:
            raise CatalogError("the source has other columns now; begin again")
    text = written(made)
    target = Path(asked["drafts"]).resolve() / f"{name}.toml"
    try:
        with target.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise CatalogError(
            f"there is a file {target.name} already, and nothing is overwritten; choose another name"
        ) from None
    except OSError:
        raise CatalogError(
            "the folder for drafts cannot be written to; tell whoever runs the service"
        ) from None
    return {"file": target.name}


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_AS, (ROOM, ROOM))
    attend(work)
