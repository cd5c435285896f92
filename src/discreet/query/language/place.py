"""Where in the text a construct stands."""

from sqlglot import exp


def place_of(node: exp.Expr) -> tuple[int, int] | None:
    """Return the line and column where a construct begins, as far as the parser remembers."""
    found = [
        (int(meta["start"]), int(meta["line"]), int(meta["col"]) - int(meta["end"]) + int(meta["start"]))
        for meta in (part.meta for part in node.walk())
        if {"start", "line", "col", "end"} <= meta.keys()
    ]
    return min(found)[1:] if found else None
