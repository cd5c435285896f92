"""A mapping that never changes is at every moment what a dictionary would be, and stays it."""

import random

from discreet.ledger.trie import Trie, trie


class Clumsy(str):
    """A key whose hash says next to nothing."""

    def __hash__(self) -> int:
        return len(self) % 2


def test_it_is_what_a_dictionary_is_and_old_versions_stay():
    for kind in (int, Clumsy):
        chance = random.Random(kind.__name__)
        held: dict[object, int] = {}
        values: Trie[object, int] = trie({})
        kept: list[tuple[Trie[object, int], dict[object, int]]] = []
        for step in range(600):
            key = kind(chance.randrange(150))
            if chance.random() < 0.7:
                values, held = values.set(key, step), {**held, key: step}
            else:
                values, held = values.without(key), {k: v for k, v in held.items() if k != key}
            kept.append((values, held))
        for then, expected in kept[::50]:
            assert dict(then.pairs()) == dict(then.items()) == expected
            assert len(then) == len(list(then.pairs())) == len(expected)
            for key in map(kind, range(150)):
                assert then.get(key) == expected.get(key)
                assert then.get(key, -1) == expected.get(key, -1)
