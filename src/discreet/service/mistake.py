"""What was wrong with a request, in plain words: which member, and what is expected of it.

Nothing that was sent is repeated but the names of members, and nothing of the machinery shows that looked at
them.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from discreet.service.problem import ServiceProblem

MOST = 10
"""So many mistakes are named."""

LONGEST_NAME = 60
OTHERWISE = "is not what /openapi.json describes"
"""What is said of a mistake that has no words of its own."""


def mistaken(errors: Iterable[Mapping[str, Any]]) -> ServiceProblem:
    """Return the refusal of a request in which these mistakes were found."""
    found = list(errors)
    unreadable = next((one for one in found if one["type"] == "json_invalid"), None)
    if unreadable is not None:
        return ServiceProblem("malformed", f"the body is not JSON: {unreadable['ctx']['error'].lower()}")
    said = [f"{_member(one['loc'])} {_words(one)}" for one in found[:MOST]]
    return ServiceProblem("parameter", "; ".join(dict.fromkeys(said)))


def _member(place: tuple[str | int, ...]) -> str:
    """Return the name of a member; the first part of a place says only where requests have it."""
    named = ".".join(map(str, place[1:])) or "the body"
    return named if len(named) <= LONGEST_NAME else f"{named[:LONGEST_NAME]}..."


def _words(error: Mapping[str, Any]) -> str:
    """Return what is expected, by the kind of mistake."""
    given = error.get("ctx", {})
    match error["type"]:
        case "expected":
            return f"must be {error['msg']}"
        case "missing":
            return "is missing"
        case "extra_forbidden":
            return "is not known here"
        case "bool_type" | "bool_parsing":
            return "must be true or false"
        case "string_type":
            return "must be text"
        case "string_unicode":
            return "must be valid Unicode, without surrogates"
        case "int_type" | "int_parsing" | "int_parsing_size" | "int_from_float":
            return "must be a whole number"
        case "list_type":
            return "must be a list"
        case "dict_type" | "model_type" | "model_attributes_type":
            return "must be an object, and a body one of the type application/json"
        case "literal_error":
            return f"must be {given['expected']}"
        case "greater_than_equal":
            return f"must be at least {given['ge']}"
        case "less_than_equal":
            return f"must be at most {given['le']}"
        case "string_too_short":
            return f"must have at least {given['min_length']} character(s)"
        case "string_too_long":
            return f"must have at most {given['max_length']} characters"
        case "too_short":
            return f"must have at least {given['min_length']} member(s)"
        case "too_long":
            return f"must have at most {given['max_length']} members"
        case "string_pattern_mismatch":
            return "has characters that are not understood there"
        case _:
            return OTHERWISE
