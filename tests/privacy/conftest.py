"""One precision for every independent computation in this room."""

from mpmath import mp

mp.dps = 60
