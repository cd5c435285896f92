"""Two tables that differ by one person, opened once for many questions."""

from collections.abc import Callable
from typing import Any

from tests.query.questions import clinic
from tests.query.worlds import Row, open_world, requests

from discreet.engines.exact import EngineRequest
from discreet.query.check.measurement import Checked, Measurement
from discreet.query.check.question import check
from discreet.query.language.sql import read

Moved = list[tuple[Measurement, int, int]]


class Neighbours:
    """The clinic with and without one person's rows."""

    def __init__(self, others: list[Row], person: list[Row], *, unit: bool = True) -> None:
        self.unit = unit
        born = [{"person": name, "version": 0, "born": 1980} for name in ("p", "q", "eve")]
        self.engines = [open_world(rows, born, clinic(unit=unit)) for rows in (others + person, others)]

    def moved(
        self, question: str, sql: Callable[[Checked], list[EngineRequest]] = requests, **limits: Any
    ) -> Moved:
        """Return, per measurement, the l1 and the largest difference that the person makes."""
        checked = check(read(question), clinic(unit=self.unit, **limits))
        with_person, without = (engine._exact(sql(checked), 3)._totals for engine in self.engines)
        result = []
        for position, measured in enumerate(checked.measurements):
            if isinstance(measured, Measurement):
                one, other = with_person[f"m{position}"], without[f"m{position}"]
                change = [abs(one.get(key, 0) - other.get(key, 0)) for key in {*one, *other}]
                result.append((measured, sum(change), max(change, default=0)))
        return result

    def honest(self, question: str, **limits: Any) -> bool:
        """Whether the claims of all measurements hold for this person."""
        moved = self.moved(question, **limits)
        return all(l1 <= m.sensitivity.l1 and top <= m.sensitivity.linf for m, l1, top in moved)
