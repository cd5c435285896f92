"""Who may differ between two neighbouring datasets.

The five lectures use two notions.  Under *add-remove*, neighbours differ by the presence of one
unit; under *replace*, by the data of one unit, and the number of units is public.  A replacement is
a removal and an addition, so every add-remove guarantee holds under replace at twice the price, and
statements such as "a histogram has sensitivity 2" are about replace only.
"""

from dataclasses import dataclass
from enum import StrEnum

from discreet.errors import ParameterError
from discreet.exact.number import shown


class Adjacency(StrEnum):
    """The relation between neighbouring datasets."""

    ADD_REMOVE = "add-remove"
    REPLACE = "replace"

    @classmethod
    def of(cls, value: "Adjacency | str") -> "Adjacency":
        """Return the relation that was meant."""
        try:
            return cls(value)
        except ValueError:
            choices = " or ".join(repr(str(choice)) for choice in cls)
            raise ParameterError(f"adjacency must be {choices}, got {shown(value)}") from None


@dataclass(frozen=True, slots=True)
class Unit:
    """Whom the guarantee protects: the person a column identifies, or (None) each row by itself."""

    column: str | None = None
    adjacency: Adjacency = Adjacency.ADD_REMOVE
