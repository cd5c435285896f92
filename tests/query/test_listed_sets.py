"""GROUPING SETS may list many short sets; nothing else of a question grows by that."""

from itertools import combinations

import pytest

from discreet.errors import QueryError
from discreet.query.language.sql import LISTED_LIMIT, NODE_LIMIT, read

COLUMNS = [f"c{k}" for k in range(14)]


def sets(listed: object) -> str:
    return f"SELECT {', '.join(COLUMNS)}, COUNT(*) AS n FROM t GROUP BY GROUPING SETS ({listed})"


def pairs(columns: list[str]) -> list[str]:
    return [f"({one}, {other})" for one, other in combinations(columns, 2)]


def test_all_pairs_of_fourteen_columns_are_read():
    block = read(sets(", ".join(pairs(COLUMNS))))
    assert len(block.group) == 14
    assert block.sets == tuple(combinations(range(14), 2))


def test_what_is_listed_has_a_limit_of_its_own():
    many = pairs([f"x{k}" for k in range(30)])
    assert 5 * len(many) > LISTED_LIMIT
    with pytest.raises(QueryError, match=f"GROUPING SETS: has more than {LISTED_LIMIT} parts"):
        read(sets(", ".join(many)))
    with pytest.raises(QueryError, match=f"GROUPING SETS: has more than {LISTED_LIMIT} parts"):
        read(sets(f"({', '.join(['c1'] * LISTED_LIMIT)})"))


@pytest.mark.parametrize(
    "listed",
    [
        ", ".join(f"(c1 + {k}, c2)" for k in range(NODE_LIMIT)),
        ", ".join(f"CUBE (c{k % 14})" for k in range(NODE_LIMIT)),
        ", ".join(["(c1)"] * NODE_LIMIT),
    ],
    ids=["expressions", "cubes", "parentheses"],
)
def test_what_is_more_than_a_column_counts_as_ever(listed: str):
    with pytest.raises(QueryError, match=f"more than {NODE_LIMIT} parts"):
        read(sets(listed))


def test_the_rest_of_a_question_counts_as_ever():
    many = ", ".join(f"COUNT_IF(c1 = {k})" for k in range(NODE_LIMIT // 4))
    with pytest.raises(QueryError, match=f"more than {NODE_LIMIT} parts"):
        read(f"SELECT {many} FROM t GROUP BY GROUPING SETS ((c1, c2))")


def test_a_listed_name_is_looked_at_like_any_other():
    with pytest.raises(QueryError, match="__"):
        read(sets("(c1, __stored_people)"))
