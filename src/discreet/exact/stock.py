"""Single draws from stock: a row of noise is drawn at once, and each number of it is handed out once.

A row of independent draws costs little more than a few of them, since most of what one costs is not the
drawing.  Numbers of a row are independent of each other and of whatever is asked meanwhile, so that it makes
no difference when they were drawn.

A stock belongs to one keystream, so to one thread of one process: a forked child, which inherits its parent's
memory, has another keystream, and begins with nothing in stock.  A number leaves the stock in the same step
in which it is handed out.  The first draw of a law is made by itself: many laws are drawn from once only.
"""

from collections.abc import Callable, Hashable
from typing import Any

from discreet.exact.coins import SYSTEM, Coins, source

ROW = 64
"""How many numbers are drawn at once."""

MOST_LAWS = 64
"""How many laws are kept in stock; what is left of them is thrown away where they are more."""


def from_stock(key: Hashable) -> int | None:
    """Return the next number of a law, if there is one in stock; under a test's coins there is none."""
    if source() is not SYSTEM:
        return None
    row = SYSTEM.stock().get(key)
    try:
        return row.pop() if row else None
    except IndexError:
        # A signal's handler took the last one in between.
        return None


def restock(key: Hashable, one: Callable[[Coins], int], several: Callable[[int, Coins], Any]) -> int:
    """Return one number, and put more in stock if the law was drawn from before."""
    coins = source()
    if coins is not SYSTEM:
        return one(coins)
    stock = SYSTEM.stock()
    if key not in stock:
        if len(stock) >= MOST_LAWS:
            stock.clear()
        stock[key] = []
        return one(coins)
    row: list[int] = several(ROW, coins).tolist()
    last = row.pop()
    # Drawing may have gone over to another keystream, whose stock is the one in force now.
    SYSTEM.stock()[key] = row
    return last
