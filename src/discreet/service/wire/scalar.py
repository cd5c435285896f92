"""Functions and operators that clients use on the catalogue: total, and of public values only."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from discreet.service.wire import types
from discreet.service.wire.relations import CLASS, Catalogued, type_name
from discreet.service.wire.setting import VERSION

LONGEST_PATTERN = 200
LARGEST_VALUE = 10_000
"""No text has more characters, no array more members and no number more bits on the way to an answer."""


class Beyond(Exception):  # noqa: N818
    """Something that is not understood of a statement about the catalogue."""


def within(value: Any) -> Any:
    """Return a value that is not too large: each of so many steps could double it otherwise."""
    match value:
        case str() | list() if len(value) > LARGEST_VALUE:
            raise Beyond("so long a value")
        case int() if value.bit_length() > LARGEST_VALUE:
            raise Beyond("so large a number")
    return value


def joined(between: str, parts: Sequence[str]) -> str:
    """Return texts with another between them, if all of it is not too long."""
    if len(between) * len(parts) + sum(map(len, parts)) > LARGEST_VALUE:
        raise Beyond("so long a value")
    return between.join(parts)


@dataclass(frozen=True, slots=True)
class Context:
    """What functions may know: who asks, about which dataset, what is declared, and the settings."""

    user: str
    dataset: str
    found: tuple[Catalogued, ...]
    settings: Mapping[str, str]

    def table(self, number: object) -> Catalogued | None:
        """Return the declared table with this number."""
        return next((one for one in self.found if one.number == number), None)

    def number(self, name: object) -> int | None:
        """Return the number of a table of this name, with or without its schema."""
        plain = str(name).removeprefix("public.").replace('"', "")
        if plain.isdecimal():
            return int(plain)
        return next((one.number for one in self.found if one.name.lower() == plain.lower()), None)


def matches(value: Any, pattern: Any, *, fold: bool = False) -> bool | None:
    """Return whether a text matches a pattern of PostgreSQL, as far as clients use them to find names.

    Patterns are few and plain: anchors, groups, alternatives, dots and stars; anything else is refused, so
    that no pattern can take long.
    """
    if value is None or pattern is None:
        return None
    text, form = str(value), str(pattern)
    if len(form) > LONGEST_PATTERN or not re.fullmatch(
        r"(?:[\w^$()|. -]|\.\*|\\.|\[[\w-]*\]|\.\+|\[0-9\])*", form
    ):
        raise Beyond("a pattern")
    if form.count(".*") + form.count(".+") > 3:
        raise Beyond("a pattern")
    try:
        return re.search(form, text[:LONGEST_PATTERN], re.IGNORECASE if fold else 0) is not None
    except re.error:
        raise Beyond("a pattern") from None


def like(value: Any, pattern: Any, *, fold: bool = False) -> bool | None:
    """Return whether a text is like a pattern with % and _."""
    if value is None or pattern is None:
        return None
    form = str(pattern)
    if len(form) > LONGEST_PATTERN or form.count("%") > 3:
        raise Beyond("a pattern")
    parts = re.findall(r"\\.|.", form, re.DOTALL)
    told = {"%": ".*", "_": "."}
    regex = "".join(told.get(part) or re.escape(part.removeprefix("\\") or part) for part in parts)
    flags = re.DOTALL | (re.IGNORECASE if fold else 0)
    return re.fullmatch(regex, str(value)[:LONGEST_PATTERN], flags) is not None


def shown(value: Any) -> str | None:
    """Return a value as text."""
    match value:
        case None:
            return None
        case bool():
            return "t" if value else "f"
        case float():
            return repr(value).removesuffix(".0")
        case list():
            return types.written([shown(one) for one in value], "text[]", 0).decode()  # type: ignore[union-attr]
        case _:
            return str(value)


def _array_to_string(parts: Any, between: Any, missing: Any = None) -> str | None:
    if parts is None or between is None:
        return None
    told = [missing if one is None else shown(one) for one in parts]
    return joined(str(between), [str(one) for one in told if one is not None])


def _format(form: Any, *values: Any) -> str | None:
    if form is None:
        return None
    left = iter(values)
    return re.sub(r"%[sIL]", lambda _: shown(next(left, None)) or "", str(form))


def _quoted(name: Any) -> str | None:
    if name is None:
        return None
    plain = re.fullmatch(r"[a-z_][a-z0-9_$]*", str(name))
    return str(name) if plain else '"{}"'.format(str(name).replace('"', '""'))


def _setting(context: Context, name: Any) -> str:
    found = context.settings.get(str(name).lower())
    if found is None:
        raise Beyond(f"the setting {str(name)[:63]!r}")
    return found


def _type_number(name: Any) -> int | None:
    plain = str(name).lower().removeprefix("pg_catalog.")
    spelt = {type_name(kind.number): kind.number for kind in types.TYPES.values()}
    known = types.TYPES.get(plain)
    return known.number if known is not None else spelt.get(plain)


Function = Callable[..., Any]


def _constant(value: Any) -> tuple[str, Function]:
    kind = {bool: "bool", int: "int4", str: "text"}.get(type(value), "text")
    return kind, lambda *_: value


FUNCTIONS: Mapping[str, tuple[str, Function]] = {
    "version": _constant(f"PostgreSQL {VERSION}"),
    "current_schema": ("name", lambda _, *__: "public"),
    "current_schemas": ("name[]", lambda _, *__: ["public"]),
    "current_database": ("name", lambda context: context.dataset),
    "current_catalog": ("name", lambda context: context.dataset),
    "current_user": ("name", lambda context: context.user),
    "session_user": ("name", lambda context: context.user),
    "user": ("name", lambda context: context.user),
    "current_role": ("name", lambda context: context.user),
    "current_setting": ("text", lambda context, name, *_: _setting(context, name)),
    "pg_get_userbyid": ("name", lambda context, *_: context.user),
    "pg_table_is_visible": _constant(True),
    "pg_type_is_visible": _constant(True),
    "pg_function_is_visible": _constant(True),
    "has_table_privilege": _constant(True),
    "has_schema_privilege": _constant(True),
    "has_database_privilege": _constant(True),
    "has_column_privilege": _constant(True),
    "pg_is_in_recovery": _constant(False),
    "pg_is_other_temp_schema": _constant(False),
    "pg_my_temp_schema": _constant(0),
    "pg_backend_pid": _constant(0),
    "pg_advisory_unlock_all": ("text", lambda *_: ""),
    "txid_current": _constant(1),
    "pg_encoding_to_char": _constant("UTF8"),
    "getdatabaseencoding": _constant("UTF8"),
    "pg_size_pretty": _constant(""),
    "pg_table_size": ("int8", lambda *_: None),
    "pg_total_relation_size": ("int8", lambda *_: None),
    "pg_relation_size": ("int8", lambda *_: None),
    "pg_relation_is_publishable": _constant(False),
    "pg_get_expr": ("text", lambda *_: None),
    "pg_get_indexdef": ("text", lambda *_: None),
    "pg_get_constraintdef": ("text", lambda *_: None),
    "pg_get_viewdef": ("text", lambda *_: None),
    "pg_get_partkeydef": ("text", lambda *_: None),
    "pg_get_statisticsobjdef_columns": ("text", lambda *_: None),
    "pg_get_serial_sequence": ("text", lambda *_: None),
    "pg_get_function_result": ("text", lambda *_: None),
    "pg_get_function_arguments": ("text", lambda *_: None),
    "obj_description": ("text", lambda *_: None),
    "shobj_description": ("text", lambda *_: None),
    "col_description": ("text", lambda context, number, place: described(context, number, place)),
    "format_type": ("text", lambda _, number, *__: None if number is None else type_name(number)),
    "to_regclass": ("oid", lambda context, name: None if name is None else context.number(name)),
    "to_regtype": ("oid", lambda _, name: None if name is None else _type_number(name)),
    "quote_ident": ("text", lambda _, name: _quoted(name)),
    "format": ("text", lambda _, form, *values: _format(form, *values)),
    "array_to_string": ("text", lambda _, *given: _array_to_string(*given)),
    "array_length": ("int4", lambda _, parts, *__: None if not parts else len(parts)),
    "array_upper": ("int4", lambda _, parts, *__: None if not parts else len(parts)),
    "cardinality": ("int4", lambda _, parts: None if parts is None else len(parts)),
    "coalesce": ("", lambda _, *given: next((one for one in given if one is not None), None)),
    "nullif": ("", lambda _, one, other: None if one == other else one),
    "lower": ("text", lambda _, value: None if value is None else str(value).lower()),
    "upper": ("text", lambda _, value: None if value is None else str(value).upper()),
    "length": ("int4", lambda _, value: None if value is None else len(str(value))),
    "concat": ("text", lambda _, *given: "".join(shown(one) or "" for one in given)),
    "int4": ("int4", lambda _, value: None if value is None else int(value)),
    "now": _constant("2000-01-01 00:00:00"),
}
"""Functions by name: the type of what they return (none: that of the first argument), and what they do."""


def described(context: Context, number: Any, place: Any) -> str | None:
    """Return what is declared about a column."""
    table = context.table(number)
    if table is None or not isinstance(place, int) or not 1 <= place <= len(table.columns):
        return None
    return table.columns[place - 1][3] or None


def cast(context: Context, value: Any, target: str) -> Any:
    """Return a value as another type."""
    if value is None:
        return None
    match target:
        case "text" | "name" | "varchar" | "char":
            return shown(value)
        case "regclass":
            return _number(value, context.number)
        case "regtype":
            return _number(value, _type_number)
        case "regnamespace":
            return {"pg_catalog": 11, "public": 2200}.get(str(value), value)
        case "int2" | "int4" | "int8" | "oid" | "regproc" | "regprocedure":
            return _whole(value)
        case "bool":
            return value if isinstance(value, bool) else str(value).lower() in ("t", "true", "on", "1")
        case "float8" | "numeric":
            return float(value)
        case _ if target.endswith("[]"):
            return _listed(context, value, target.removesuffix("[]"))
        case _:
            raise Beyond(f"the type {target}")


def _number(value: Any, find: Callable[[Any], int | None]) -> int:
    if isinstance(value, int):
        return value
    plain = str(value).removeprefix("pg_catalog.")
    found = find(value)
    if found is None and plain.startswith("pg_"):
        # The system's own tables come up only to be compared with.
        found = CLASS if plain == "pg_class" else 0
    return _missing(value) if found is None else found


def _missing(value: Any) -> int:
    raise Beyond(f"the name {str(value)[:63]!r}")


def _whole(value: Any) -> int:
    try:
        return int(value)
    except ValueError:
        raise Beyond("a number") from None


def _listed(context: Context, value: Any, of: str) -> list[Any]:
    parts = value if isinstance(value, list) else [one for one in str(value).strip("{}").split(",") if one]
    return [cast(context, one, of) for one in parts]


def together(name: str, values: Sequence[Any], distinct: bool) -> tuple[bool, Any]:
    """Return whether a name is an aggregate, and its value."""
    kept = [one for one in values if one is not None]
    if distinct:
        kept = list(dict.fromkeys(kept))
    match name:
        case "count":
            return True, len(kept)
        case "array_agg":
            return True, list(values) or None
        case "min" | "max":
            return True, (min(kept) if name == "min" else max(kept)) if kept else None
        case "bool_or" | "bool_and" | "every":
            return True, (any(kept) if name == "bool_or" else all(kept)) if kept else None
        case "sum":
            return True, sum(kept) if kept else None
        case _:
            return False, None


AGGREGATES = {
    "count": "int8",
    "array_agg": "text[]",
    "min": "",
    "max": "",
    "bool_or": "bool",
    "bool_and": "bool",
}
AGGREGATES |= {"every": "bool", "sum": "int8", "string_agg": "text", "json_agg": "text", "jsonb_agg": "text"}
