"""Who may do what: one table, read by the gate before a request gets anywhere."""

from enum import StrEnum


class Role(StrEnum):
    """What somebody is to a dataset."""

    CURATOR = "curator"
    ANALYST = "analyst"
    AUDITOR = "auditor"


PROJECT = "project"
"""For what somebody works whom no curator has given a project."""


class Verb(StrEnum):
    """What can be done through the wall."""

    SELF = "self"
    DATASETS = "datasets"
    CATALOGUE = "catalogue"
    QUOTE = "quote"
    QUERY = "query"
    BATCH = "batch"
    BUDGET = "budget"
    HISTORY = "history"
    RECEIPT = "receipt"
    RECALL = "recall"
    PICTURE = "picture"
    VERIFY = "verify"
    LIMIT = "limit"
    CAP = "cap"
    METRICS = "metrics"
    SYSTEM = "system"
    DESCRIBE = "describe"
    STREAM = "stream"
    STEP = "step"
    STEPS = "steps"
    HEAD = "head"
    PEOPLE = "people"
    STREAMS = "streams"
    DRAFT = "draft"
    FIND = "find"
    SYNTHESISE = "synthesise"


STREAMING = frozenset({Verb.STREAM, Verb.STEP, Verb.STEPS, Verb.STREAMS})
RECALLING = frozenset({Verb.RECALL, Verb.FIND, Verb.PICTURE})
ASKING = RECALLING | STREAMING | {Verb.QUOTE, Verb.DESCRIBE, Verb.QUERY, Verb.BATCH, Verb.SYNTHESISE}

_READING = frozenset(
    {Verb.SELF, Verb.DATASETS, Verb.CATALOGUE, Verb.BUDGET, Verb.HISTORY, Verb.RECEIPT, Verb.SYSTEM}
)
_CHECKING = frozenset({Verb.METRICS, Verb.VERIFY, Verb.HEAD})
_ALLOWED = {
    Role.ANALYST: _READING | ASKING,
    Role.AUDITOR: _READING | _CHECKING,
    Role.CURATOR: _READING | ASKING | _CHECKING | {Verb.LIMIT, Verb.CAP, Verb.PEOPLE, Verb.DRAFT},
}


def may(role: Role, verb: Verb) -> bool:
    """Return whether somebody in this role may do this."""
    return verb in _ALLOWED[role]


def sees_all(role: Role) -> bool:
    """Return whether somebody sees what others spent and asked, and not only their own."""
    return role is not Role.ANALYST
