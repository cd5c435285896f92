"""The words that the editor completes: the clauses and functions of the language, and what is declared."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

CLAUSES = (
    *("SELECT", "FROM", "WHERE", "GROUP BY", "ORDER BY", "HAVING", "LIMIT", "WITH", "AS", "DISTINCT"),
    *("AND", "OR", "NOT", "IN", "BETWEEN", "LIKE", "ILIKE", "IS NULL", "IS NOT NULL", "EXISTS"),
    *("CASE", "WHEN", "THEN", "ELSE", "END", "ASC", "DESC", "NULL", "TRUE", "FALSE", "DATE", "TIMESTAMP"),
    *("JOIN", "LEFT JOIN", "FULL JOIN", "SEMI JOIN", "ANTI JOIN", "ON", "USING", "GROUPING SETS"),
    *("UNION", "UNION ALL", "INTERSECT", "EXCEPT", "OVER", "PARTITION BY", "QUALIFY"),
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
    "MIN": "SELECT MIN({number}) AS a FROM {table}",
    "MAX": "SELECT MAX({number}) AS a FROM {table}",
    "APPROX_QUANTILES": "SELECT APPROX_QUANTILES({number}, 2) AS a FROM {table}",
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
    "NULLIF": "SELECT SUM(NULLIF({number}, 3)) AS a FROM {table}",
    "GREATEST": "SELECT SUM(GREATEST({number}, 3)) AS a FROM {table}",
    "LEAST": "SELECT SUM(LEAST({number}, 3)) AS a FROM {table}",
    "CEIL": "SELECT SUM(CEIL({number})) AS a FROM {table}",
    "TRUNC": "SELECT SUM(TRUNC({number})) AS a FROM {table}",
    "SIGN": "SELECT SUM(SIGN({number})) AS a FROM {table}",
    "SQRT": "SELECT SUM(SQRT({number})) AS a FROM {table}",
    "LN": "SELECT SUM(LN({number} + 1)) AS a FROM {table}",
    "EXP": "SELECT SUM(EXP({number} / 9)) AS a FROM {table}",
    "POWER": "SELECT SUM(POWER({number}, 2)) AS a FROM {table}",
    "MOD": "SELECT SUM(MOD({number}, 7)) AS a FROM {table}",
    "CAST": "SELECT SUM(CAST({number} AS INTEGER)) AS a FROM {table}",
    "CONCAT": "SELECT COUNT(*) AS a FROM {table} WHERE CONCAT({key}, 'x') = 'ax'",
    "SUBSTRING": "SELECT COUNT(*) AS a FROM {table} WHERE SUBSTRING({key}, 1, 1) = 'a'",
    "LEFT": "SELECT COUNT(*) AS a FROM {table} WHERE LEFT({key}, 1) = 'a'",
    "RIGHT": "SELECT COUNT(*) AS a FROM {table} WHERE RIGHT({key}, 1) = 'a'",
    "REPLACE": "SELECT COUNT(*) AS a FROM {table} WHERE REPLACE({key}, 'a', 'b') = 'b'",
    "TRIM": "SELECT COUNT(*) AS a FROM {table} WHERE TRIM({key}) = 'a'",
    "STARTS_WITH": "SELECT COUNT(*) AS a FROM {table} WHERE STARTS_WITH({key}, 'a')",
    "SPLIT_PART": "SELECT COUNT(*) AS a FROM {table} WHERE SPLIT_PART({key}, '-', 1) = 'a'",
    "YEAR": "SELECT COUNT(*) AS a FROM {table} WHERE YEAR({day}) = 2025",
    "MONTH": "SELECT MONTH({day}) AS m, COUNT(*) AS a FROM {table} GROUP BY m",
    "QUARTER": "SELECT COUNT(*) AS a FROM {table} WHERE QUARTER({day}) = 2",
    "DAY": "SELECT COUNT(*) AS a FROM {table} WHERE DAY({day}) = 2",
    "DATE_TRUNC": "SELECT DATE_TRUNC('month', {day}) AS m, COUNT(*) AS a FROM {table} GROUP BY m",
    "DATE_DIFF": "SELECT COUNT(*) AS a FROM {table} WHERE DATE_DIFF('day', DATE '2025-01-01', {day}) < 9",
    "MAKE_DATE": "SELECT COUNT(*) AS a FROM {table} WHERE {day} < MAKE_DATE(2025, 6, 1)",
    "ROW_NUMBER": "WITH w AS (SELECT {number} FROM {table} QUALIFY ROW_NUMBER() OVER (PARTITION BY {unit} "
    "ORDER BY {day}) = 1) SELECT COUNT(*) AS a FROM w",
    "LAG": "WITH w AS (SELECT LAG({number}) OVER (PARTITION BY {unit} ORDER BY {day}) AS x FROM {table}) "
    "SELECT COUNT_IF(x > 0) AS a FROM w",
    "LEAD": "WITH w AS (SELECT LEAD({number}) OVER (PARTITION BY {unit} ORDER BY {day}) AS x FROM {table}) "
    "SELECT COUNT_IF(x > 0) AS a FROM w",
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
