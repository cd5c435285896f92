"""A ledger without an anchor, as it is looked at before it has one, or when only a copy is at hand."""

from discreet.ledger.anchor import ANY, Mark, Marks


class Unanchored:
    """No anchor at all, for looking at a ledger that has none yet; it remembers nothing."""

    def __init__(self, ledger: str) -> None:
        self._nothing = Marks(ledger, {}, ANY)

    def read(self) -> Marks | None:
        """Return an anchor without marks."""
        return self._nothing

    def start(self, ledger: str) -> Marks:
        """Return an anchor without marks."""
        return self._nothing

    def move(self, marks: Marks, dataset: str, mark: Mark) -> Mark | None:
        """Do nothing."""
        return None

    def close(self) -> None:
        """Do nothing."""
