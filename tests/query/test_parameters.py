"""Marks of parameters are found wherever they stand, and only there; their values are constants."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlglot import exp
from sqlglot.dialects.dialect import Dialect

from discreet.errors import QueryError
from discreet.query.language.dialect import DIALECTS, manner_of
from discreet.query.language.parameter import parameters
from discreet.query.language.sql import read
from discreet.query.language.text import parsed
from discreet.query.language.token import split

DOLLARS = ("standard", "duckdb", "postgres", "redshift", "snowflake", "spark", "databricks")
"""Dialects in which $1 is a parameter."""

QUOTING = ("standard", "postgres", "redshift")
"""Those in which $$ ... $$ is a text as well."""


def marks(text: str, dialect: str) -> list[str]:
    """Return the names of the parameters of a text, in order."""
    return named(parsed(text, manner_of(dialect)).tree)


def named(tree: exp.Expr) -> list[str]:
    found = tree.find_all(exp.Parameter, exp.Placeholder, bfs=False)
    names = [one.this.name if isinstance(one.this, exp.Expr) else str(one.this) for one in found]
    return [name.removesuffix("_") for name in names]


@pytest.mark.parametrize("dialect", DOLLARS)
@pytest.mark.parametrize(
    ("crowded", "apart"),
    [
        ("ward IN ($1,$2)", "ward IN ( $1 , $2 )"),
        ("stay=$1+$2", "stay = $1 + $2"),
        ("stay=$1-$2*$3/$1", "stay = $1 - $2 * $3 / $1"),
        ("note=$1||$2||note", "note = $1 || $2 || note"),
        ("note=concat($1,$2)", "note = concat( $1 , $2 )"),
        ("stay<$1 AND stay>$2", "stay < $1 AND stay > $2"),
        ("stay BETWEEN $1 AND($2)", "stay BETWEEN $1 AND ( $2 )"),
        ("cost<$1::int AND cost<>$2::int", "cost < $1 :: int AND cost <> $2 :: int"),
        ("ward IN ('$1,$2',$1,'$')", "ward IN ( '$1,$2' , $1 , '$' )"),
        ('"$1,$2"=$1 AND ward<>$2', '"$1,$2" = $1 AND ward <> $2'),
    ],
)
def test_blanks_beside_a_parameter_mean_nothing(dialect: str, crowded: str, apart: str):
    if dialect in ("spark", "databricks") and '"' in crowded:
        crowded, apart = crowded.replace('"', "`"), apart.replace('"', "`")
    one, other = (f"SELECT COUNT(*) FROM visits WHERE {part}" for part in (crowded, apart))
    manner = manner_of(dialect)
    assert parsed(one, manner).tree == parsed(other, manner).tree
    assert marks(one, dialect) == marks(other, dialect) != []


@pytest.mark.parametrize("dialect", QUOTING)
def test_named_parameters_need_no_blanks_either(dialect: str):
    asked = "SELECT COUNT(*) FROM visits WHERE stay>$low+$high AND ward IN ($from,$select)"
    assert marks(asked, dialect) == ["low", "high", "from", "select"]


@pytest.mark.parametrize("dialect", ["standard", "postgres", "redshift"])
@pytest.mark.parametrize(
    ("quoted", "meant"),
    [
        ("$$a $1,$2 -- b$$", "a $1,$2 -- b"),
        ("$x$ $1,$2 $$ $y$ 'z' $x$", " $1,$2 $$ $y$ 'z' "),
        ("$$cost $5$$", "cost $5"),
        ("$a1$/* $1,$2 */$a1$", "/* $1,$2 */"),
        ("$$$$", ""),
        (r"E'a\\b'", r"a\b"),
        (r"e'it\'s ''x'' $2 -- /* '", "it's 'x' $2 -- /* "),
    ],
)
def test_what_stands_in_dollars_stays_as_it_is(dialect: str, quoted: str, meant: str):
    tree = parsed(f"SELECT COUNT(*) FROM visits WHERE ward={quoted} OR ward=$1", manner_of(dialect)).tree
    assert [one.this for one in tree.find_all(exp.Literal) if one.is_string] == [meant]
    assert named(tree) == ["1"]


def test_comments_in_dollars_are_no_comments_in_the_standard_reading_either():
    (text,) = parsed("SELECT $$a -- $1,$2 /* b $$ FROM visits").tree.selects
    assert text.name == "a -- $1,$2 /* b "


@pytest.mark.parametrize("text", [r"E'\x41'", r"E'a\u0062'", r"E'\n'", r"E'\0'"])
def test_escapes_that_are_not_understood_are_refused_by_name(text: str):
    with pytest.raises(QueryError, match="escapes"):
        parsed(f"SELECT COUNT(*) FROM visits WHERE ward = {text}")


PIECES = (
    "$1",
    "$2",
    ",",
    "+",
    " ",
    "'$1,$2'",
    '"$1,$2"',
    "$$ $1,$2 $$",
    "$t$ $3$4 $t$",
    "/* $1,$2 */",
    "(",
    "a$1",
)


@given(st.lists(st.sampled_from(PIECES), max_size=12))
def test_whatever_stands_beside_each_other_is_split_as_if_it_stood_apart(pieces: list[str]):
    postgres = Dialect.get_or_raise("postgres")
    apart = [one for piece in pieces for one in split(piece, postgres)]
    # Names and numbers that touch are one word, in whatever way they are read.
    text = "".join(f"{piece} " if piece[-1:].isalnum() or piece[-1:] in "$'\"" else piece for piece in pieces)
    found = split(text, postgres)
    assert [(one.token_type, one.text) for one in found] == [(one.token_type, one.text) for one in apart]
    for one in found:
        if one.text in ("$", ",", "+", "("):
            assert text[one.start] == one.text


def test_a_word_that_begins_like_a_parameter_is_none():
    for text in ("SELECT $1a FROM t", "SELECT $1e5 FROM t", "SELECT $1$2 FROM t"):
        with pytest.raises(QueryError):
            marks(text, "postgres")
    assert marks('SELECT a$1, "b$2" FROM t', "postgres") == []


@pytest.mark.parametrize("value", [1, 2, -1, "x", 1.5, None, True])
@pytest.mark.parametrize(
    "asked",
    [
        "SELECT ward, COUNT(*) AS n FROM visits GROUP BY {}",
        "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ({})",
        "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ROLLUP ({})",
        "SELECT ward, COUNT(*) AS n FROM visits GROUP BY GROUPING SETS ((ward), ({}))",
        "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward ORDER BY {}",
        "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward ORDER BY {} DESC",
        "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward UNION ALL "
        "SELECT note, COUNT(*) AS n FROM visits GROUP BY note ORDER BY {}",
    ],
)
def test_a_parameter_is_no_place_of_a_column_whatever_its_value(asked: str, value: object):
    if value is not True:
        read(asked.format("1"), ())
    for mark in ("$1", "?"):
        with pytest.raises(QueryError, match="with a parameter"):
            read(asked.format(mark), parameters([value]))


def test_a_parameter_beside_columns_is_a_value():
    asked = "SELECT stay > {0} AS long, COUNT(*) AS n FROM visits GROUP BY stay > {0} ORDER BY 1 LIMIT {0}"
    assert read(asked.format("$1"), parameters([3])) == read(asked.format("3"), ())


def test_every_dialect_is_listed_that_knows_the_mark():
    known = [
        name
        for name in DIALECTS
        if name not in ("postgresql",) and _read_as_mark("SELECT COUNT(*) FROM t WHERE a = $1", name)
    ]
    assert sorted(known) == sorted(DOLLARS)


def _read_as_mark(text: str, dialect: str) -> bool:
    try:
        return marks(text, dialect) == ["1"]
    except QueryError:
        return False
