"""Lower bounds on epsilon for black boxes, record and replay, and the attacks that motivate privacy."""

from discreet.audit.batch import audit, audit_pairs
from discreet.audit.evidence import Tally, epsilon_lower
from discreet.audit.neighbours import patterns, search
from discreet.audit.replay import Replay, replay
from discreet.audit.score import Event
from discreet.audit.sequential import audit_until
from discreet.audit.verdict import Consistent, Verdict, Violated

__all__ = [
    "Consistent",
    "Event",
    "Replay",
    "Tally",
    "Verdict",
    "Violated",
    "audit",
    "audit_pairs",
    "audit_until",
    "epsilon_lower",
    "patterns",
    "replay",
    "search",
]
