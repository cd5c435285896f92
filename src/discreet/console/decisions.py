"""A curator's decisions as a manifest, and what each of them does: worked out from the declarations alone.

Nothing here opens a source.  Errors are those of quotes at a tenth of the budget, so they are what an analyst
would be told; beside each decision stands the error of a question before and after it is doubled.
"""

import re
from collections.abc import Iterator, Mapping
from copy import deepcopy
from datetime import date
from fractions import Fraction
from typing import Any

from discreet.errors import CatalogError, DiscreetError, ParameterError, QueryError
from discreet.query.catalog.manifest import Catalog, declare
from discreet.query.price.words import lines
from discreet.release.pricing import check_question, price_question
from discreet.service.catalogue import published

SHARE = Fraction(1, 10)
"""The part of the budget that a sample question costs."""

SAMPLED = 4
"""So many columns of each kind are sampled."""

LIMITS = ("rows_per_unit", "groups_per_unit")
FIELDS = {
    "integer": ("low", "high"),
    "decimal": ("low", "high", "step"),
    "date": ("low", "high"),
    "text": ("values",),
    "boolean": (),
    "timestamp": (),
}
"""What is asked about a column of each type."""

_WHOLE = re.compile(r"[+-]?[0-9]{1,18}")


def document(given: Mapping[str, str], source: str, csv: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the manifest that a form describes."""
    name = given.get("name", "").strip()
    table: dict[str, Any] = {"source": source, **({"csv": dict(csv)} if csv else {}), **_whom(given)}
    table["columns"] = dict(_columns(given))
    budget = {word: given.get(word, "").strip() for word in ("epsilon", "delta", "questions")}
    return {
        "dataset": {"name": name, "ledger": f"{name}.ledger"},
        "budget": {word: _number(text) for word, text in budget.items() if text},
        "tables": {given.get("table", "").strip(): table},
    }


def _whom(given: Mapping[str, str]) -> dict[str, Any]:
    """Return who is protected, and how much of one person counts."""
    kind, _, column = given.get("unit", "").partition(":")
    if kind not in ("row", "column"):
        raise ParameterError("unit: say who is protected: the column that identifies a person, or every row")
    said: dict[str, Any] = {"unit": column if kind == "column" else "row"}
    if given.get("neighbours") == "replace":
        said["neighbours"] = "replace"
    limits = {word: given.get(word, "").strip() for word in LIMITS} if kind == "column" else {}
    return said | {word: _number(text) for word, text in limits.items() if text}


def _columns(given: Mapping[str, str]) -> Iterator[tuple[str, dict[str, Any]]]:
    number = 0
    while (name := given.get(f"c{number}.name")) is not None:
        kind = given.get(f"c{number}.type", "")
        if kind and given.get("unit") != f"column:{name}":
            stated = {word: given.get(f"c{number}.{word}", "").strip() for word in FIELDS.get(kind, ())}
            yield (
                name,
                {"type": kind, **{word: _stated(kind, word, text) for word, text in stated.items() if text}},
            )
        number += 1


def _stated(kind: str, word: str, text: str) -> Any:
    if word == "values":
        return [line.strip() for line in text.split("\n") if line.strip()]
    if kind == "date":
        try:
            return date.fromisoformat(text)
        except ValueError:
            return text
    return text if word == "step" else _number(text)


def _number(text: str) -> int | str:
    return int(text) if text.isascii() and _WHOLE.fullmatch(text) else text


def checked(made: Mapping[str, Any]) -> Catalog:
    """Return what a manifest declares, or refuse it in the words of whoever reads manifests."""
    catalog = declare(made)
    if catalog.budget is None or "epsilon" not in made["budget"]:
        raise CatalogError("epsilon: say how much all answers together may ever cost")
    return catalog


def promised(catalog: Catalog) -> dict[str, Any]:
    """Return what analysts would read about the dataset."""
    return published(catalog)


def weighed(made: Mapping[str, Any]) -> dict[str, Any]:
    """Return the errors of sample questions, and what doubling each decision does to one of them."""
    samples = [{"question": told, **_error(made, sql)} for told, sql, _ in _samples(made)]
    effects = [one for one in _effects(made) if one["before"] != one["after"]]
    return {"samples": samples, "effects": effects}


def _samples(made: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Return questions about the table: in short, in full, and which column they are about."""
    ((name, table),) = made["tables"].items()
    source, unit = _quoted(name), table["unit"]
    yield "COUNT(*)", f"SELECT COUNT(*) AS a FROM {source}", ""
    if unit != "row":
        yield f"COUNT(DISTINCT {unit})", f"SELECT COUNT(DISTINCT {_quoted(unit)}) AS a FROM {source}", ""
    numbers = [column for column, said in table["columns"].items() if said["type"] in ("integer", "decimal")]
    bounded = [column for column in numbers if "low" in table["columns"][column]]
    for column in bounded[:SAMPLED]:
        for call in ("SUM", "AVG"):
            yield f"{call}({column})", f"SELECT {call}({_quoted(column)}) AS a FROM {source}", column
    keyed = [column for column, said in table["columns"].items() if said.get("values")]
    what = "COUNT(*)" if unit == "row" else f"COUNT(DISTINCT {_quoted(unit)})"
    for column in keyed[:SAMPLED]:
        key = _quoted(column)
        short = "COUNT(*)" if unit == "row" else f"COUNT(DISTINCT {unit})"
        yield f"{short} GROUP BY {column}", f"SELECT {key}, {what} AS a FROM {source} GROUP BY {key}", column


def _effects(made: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Return, for each decision, the error of a question that it matters for: as it is, and doubled."""
    ((name, table),) = made["tables"].items()
    samples = list(_samples(made))
    rows = samples[0]
    grouped = next((one for one in samples if "GROUP BY" in one[0]), None)
    wide = deepcopy(dict(made))
    own = wide["tables"][name]
    for word, sample in (("rows_per_unit", rows), ("groups_per_unit", grouped)):
        if isinstance(table.get(word), int) and sample is not None:
            own[word] = 2 * table[word]
            yield _compared(made, wide, sample, word, own[word])
            own[word] = table[word]
    for told, sql, column in samples:
        if told.startswith("SUM("):
            spec, before = own["columns"][column], dict(table["columns"][column])
            spec |= {word: _doubled(before[word]) for word in ("low", "high")}
            yield _compared(made, wide, (told, sql, column), "bounds", f"{spec['low']} … {spec['high']}")
            own["columns"][column] = before
    epsilon = _doubled(made["budget"]["epsilon"])
    wide["budget"] = {**made["budget"], "epsilon": epsilon}
    yield _compared(made, wide, rows, "epsilon", epsilon)


def _compared(
    made: Mapping[str, Any], other: Mapping[str, Any], sample: tuple[str, str, str], word: str, value: object
) -> dict[str, Any]:
    told, sql, column = sample
    before, after = _error(made, sql), _error(other, sql)
    said = {"word": word, "column": column, "value": str(value), "question": told}
    return said | {"before": before["error"], "after": after["error"]}


def _doubled(value: Any) -> Any:
    if isinstance(value, int):
        return 2 * value
    exact = 2 * Fraction(str(value))
    return exact.numerator if exact.denominator == 1 else str(exact)


def _error(made: Mapping[str, Any], sql: str) -> dict[str, str]:
    """Return how far off an answer may be at its share of the budget, or why there is none."""
    try:
        catalog = declare(made)
        if catalog.budget is None:
            raise CatalogError("there is no budget")
        priced = price_question(catalog, check_question(catalog, sql, None), SHARE * catalog.budget.epsilon)
    except QueryError as refused:
        return {"error": "", "why": f"{refused.reason}; {refused.instead}"}
    except DiscreetError as refused:
        return {"error": "", "why": str(refused)}
    return {"error": lines(priced)[-1][1], "why": ""}


def _quoted(name: str) -> str:
    escaped = name.replace('"', '""')
    return f'"{escaped}"'
