"""A stream from the analyst's side of the wall: the same values, with its book at the other end of the line.

Whatever may be sent again is: a stream is found by its name and a step by its number, so neither is paid or
counted twice.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from discreet.errors import ServiceError
from discreet.ledger.codec import read_cost, write_cost
from discreet.privacy.adjacency import Adjacency
from discreet.release.stream import NamedStream, changes_of
from discreet.service.line import Line
from discreet.workload.codec import decode_counter
from discreet.workload.stream import RunningCount


@dataclass(frozen=True, slots=True)
class RemoteBook:
    """The book of a stream behind a service."""

    line: Line
    dataset: str
    name: str

    def take(self, first: int, increments: list[int]) -> list[RunningCount]:
        """Send steps; sent again, they return what they released."""
        sent = {"name": self.name, "first": first, "increments": increments}
        return _read(self.line.post("v1", "datasets", self.dataset, "steps", body=sent))

    def recorded(self, first: int, last: int) -> list[RunningCount]:
        """Ask for what was released."""
        return _read(self._asked(first, last))

    @property
    def steps(self) -> int:
        """Ask how many steps were released."""
        return int(self._asked(1, 1)["steps"])

    def _asked(self, first: int, last: int) -> Any:
        place = "v1", "datasets", self.dataset, "steps"
        return self.line.get(*place, stream=self.name, first=first, last=last)


def connected(line: Line, dataset: str, body: Mapping[str, Any], length: int | None) -> NamedStream:
    """Return a stream behind a service; refuse one whose price or length does not follow from its noise."""
    counter = decode_counter(body["counter"])
    adjacency, each = Adjacency(body["neighbours"]), int(body["contribution"])
    cost = read_cost(body["cost"])
    kept = counter.guarantee.group(changes_of(each, adjacency)).price()
    if write_cost(cost)[:3] != write_cost(kept)[:3] or length not in (None, counter.length):
        raise ServiceError("the service describes a stream that does not cost what its noise promises")
    book = RemoteBook(line, dataset, body["name"])
    return NamedStream(body["name"], counter, each, adjacency, dataset, cost, book)


def _read(body: Mapping[str, Any]) -> list[RunningCount]:
    return [RunningCount(int(step), value, float(off)) for step, value, off in body["counts"]]
