"""`discreet init DATA`: draft a manifest for the curator to complete.

Names and types of columns come from the schema.  A text file has none, so its cells are looked at, once, for
whoever runs this, and the draft says so: an opened manifest never does that again.
"""

from pathlib import Path
from typing import Annotated, Any

import typer

from discreet.cli.paper import waiting


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
    from discreet.release.draft import GUESSED, draft

    if output.exists() and not force:
        raise CatalogError(f"{output} exists already; choose another --output, or pass --force")
    with waiting("looking at the columns ..."):
        text = draft(data)
    output.write_text(text, encoding="utf-8")
    console: Any = Console()
    console.print(f"Wrote [bold]{output}[/bold]. Complete the commented lines: bounds, key values, the unit.")
    if GUESSED in text:
        console.print("The types of text files were guessed by looking at their cells; check them.")
