"""Who may differ between two neighbouring datasets.

The five lectures use two notions.  Under *add-remove*, neighbours differ by the presence of one
unit; under *replace*, by the data of one unit, and the number of units is public.  A replacement is
a removal and an addition, so every add-remove guarantee holds under replace at twice the price, and
statements such as "a histogram has sensitivity 2" are about replace only.
"""

from dataclasses import dataclass
from enum import StrEnum


class Adjacency(StrEnum):
    """The relation between neighbouring datasets."""

    ADD_REMOVE = "add-remove"
    REPLACE = "replace"


@dataclass(frozen=True, slots=True)
class Unit:
    """Whom the guarantee protects: the person a column identifies, or (None) each row by itself."""

    column: str | None = None
    adjacency: Adjacency = Adjacency.ADD_REMOVE
