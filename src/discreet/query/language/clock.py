"""Words that mean another time whenever they are read: CURRENT_DATE and NOW()."""

import re
from datetime import UTC, datetime

from sqlglot import exp


def asks_the_clock(text: str) -> bool:
    """Return whether a text may mean something else later: it names the date, or the time."""
    return _CLOCK.search(text) is not None


def this_minute() -> datetime:
    """Return the minute in UTC, so that what is quoted and then asked is one question."""
    return datetime.now(UTC).replace(second=0, microsecond=0, tzinfo=None)


_CLOCK = re.compile(
    r"current_date|today|current_timestamp|localtimestamp|now|getdate|sysdate|age\s*\(", re.IGNORECASE
)


def dated(tree: exp.Expr, now: datetime | None) -> exp.Expr:
    """Return a tree in which CURRENT_DATE is a date, and NOW() the minute; AGE(d) is that of today."""
    for node in list(tree.walk()) if now is not None else ():
        named = str(node.this).lower() if isinstance(node, exp.Anonymous) else ""
        if now is not None and named == "age" and len(node.expressions) == 1:
            today = exp.cast(exp.Literal.string(now.date().isoformat()), "DATE")
            node.set("expressions", [today, *node.expressions])
        if now is None or any(value for key, value in node.args.items() if not (named and key == "this")):
            continue
        if isinstance(node, exp.CurrentDate):
            node.replace(exp.cast(exp.Literal.string(now.date().isoformat()), "DATE"))
        elif isinstance(node, exp.CurrentTimestamp | exp.Localtimestamp) or named in (
            "now",
            "getdate",
            "sysdate",
        ):
            zone = "TIMESTAMP" if isinstance(node, exp.Localtimestamp) else "TIMESTAMPTZ"
            node.replace(exp.cast(exp.Literal.string(now.isoformat(" ")), zone))
    return tree
