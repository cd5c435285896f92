"""The reference engine: what every statement means, in plain Python over rows.

It is slow and short on purpose: the judge in every comparison of engines, documentation of each function, and
good enough for tiny data.  `meaning` says what the functions are, `engine` what queries are.
"""

from discreet.engines.reference.engine import Reference, open_tables

__all__ = ["Reference", "open_tables"]
