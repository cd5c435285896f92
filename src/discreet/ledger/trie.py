"""A mapping that never changes: setting a key returns a new one that shares almost everything with the old.

A branch has 32 children, told apart by five bits of the key's hash; a leaf is a small dictionary.  Setting a
key copies one leaf and the few branches above it, so an account of a hundred thousand analysts has a new
version in microseconds, and the version before it stays what it was, for whoever has to go back.
"""

from collections.abc import Hashable, Iterator, Mapping
from typing import Any, Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")
Node = Any
"""A leaf, which is a dictionary, or a branch, which is a tuple of nodes."""

BITS, LEAF, DEEPEST = 5, 16, 10
MASK = 2**BITS - 1


class Trie(Mapping[Key, Value], Generic[Key, Value]):
    """An immutable mapping; use `trie` to make one."""

    __slots__ = ("_root", "_size")

    def __init__(self, root: Node, size: int) -> None:
        self._root = root
        self._size = size

    def __getitem__(self, key: Key) -> Value:
        node, bits = self._root, hash(key)
        while type(node) is tuple:
            node = node[bits & MASK]
            bits >>= BITS
        found: Value = node[key]
        return found

    def __contains__(self, key: object) -> bool:
        node, bits = self._root, hash(key)
        while type(node) is tuple:
            node = node[bits & MASK]
            bits >>= BITS
        return key in node

    def get(self, key: Any, default: Any = None) -> Any:
        """Return the value of a key, or something else where there is none."""
        node, bits = self._root, hash(key)
        while type(node) is tuple:
            node = node[bits & MASK]
            bits >>= BITS
        return node.get(key, default)

    def pairs(self) -> Iterator[tuple[Key, Value]]:
        """Return all keys with their values, none of which has to be looked up."""
        waiting = [self._root]
        while waiting:
            node = waiting.pop()
            if type(node) is tuple:
                waiting.extend(node)
            else:
                yield from node.items()

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[Key]:
        return (key for key, _ in self.pairs())

    def __repr__(self) -> str:
        return f"trie({dict(self)!r})"

    def __hash__(self) -> int:
        return hash(frozenset(self.items()))

    def set(self, key: Key, value: Value) -> "Trie[Key, Value]":
        """Return the mapping in which the key has this value."""
        if type(self._root) is dict:
            leaf = {**self._root, key: value}
            return Trie(_split(leaf, 0), len(leaf))
        return Trie(_set(self._root, hash(key), 0, key, value), self._size + (key not in self))

    def without(self, key: Key) -> "Trie[Key, Value]":
        """Return the mapping without a key."""
        if key not in self:
            return self
        return Trie(_without(self._root, hash(key), key), self._size - 1)


def trie(values: Mapping[Key, Value]) -> Trie[Key, Value]:
    """Return an immutable mapping with these values."""
    if isinstance(values, Trie):
        return values
    return Trie(_split(dict(values), 0), len(values))


def _split(leaf: dict[Any, Any], depth: int) -> Node:
    if len(leaf) <= LEAF or depth == DEEPEST:
        return leaf
    parts: list[dict[Any, Any]] = [{} for _ in range(MASK + 1)]
    for key, value in leaf.items():
        parts[hash(key) >> depth * BITS & MASK][key] = value
    return tuple(_split(part, depth + 1) for part in parts)


def _set(node: Node, bits: int, depth: int, key: Any, value: Any) -> Node:
    if type(node) is tuple:
        return _exchanged(node, bits & MASK, _set(node[bits & MASK], bits >> BITS, depth + 1, key, value))
    return _split({**node, key: value}, depth)


def _without(node: Node, bits: int, key: Any) -> Node:
    if type(node) is tuple:
        return _exchanged(node, bits & MASK, _without(node[bits & MASK], bits >> BITS, key))
    return {k: v for k, v in node.items() if k != key}


def _exchanged(branch: Node, place: int, child: Node) -> Node:
    children = list(branch)
    children[place] = child
    return tuple(children)
