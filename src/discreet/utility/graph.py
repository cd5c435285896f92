"""Which true answers are neighbours: the query graph.

A query turns neighbouring datasets into neighbouring answers.  Privacy of an oblivious mechanism
depends on the query only through this graph: a path for a count, all pairs at most d apart for a sum
whose summands are at most d, a cycle for an hour of the day, all pairs for a category.  Answers in
different components are never neighbours, even through a chain, so nothing has to be hidden between
them.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from discreet.errors import ParameterError
from discreet.mechanisms.table import Label, Pair, positions


@dataclass(frozen=True, slots=True)
class Graph:
    """True answers and the pairs of positions (i < j, sorted) that are neighbours."""

    nodes: tuple[Label, ...]
    edges: tuple[Pair, ...]

    def __post_init__(self) -> None:
        if not self.nodes:
            raise ParameterError("a query graph needs at least one answer")
        if len(set(self.nodes)) != len(self.nodes):
            raise ParameterError("the answers of a query graph must be distinct")
        if any(not 0 <= i < j < len(self.nodes) for i, j in self.edges):
            raise ParameterError(f"edges must be pairs of positions i < j below {len(self.nodes)}")
        if tuple(sorted(set(self.edges))) != self.edges:
            raise ParameterError("edges must be sorted and distinct")

    @classmethod
    def of(cls, nodes: Sequence[Label], neighbours: Iterable[tuple[Label, Label]]) -> "Graph":
        """Return the graph with these answers and these pairs of neighbouring answers."""
        return cls(tuple(nodes), positions(tuple(nodes), neighbours))

    def __len__(self) -> int:
        return len(self.nodes)

    @property
    def near(self) -> list[list[int]]:
        """The neighbours of each position, in increasing order."""
        around: list[list[int]] = [[] for _ in self.nodes]
        for i, j in self.edges:
            around[i].append(j)
            around[j].append(i)
        return around

    @property
    def is_path(self) -> bool:
        """Whether the answers form one line in their given order, as counts do."""
        return self.edges == tuple((i, i + 1) for i in range(len(self.nodes) - 1))

    @property
    def is_forest(self) -> bool:
        """Whether no chain of neighbours returns to where it began."""
        return len(self.edges) == len(self.nodes) - len(self.components())

    def components(self) -> list[list[int]]:
        """Return the positions of each connected part, parts ordered by their first position."""
        around, seen, parts = self.near, set[int](), []
        for start in range(len(self.nodes)):
            if start in seen:
                continue
            part = [start]
            seen.add(start)
            for place in part:
                fresh = [far for far in around[place] if far not in seen]
                seen.update(fresh)
                part.extend(fresh)
            parts.append(sorted(part))
        return parts

    def part(self, places: Sequence[int]) -> "Graph":
        """Return the graph restricted to some positions."""
        where = {place: k for k, place in enumerate(places)}
        kept = ((where[i], where[j]) for i, j in self.edges if i in where and j in where)
        return Graph(tuple(self.nodes[place] for place in places), tuple(sorted(kept)))

    def distances(self, start: int) -> list[int | None]:
        """Return how many steps each position is from `start`; None where no chain leads."""
        around: list[list[int]] = self.near
        steps: list[int | None] = [None] * len(self.nodes)
        steps[start] = 0
        queue = [start]
        for place in queue:
            for far in around[place]:
                if steps[far] is None:
                    steps[far] = (steps[place] or 0) + 1
                    queue.append(far)
        return steps

    def outward(self) -> Iterator[tuple[int, int | None]]:
        """Yield every position with its parent, parents first, one root (parent None) per component."""
        around, seen = self.near, set[int]()
        for start in range(len(self.nodes)):
            if start in seen:
                continue
            seen.add(start)
            queue: list[tuple[int, int | None]] = [(start, None)]
            for place, parent in queue:
                yield place, parent
                for far in around[place]:
                    if far not in seen:
                        seen.add(far)
                        queue.append((far, place))


def path(n: int) -> Graph:
    """Return the graph of a count among n people: 0, 1, ..., n in a line."""
    return band(n, 1)


def band(n: int, width: int) -> Graph:
    """Return the graph of a sum in 0, ..., n whose neighbours differ by at most `width`."""
    if n < 0:
        raise ParameterError(f"n must not be negative, got {n}")
    if width < 1:
        raise ParameterError(f"width must be at least 1, got {width}")
    pairs = ((i, j) for i in range(n + 1) for j in range(i + 1, min(i + width, n) + 1))
    return Graph(tuple(range(n + 1)), tuple(pairs))


def cycle(size: int) -> Graph:
    """Return the graph of an answer that goes round, such as the hour of the day."""
    if size < 3:
        raise ParameterError(f"a cycle needs at least 3 answers, got {size}")
    pairs = {(i, i + 1) for i in range(size - 1)} | {(0, size - 1)}
    return Graph(tuple(range(size)), tuple(sorted(pairs)))


def complete(labels: Sequence[Label]) -> Graph:
    """Return the graph of a category that one person can change at will."""
    size = len(labels)
    return Graph(tuple(labels), tuple((i, j) for i in range(size) for j in range(i + 1, size)))
