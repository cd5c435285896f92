"""Records as CSV that no spreadsheet will run."""

import csv
import io
from collections.abc import Iterable, Mapping, Sequence


def sheet(names: Sequence[str], records: Iterable[Mapping[str, object]]) -> str:
    """Return records as CSV with a head."""
    text = io.StringIO()
    writer = csv.DictWriter(text, names)
    writer.writerow({name: safe_cell(name) for name in names})
    writer.writerows({name: safe_cell(value) for name, value in row.items()} for row in records)
    return text.getvalue()


def safe_cell(value: object) -> object:
    """Return a cell that no spreadsheet will take for a formula."""
    return (
        f"'{value}"
        if isinstance(value, str) and value[:1] in ("=", "+", "-", "@", "\t", "\r", "\n")
        else value
    )
