"""`discreet init DATA`: draft a manifest for the curator to complete.

Names and types of columns come from the schema.  A text file has none, so its cells are looked at, once, for
whoever runs this, and the draft says so: an opened manifest never does that again.  Bounds, key values and
contribution limits are decisions: they are left as commented lines, because a bound read from the data would
itself reveal it.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli.paper import waiting

if TYPE_CHECKING:
    from collections.abc import Mapping

    from discreet.engines.survey import Survey

IDENTIFIERS = (
    "person",
    "patient",
    "user",
    "customer",
    "client",
    "member",
    "subject",
    "participant",
    "employee",
)

GUESSED = "# These types were guessed by looking at the cells; check them."


def draft(sources: list[str], folder: Path = Path()) -> str:
    """Return the text of a manifest for these sources, with everything that needs a decision left open."""
    from discreet.engines.survey import survey

    first = Path(sources[0].partition("#")[0]).stem
    parts = [
        f'[dataset]\nname = "{_escaped(first)}"\nledger = "{_escaped(first)}.ledger"\n',
        "[budget]\n"
        "epsilon = 1            # the most that all answers together may cost\n"
        '# delta = "1e-9"       # allows group keys found in the data, and less noise for many questions\n',
    ]
    parts += [_table(source, survey(source, folder)) for source in sources]
    return "\n".join(parts)


def _table(source: str, found: "Survey") -> str:
    from discreet.release.sources import kind_of

    place, _, inside = source.partition("#")
    name = inside.rpartition(".")[2] or Path(place).stem
    columns = [column for column, _ in found.columns]
    fit = [column for column in columns if _declarable(column, columns)]
    known = [(column, found.guessed.get(column) or kind_of(physical)) for column, physical in found.columns]
    units = candidates(fit)
    lines = [f"[tables.{_key(name)}]", f'source = "{_escaped(source)}"', *_written(found.csv)]
    if units:
        lines.append(f'unit = "{_escaped(units[0])}"       # who is protected; check that this is right')
        if units[1:]:
            lines.append(f"# other candidates: {', '.join(map(_key, units[1:]))}")
        lines.append("rows_per_unit = 8      # a person with more rows counts as this many")
        lines.append("groups_per_unit = 4    # ... and in counts of people, in at most this many groups")
    else:
        lines.append(
            '# unit = "..."         # the column that identifies a person; "row": each row is a person'
        )
    lines += ['# neighbours = "replace"   # if the number of people is public', ""]
    if found.guessed:
        lines.append(GUESSED)
    lines.append(f"[tables.{_key(name)}.columns]")
    width = max((len(_key(column)) for column, kind in known if kind and column in fit), default=0)
    for column, kind in known:
        if column not in fit:
            lines.append(f"# {_key(column)}: a name that cannot be declared; rename it in the source")
        elif kind is None or column in units[:1]:
            lines.append(
                f"# {_key(column)}: "
                + ("the unit" if column in units[:1] else "a type that cannot be asked about")
            )
        else:
            lines.append(f"{_key(column):<{width}} = {_HINTS[kind]}")
    return "\n".join(lines) + "\n"


def _written(csv: "Mapping[str, str]") -> list[str]:
    """Return how a text file seems to be written, where that is not RFC 4180 in UTF-8."""
    if not csv:
        return []
    settings = ", ".join(f'{key} = "{_escaped(value)}"' for key, value in csv.items())
    return [f"csv = {{ {settings} }}    # guessed by looking at the file; check it"]


def _declarable(name: str, names: list[str]) -> bool:
    """Whether a manifest can declare a column of this name, as the only one but for case."""
    from discreet.query.catalog.manifest import declare
    from discreet.query.name import same

    try:
        declare({"tables": {"t": {"columns": {name: "text"}}}})
    except ValueError:
        return False
    return sum(same(name, other) for other in names) == 1


_HINTS = {
    "integer": '{ type = "integer" }     # add low = ..., high = ... to sum or average it',
    "decimal": '{ type = "decimal" }     # add low = ..., high = ..., step = "0.01"',
    "text": '{ type = "text" }        # add values = ["...", "..."] to group by it',
    "boolean": '{ type = "boolean" }',
    "date": '{ type = "date" }        # add low = 2024-01-01, high = 2024-12-31 to group by it',
    "timestamp": '{ type = "timestamp" }',
}


def candidates(columns: list[str]) -> list[str]:
    """Return the columns whose names look like identifiers of people, the likeliest first."""

    def likeness(name: str) -> int:
        folded = name.lower().replace(" ", "_")
        words = any(word in folded for word in IDENTIFIERS)
        identifier = folded == "id" or folded.endswith(("_id", "_no", "_number", "uuid"))
        return 3 if words and identifier else 2 if folded in IDENTIFIERS else 1 if identifier else 0

    found = [name for name in columns if likeness(name)]
    return sorted(found, key=lambda name: -likeness(name))


def _key(name: str) -> str:
    plain = name.isascii() and name.replace("_", "").replace("-", "").isalnum()
    return name if plain else f'"{_escaped(name)}"'


def _escaped(text: str) -> str:
    """Return the text as TOML writes it between quotes."""
    plain = text.replace("\\", "\\\\").replace('"', '\\"')
    return "".join(sign if sign.isprintable() else f"\\U{ord(sign):08x}" for sign in plain)


def init(
    data: Annotated[list[str], typer.Argument(help="Files: .csv, .parquet, or .duckdb#table.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Where to write the manifest.")] = Path(
        "discreet.toml"
    ),
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing manifest.")] = False,
) -> None:
    """Draft a manifest: types are filled in, bounds and keys are left for you to decide."""
    from rich.console import Console

    from discreet.errors import CatalogError

    if output.exists() and not force:
        raise CatalogError(f"{output} exists already; choose another --output, or pass --force")
    with waiting("looking at the columns ..."):
        text = draft(data)
    output.write_text(text, encoding="utf-8")
    console: Any = Console()
    console.print(f"Wrote [bold]{output}[/bold]. Complete the commented lines: bounds, key values, the unit.")
    if GUESSED in text:
        console.print("The types of text files were guessed by looking at their cells; check them.")
