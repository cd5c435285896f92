"""Changing the key of a ledger: one transaction, in which every dataset gets the entry that says so.

The new key is on the disk before anything is written under it, and takes the place of the old one only after
the commit; whoever opens the ledger in between finds the new key beside the old, and puts it in its place.
Other processes that have the ledger open hold the old key and are refused from then on: let them open anew.
"""

import os
from pathlib import Path

from discreet.errors import ParameterError
from discreet.ledger.anchor import Anchor, Marks
from discreet.ledger.chain import key_name, load_key, sync_directory
from discreet.ledger.check import Seals, kept_secret
from discreet.ledger.codec import digest
from discreet.ledger.entry import Rotated
from discreet.ledger.opening import connect, find_anchor, find_key, known, seals_of
from discreet.ledger.postgres import EVERYTHING
from discreet.ledger.rotation import conceal_key
from discreet.ledger.secret import conceal, reveal
from discreet.ledger.shield import shielded
from discreet.ledger.store import Store
from discreet.ledger.turn import Position, Turn, exclusively, fasten, read_marks, stand


def rotate_ledger(
    location: str | Path,
    *,
    reason: str,
    key: bytes | Path | None = None,
    anchor: Anchor | Path | str | None = None,
    target: Path | None = None,
) -> Path:
    """Give a ledger a new key, in `target` or in the place of the key file, and return where it is."""
    source = find_key(location, key)
    if target is not None:
        place = target
    elif isinstance(source, Path):
        place = Path(f"{source}.new")
    else:
        raise ParameterError(
            "the key comes from the environment, which only you can change: name a new file for the new key"
        )
    if target is not None and target.exists():
        raise ParameterError(f"{target} exists, and a key never replaces another file; choose a new name")

    def rotate() -> Path:
        _rotate(location, source, anchor, place, reason)
        if target is None and isinstance(source, Path):
            os.replace(place, source)
            sync_directory(source.parent)
            return source
        return place

    return shielded(rotate)


def _rotate(
    location: str | Path,
    source: bytes | Path | None,
    anchor: Anchor | Path | str | None,
    place: Path,
    reason: str,
) -> None:
    anchored = find_anchor(location, anchor)
    store = connect(location, create=False)
    try:
        seals = seals_of(store, known(store), source)
        place.unlink(missing_ok=True)  # left by a change that broke off before it wrote anything
        fresh = load_key(place, create=True)

        def change() -> tuple[Marks, list[tuple[str, Position]]]:
            marks = read_marks(anchored, seals.ledger)
            turned = [
                (dataset, _turn(store, seals, dataset, marks, fresh, reason)) for dataset in store.datasets()
            ]
            store.name_key(key_name(fresh))
            return marks, turned

        marks, turned = exclusively(store, EVERYTHING, change)
        renewed = seals_of(store, known(store), fresh)
        for dataset, position in turned:
            fasten(store, renewed, anchored, dataset, position, marks)
    finally:
        store.close()
        anchored.close()


def _turn(store: Store, seals: Seals, dataset: str, marks: Marks, fresh: bytes, reason: str) -> Position:
    """Add the first entry under the new key, and conceal under it what the old one concealed."""
    turn = Turn(store, seals, dataset, stand(store, seals, dataset, marks), marks)
    concealed: dict[int, bytes] = {}
    for number, standing in turn.account.streams.items():
        if standing.secret:
            place = seals.ledger, dataset, number, standing.step
            state = reveal(seals.key, *place, kept_secret(store, dataset, number, standing))
            concealed[number] = conceal(fresh, *place, state)
    states = tuple((number, digest(secret)) for number, secret in sorted(concealed.items()))
    row = turn.append(Rotated(key_name(fresh), states, reason), key=fresh)
    for number, secret in concealed.items():
        store.shelf.keep_secret(dataset, number, secret)
    former = conceal_key(fresh, seals.ledger, dataset, row.number, seals.key)
    store.shelf.keep_former_key(dataset, row.number, former)
    return turn.standing
