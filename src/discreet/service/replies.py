"""Replies that were written before: the same answer in the same form is the same bytes.

What is kept is found only with the answer in hand, which the ledger has just given to whoever asks now, and
only under the declarations that it was written for.  So nothing here decides who may see anything, and
nothing here is an answer that the ledger would not give again.
"""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import replace

from discreet.query.catalog.manifest import Catalog
from discreet.release.answer import Release
from discreet.service.reply import Reply

MOST = 128
LARGEST = 32 * 1024
"""Longer bodies are written anew each time."""


class Replies:
    """The newest replies that repeated an answer."""

    def __init__(self) -> None:
        self._kept: OrderedDict[Hashable, tuple[Catalog, Release, Reply]] = OrderedDict()

    def of(self, release: Release, catalog: Catalog, form: Hashable, write: Callable[[], Reply]) -> Reply:
        """Return an answer as a reply in some form, written now or before."""
        if not release.free:
            return write()
        key = form, release.question, release.receipt
        found = self._kept.get(key)
        # Equal in everything that is written, not only in its name.
        if found is not None and found[0] is catalog and found[1] == release:
            return found[2]
        made = write()
        if len(made.body) <= LARGEST:
            # A copy, so that rows that were worked out for writing are not kept as well.
            self._kept[key] = catalog, replace(release), made
            while len(self._kept) > MOST:
                self._kept.popitem(last=False)
        return made
