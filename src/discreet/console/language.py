"""The words that the editor completes: the clauses and functions of the language, and what is declared."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

CLAUSES = (
    *(
        "SELECT",
        "FROM",
        "WHERE",
        "GROUP BY",
        "ORDER BY",
        "HAVING",
        "LIMIT",
        "JOIN",
        "ON",
        "AS",
        "AND",
        "OR",
        "NOT",
    ),
    *("IN", "BETWEEN", "LIKE", "IS NULL", "CASE", "WHEN", "THEN", "ELSE", "END", "DISTINCT", "DESC"),
)
FUNCTIONS = {
    "COUNT": "SELECT COUNT(*) AS a FROM {table}",
    "SUM": "SELECT SUM({number}) AS a FROM {table}",
    "AVG": "SELECT AVG({number}) AS a FROM {table}",
    "MEDIAN": "SELECT MEDIAN({number}) AS a FROM {table}",
    "QUANTILE": "SELECT QUANTILE({number}, 0.9) AS a FROM {table}",
    "QUANTILES": "SELECT QUANTILES({number}, [0.25, 0.5, 0.75]) AS a FROM {table}",
    "CDF": "SELECT CDF({number}) AS a FROM {table}",
    "HISTOGRAM": "SELECT HISTOGRAM({number}, 10) AS a FROM {table}",
    "MODE": "SELECT MODE({key}) AS a FROM {table}",
    "VARIANCE": "SELECT VARIANCE({number}) AS a FROM {table}",
    "STDDEV": "SELECT STDDEV({number}) AS a FROM {table}",
    "COUNT_IF": "SELECT COUNT_IF({number} > 1) AS a FROM {table}",
    "CUBE": "SELECT {key}, COUNT(*) AS a FROM {table} GROUP BY CUBE ({key})",
    "ROLLUP": "SELECT {key}, COUNT(*) AS a FROM {table} GROUP BY ROLLUP ({key})",
    "EXTRACT": "SELECT COUNT(*) AS a FROM {table} WHERE EXTRACT(month FROM DATE '2025-01-31') > 0",
    "ABS": "SELECT SUM(ABS({number})) AS a FROM {table}",
    "ROUND": "SELECT SUM(ROUND({number})) AS a FROM {table}",
    "FLOOR": "SELECT SUM(FLOOR({number})) AS a FROM {table}",
    "LOWER": "SELECT COUNT(*) AS a FROM {table} WHERE LOWER({key}) = 'a'",
    "UPPER": "SELECT COUNT(*) AS a FROM {table} WHERE UPPER({key}) = 'A'",
    "LENGTH": "SELECT COUNT(*) AS a FROM {table} WHERE LENGTH({key}) > 1",
    "COALESCE": "SELECT SUM(COALESCE({number}, 0)) AS a FROM {table}",
}
"""What can be called, each with a question that calls it, which the tests quote."""

MOST = 2000


def words(declared: Mapping[str, Any]) -> str:
    """Return the words as JSON: what to write, and what it is."""
    found = [
        *_declared(declared),
        *((name, "function") for name in FUNCTIONS),
        *((word, "clause") for word in CLAUSES),
    ]
    return json.dumps(found[:MOST], ensure_ascii=False)


def _declared(declared: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for table, body in declared["tables"].items():
        yield table, "table"
        for column, said in body["columns"].items():
            yield column, f"{table}, {said['type']}"
    for name in declared.get("views", {}):
        yield name, "view"
