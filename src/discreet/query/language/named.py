"""Names as people write them, in SQL or in Python: none that looks like another, and none of our own."""

import unicodedata

from discreet.errors import QueryError
from discreet.query.name import HIDDEN


def plain_name(name: str, *, reserved: bool = True) -> str:
    """Return a name, refusing what could be mistaken for another, or for one of our own where those are."""
    if not isinstance(name, str) or not name or not name.isprintable():
        raise QueryError("a name", "is empty, or holds what nobody sees", "use the declared spelling")
    if unicodedata.normalize("NFKC", name) != name:
        raise QueryError("a name", "contains characters that look like others", "use the declared spelling")
    if reserved:
        unreserved(name)
    return name


def unreserved(name: str) -> None:
    """Refuse a name that is one of our own."""
    if name.startswith(HIDDEN):
        raise QueryError(name, "names beginning with two underscores are reserved", "choose another name")
