"""What the store keeps of a stream tells nothing: not by repeating itself, and not by its length."""

import pytest
from tests.ledger.world import KEY, Place

from discreet.errors import LedgerError
from discreet.ledger.rotation import conceal_key, earlier_keys
from discreet.ledger.secret import conceal, reveal
from discreet.privacy.filter import ApproximateBudget, PureBudget
from discreet.release.stream import open_stream

PLACE = ("ledger", "clinic", 7, 3)


def test_the_same_state_is_never_concealed_alike():
    found = {conceal(KEY, *PLACE, b"state") for _ in range(200)}
    assert len(found) == 200
    assert len({one[:12] for one in found}) == 200, "a nonce came twice"
    assert {reveal(KEY, *PLACE, one) for one in found} == {b"state"}


@pytest.mark.parametrize(
    ("key", "place"),
    [
        (bytes(32), PLACE),
        (KEY, ("other", "clinic", 7, 3)),
        (KEY, ("ledger", "school", 7, 3)),
        (KEY, ("ledger", "clinic", 8, 3)),
        (KEY, ("ledger", "clinic", 7, 4)),
    ],
)
def test_a_state_is_read_only_where_it_belongs(key: bytes, place: tuple):
    with pytest.raises(LedgerError, match="not its own"):
        reveal(key, *place, conceal(KEY, *PLACE, b"state"))


def test_former_keys_are_never_concealed_alike_and_only_read_by_the_next():
    old, new = bytes(range(32)), bytes(range(1, 33))
    found = {conceal_key(new, "ledger", "clinic", 9, old) for _ in range(200)}
    assert len({one[:12] for one in found}) == 200
    kept = [("clinic", 9, next(iter(found)))]
    assert earlier_keys(new, "ledger", kept) == {"clinic": ((9, old),)}
    for key, rows in ((old, kept), (new, [("clinic", 10, kept[0][2])]), (new, [("school", 9, kept[0][2])])):
        with pytest.raises(LedgerError, match="former key"):
            earlier_keys(key, "ledger", rows)


@pytest.mark.parametrize("budget", [PureBudget(10), ApproximateBudget(10, "1e-6")])
def test_the_length_of_a_state_does_not_tell_how_large_the_counts_are(file: Place, budget):
    lengths: dict[int, list[int]] = {}
    with file.open() as ledger:
        ledger.create_dataset("clinic", budget, reason="opened")
        for size in (0, 10**6):
            stream = open_stream(
                ledger, budget, "clinic", "p", "a", f"of {size}", length=16, epsilon=1, contribution=1
            )
            for step in range(1, 9):
                stream.add(size, step=step)
                secret = dict(ledger._store.shelf.secrets("clinic"))[stream.book.right.number]
                lengths.setdefault(size, []).append(len(secret))
    assert lengths[0] == lengths[10**6]
