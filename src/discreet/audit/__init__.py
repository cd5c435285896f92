"""Lower bounds on epsilon for black boxes, record and replay, and the attacks that motivate privacy.

The room is named after its first function, and can be called like it: `dp.audit(...)` works whether or not
the room was imported before.
"""

import sys
from types import ModuleType
from typing import Any

from discreet.errors import ExtraError

try:
    import scipy  # noqa: F401 - every verdict needs its tails of the binomial law
except ImportError:
    raise ExtraError("auditing", "lab") from None

from discreet.audit.batch import assert_consistent, audit
from discreet.audit.evidence import Tally, epsilon_lower
from discreet.audit.neighbours import audit_pairs, patterns, search
from discreet.audit.replay import Replay, replay
from discreet.audit.score import Event
from discreet.audit.sequential import audit_until
from discreet.audit.verdict import Consistent, Dependent, Raised, Verdict, Violated

__all__ = [
    "Consistent",
    "Dependent",
    "Event",
    "Raised",
    "Replay",
    "Tally",
    "Verdict",
    "Violated",
    "assert_consistent",
    "audit",
    "audit_pairs",
    "audit_until",
    "epsilon_lower",
    "patterns",
    "replay",
    "search",
]


class _AuditRoom(ModuleType):
    """A module that answers a call as the function of the same name."""

    def __call__(self, *arguments: Any, **options: Any) -> Verdict:
        """Test a claim; see `audit`."""
        return audit(*arguments, **options)


sys.modules[__name__].__class__ = _AuditRoom
