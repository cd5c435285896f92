"""When two identifiers are the same.

Rule.  Two names are one identifier when they agree after compatibility normalisation and folding of case,
quoted or not: visits, VISITS and "Visits" are one table.  The rule is the same for declared tables and
columns, for the relations and WITH names of a question, for the columns of a subquery and for those of the
answer.  Where two different things would have one name, one of them is refused or renamed; a name is never
guessed.

No engine takes more names for one than this rule does (DuckDB and PostgreSQL fold ASCII letters, Spark folds
through upper case), so declared names, the only ones of people that statements contain, cannot meet there.
What an analyst calls things ends at the door: every relation and column inside a statement that is not a
declared one has a name of our own.
"""

import unicodedata

HIDDEN = "__"
"""Names beginning with this are our own; people's may not."""


def folded(name: str) -> str:
    """Return the form in which names are compared."""
    if name.isascii():
        # No such letter has another form, and each has one capital.
        return name.lower()
    upper = unicodedata.normalize("NFKC", name).upper()
    return unicodedata.normalize("NFKC", upper.casefold())


def same(one: str, other: str) -> bool:
    """Whether two names are one identifier."""
    return folded(one) == folded(other)
