"""`discreet init DATA`: draft a manifest for the curator to complete.

Only names and types of columns are read, never a cell.  Bounds, key values and contribution limits are
decisions: they are left as commented lines, because a bound read from the data would itself reveal it.
"""

from pathlib import Path
from typing import Annotated, Any

import typer

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


def draft(sources: list[str], folder: Path = Path()) -> str:
    """Return the text of a manifest for these sources, with everything that needs a decision left open."""
    from discreet.engines.duckdb import describe

    first = Path(sources[0].partition("#")[0]).stem
    parts = [
        f'[dataset]\nname = "{_escaped(first)}"\nledger = "{_escaped(first)}.ledger"\n',
        "[budget]\n"
        "epsilon = 1            # the most that all answers together may cost\n"
        '# delta = "1e-9"       # allows group keys found in the data, and less noise for many questions\n',
    ]
    parts += [_table(source, describe(source, folder)) for source in sources]
    return "\n".join(parts)


def _table(source: str, columns: tuple[tuple[str, str], ...]) -> str:
    from discreet.release.sources import kind_of

    place, _, inside = source.partition("#")
    name = inside.rpartition(".")[2] or Path(place).stem
    known = [(column, kind_of(physical)) for column, physical in columns]
    units = candidates([column for column, _ in columns])
    lines = [f"[tables.{_key(name)}]", f'source = "{_escaped(source)}"']
    if units:
        lines.append(f'unit = "{_escaped(units[0])}"       # who is protected; check that this is right')
        if units[1:]:
            lines.append(f"# other candidates: {', '.join(units[1:])}")
        lines.append("rows_per_unit = 8      # a person with more rows counts as this many")
        lines.append("groups_per_unit = 4    # ... and in counts of people, in at most this many groups")
    else:
        lines.append(
            '# unit = "..."         # the column that identifies a person; without one, each row is a person'
        )
    lines += [
        '# neighbours = "replace"   # if the number of people is public',
        "",
        f"[tables.{_key(name)}.columns]",
    ]
    width = max((len(_key(column)) for column, kind in known if kind), default=0)
    for column, kind in known:
        if kind is None or column in units[:1]:
            lines.append(
                f"# {_key(column)}: "
                + ("the unit" if column in units[:1] else "a type that cannot be asked about")
            )
        else:
            lines.append(f"{_key(column):<{width}} = {_HINTS[kind]}")
    return "\n".join(lines) + "\n"


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
    return text.replace("\\", "\\\\").replace('"', '\\"')


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
    text = draft(data)
    output.write_text(text, encoding="utf-8")
    console: Any = Console()
    console.print(f"Wrote [bold]{output}[/bold]. Complete the commented lines: bounds, key values, the unit.")
