"""A vendor's privacy clause: SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, ...).

What it says is done where it agrees with the manifest and refused where it does not: limits can be lowered,
the person is the one that is declared, and the price is the one that is asked for, said once.
"""

from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from fractions import Fraction

from discreet.errors import QueryError
from discreet.query.check.measurement import Private
from discreet.query.check.scope import Lineage
from discreet.query.name import same

KNOWN = (
    *("epsilon", "delta", "max_groups_contributed", "max_rows_contributed", "rows_at_most"),
    *("privacy_unit_column", "group_selection_strategy"),
)
STRATEGIES = ("PUBLIC_GROUPS", "LAPLACE_THRESHOLD", "WEIGHTED_THRESHOLD")


@dataclass(frozen=True, slots=True)
class Options:
    """What the clause says."""

    price: tuple[tuple[str, Fraction], ...] = ()
    rows: int | None = None
    groups: int | None = None
    unit: str | None = None
    most: int | None = None
    known: bool = False
    """Whether all groups must be known beforehand."""
    weighted: bool | None = None
    """Whether groups that are not known are found by weights, if the clause says how they are found."""

    def finds_by_weights(self, asked: bool) -> bool:
        """Whether keys are found by weights, as the clause says or was asked beside it."""
        if asked and self.weighted is False:
            raise QueryError(
                "group_selection_strategy = LAPLACE_THRESHOLD",
                "is another one than weighted_keys",
                "say it in one place",
            )
        return asked or bool(self.weighted)

    def require_known(self, keys: object) -> None:
        """Refuse groups that are found in the data where the clause says that they are public."""
        if self.known and isinstance(keys, Private):
            raise QueryError(
                "group_selection_strategy = PUBLIC_GROUPS",
                "the groups are not known beforehand",
                "name them: WHERE page IN ('/a', '/b'), or declare the column's values",
            )

    def require_unit(self, scope: Lineage) -> None:
        """Refuse a person that is not the declared one."""
        if self.unit is None:
            return
        people = [column.name for column in scope.columns if column.typed.scalar in scope.units]
        if not any(same(self.unit, name) for name in people):
            told = f"the person is {people[0]}" if people else "every row is its own person here"
            raise QueryError(
                f"privacy_unit_column = {self.unit}",
                "is not the person that is declared",
                f"{told}; leave it out",
            )


def options(said: tuple[tuple[str, str], ...]) -> Options:
    """Return what a clause says, each option checked."""
    values = dict(said)
    for name in values:
        if name not in KNOWN:
            raise QueryError(
                f"OPTIONS, {name}", "is not an option that is known", f"known: {', '.join(KNOWN)}"
            )
    said_so = values.get("group_selection_strategy")
    strategy = None if said_so is None else _strategy(said_so)
    return Options(
        tuple((name, _positive(name, values[name])) for name in ("epsilon", "delta") if name in values),
        _whole(values, "max_rows_contributed"),
        _whole(values, "max_groups_contributed"),
        None if "privacy_unit_column" not in values else values["privacy_unit_column"].rpartition(".")[2],
        _whole(values, "rows_at_most"),
        known=strategy == "PUBLIC_GROUPS",
        weighted=None if strategy in (None, "PUBLIC_GROUPS") else strategy == "WEIGHTED_THRESHOLD",
    )


def _strategy(text: str) -> str:
    """Return how groups are found, where they are not declared, or that they are public."""
    if text.upper() not in STRATEGIES:
        raise QueryError(
            "OPTIONS, group_selection_strategy",
            "is not one that is known",
            f"write group_selection_strategy = {', or '.join(STRATEGIES)}",
        )
    return text.upper()


def _positive(name: str, text: str) -> Fraction:
    try:
        # Python would also take 1_0 for ten, and digits of other scripts.
        number = Decimal(text if text.isascii() and "_" not in text else 0)
    except InvalidOperation:
        number = Decimal(0)
    if not number.is_finite() or not 0 < number <= 1000 or number.adjusted() < -100 or len(text) > 40:
        raise QueryError(f"OPTIONS, {name}", "must be a number greater than 0", f"write {name} = 0.5")
    return Fraction(number)


def _whole(values: dict[str, str], name: str) -> int | None:
    text = values.get(name)
    if text is None or text.upper() == "NULL":
        return None
    if not (text.isdecimal() and text.isascii() and 1 <= len(text) <= 7):
        raise QueryError(f"OPTIONS, {name}", "must be a whole number", f"write {name} = 2")
    return int(text)
