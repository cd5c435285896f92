"""One precision for every independent computation in this room, and no stopwatch on any of them."""

from hypothesis import settings
from mpmath import mp

mp.dps = 60

settings.register_profile("unhurried", deadline=None)
settings.load_profile("unhurried")
