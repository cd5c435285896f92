"""The rows of a question as an engine query: each with its person, its group keys and its integers.

Rows whose person or group key is NULL are dropped.  Duplicated rows are rows.
"""

from collections.abc import Sequence
from datetime import date

from discreet.query.check.measurement import Checked, KeyColumn, Private
from discreet.query.plan import Among, Call, Column, Literal, Scalar, conjunction
from discreet.query.statement import Query

PERSON = "u"
"""The name of the person's column in the rows of a question."""

Item = tuple[str, Scalar]


def keys_of(checked: Checked) -> tuple[str, ...]:
    """Return the names of the group keys in the rows of a question."""
    return tuple(f"k{position}" for position in range(len(checked.keys.columns)))


def columns(alias: str, names: Sequence[str]) -> tuple[Scalar, ...]:
    """Return columns of one source."""
    return tuple(Column(alias, name) for name in names)


def items(alias: str, names: Sequence[str]) -> tuple[Item, ...]:
    """Return columns of one source under their own names."""
    return tuple((name, Column(alias, name)) for name in names)


def same(left: str, right: str, names: Sequence[str]) -> Scalar:
    """Return the condition that two sources agree in some columns."""
    agree = tuple(Call("eq", (Column(left, name), Column(right, name))) for name in names)
    return conjunction(agree) or Literal(True)


def present(scalar: Scalar) -> Scalar:
    """Return the condition that a scalar is not NULL."""
    return Call("not", (Call("is_null", (scalar,)),))


def person_rows(checked: Checked, raws: Sequence[Item], *, unit: bool, admit: bool = True) -> Query:
    """Return the question's rows with their person, group keys and integers, everything else dropped.

    With `admit` off, undeclared values of a key are left for the caller to drop after grouping.
    """
    rows = checked.rows
    found: list[Item] = []
    if unit and rows.unit is not None:
        found.append((PERSON, rows.unit))
    found += [
        (name, column.scalar) for name, column in zip(keys_of(checked), checked.keys.columns, strict=True)
    ]
    conditions = [] if rows.where is None else [rows.where]
    if rows.unit is not None:
        conditions.append(present(rows.unit))
    conditions += [
        part
        for column in checked.keys.columns
        for part in admitted(column, column.scalar, checked)
        if admit or not isinstance(part, Among)
    ]
    return Query((*found, *raws) or (("one", Literal(1)),), rows.source, conjunction(tuple(conditions)))


def listed(checked: Checked) -> Scalar | None:
    """Return the condition that the keys of a row are among their declared values."""
    return _listed(checked, None)


def shown(checked: Checked) -> Scalar | None:
    """Return the condition that the keys of a group are among their declared values.

    Comparing each group's key is much cheaper than comparing each row's, as the engine would if it could see
    that the condition is about the key alone.
    """
    return _listed(checked, "grouped")


def _listed(checked: Checked, wrap: str | None) -> Scalar | None:
    parts: list[Scalar] = []
    for name, column in zip(keys_of(checked), checked.keys.columns, strict=True):
        own: Scalar = Column("r", name)
        tested = own if wrap is None else Call(wrap, (own,))
        parts += [part for part in admitted(column, tested, checked) if isinstance(part, Among)]
    return conjunction(tuple(parts))


def admitted(column: KeyColumn, scalar: Scalar, checked: Checked) -> list[Scalar]:
    """Return the conditions for a row's key to be one that is counted."""
    values = None if isinstance(checked.keys, Private) else column.values
    if values is None:
        if column.day:
            return [Call("ge", (scalar, Literal(date.min))), Call("le", (scalar, Literal(date.max)))]
        return [present(scalar)]
    first, last = values[0], values[-1]
    if (isinstance(first, bool) and len(values) > 1) or column.ends is not None:
        # Both truth values are declared, and the cells of a distribution leave nothing out.
        return [present(scalar)]
    if type(first) is int and isinstance(last, int) and last - first + 1 == len(values):
        return [Call("ge", (scalar, Literal(first))), Call("le", (scalar, Literal(last)))]
    return [Among(scalar, tuple(Literal(value) for value in values))]
