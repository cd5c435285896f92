"""Faults in what statements mean, in each engine, and in how a server is asked."""

from tests.mutants.fault import Fault

_CELLS = ("tests/engines/test_conformance.py::test_every_function_means_the_same_at_every_cell",)
_SERVER = "tests/engines/test_postgres.py"

FAULTS: tuple[Fault, ...] = (
    Fault(
        "engines/duckdb/render.py",
        '"divide": "({0} / nullif({1}, 0e0))"',
        '"divide": "({0} / {1})"',
        _CELLS,
        "what is divided by zero comes back as a number after the next division",
    ),
    Fault(
        "engines/duckdb/render.py",
        "(f\"date_trunc('week', {scalar_text(moment)})\" for moment in arguments[1:])",
        "(scalar_text(moment) for moment in arguments[1:])",
        _CELLS,
        "weeks are sevens of days",
    ),
    Fault(
        "engines/duckdb/render.py",
        "regexp_full_match({0}, ' *[+-]?[0-9]{{1,19}} *') ",
        "{0} IS NOT NULL ",
        _CELLS,
        "text is read as an integer by the engine's own rule",
    ),
    Fault(
        "engines/duckdb/source.py",
        'f"WHEN abs(TRY_CAST({{0}} AS DOUBLE)) < {TINY} THEN 0e0 END"',
        'f"WHEN abs(TRY_CAST({{0}} AS DOUBLE)) < {TINY} THEN TRY_CAST({{0}} AS DOUBLE) END"',
        _CELLS,
        "a column offers numbers whose products vanish",
    ),
    Fault(
        "engines/postgres/render.py",
        '"divide": "({0} / nullif({1}, 0))"',
        '"divide": "({0} / {1})"',
        _CELLS,
        "a zero makes a question fail",
    ),
    Fault(
        "engines/postgres/render.py",
        'TEMPLATES["round_whole"].format(inside)',
        'f"round({inside})"',
        _CELLS,
        "halves are rounded to even numbers",
    ),
    Fault(
        "engines/postgres/render.py",
        '"(?!0000)[0-9]{{4}}-',
        '"[0-9]{{4}}-',
        _CELLS,
        "a year 0 in a text makes a question fail",
    ),
    Fault(
        "engines/postgres/render.py",
        "                self.demand_graded(arguments)\n",
        "",
        (f"{_SERVER}::test_arithmetic_that_could_raise_is_never_written",),
        "a product that vanishes makes a question fail",
    ),
    Fault(
        "engines/postgres/engine.py",
        '    "search_path": "pg_catalog",\n',
        "",
        (f"{_SERVER}::test_no_setting_of_a_server_changes_an_answer",),
        "somebody else's function stands for a known one",
    ),
    Fault(
        "engines/postgres/engine.py",
        '    "datestyle": "ISO, YMD",\n',
        "",
        (f"{_SERVER}::test_no_setting_of_a_server_changes_an_answer",),
        "the text of a date depends on who asks",
    ),
    Fault(
        "engines/postgres/engine.py",
        "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
        "BEGIN ISOLATION LEVEL REPEATABLE READ",
        (f"{_SERVER}::test_a_question_can_write_nothing",),
        "a question could write",
    ),
    Fault(
        "engines/postgres/source.py",
        "        if key not in _ALLOWED:\n",
        '        if key == "nothing":\n',
        (f"{_SERVER}::test_a_password_in_a_source_is_refused_and_not_repeated",),
        "a password stands in a manifest",
    ),
    Fault(
        "engines/opening.py",
        "if place != home and not tables[name].public:",
        "if place != home and tables[name].public:",
        (f"{_SERVER}::test_private_tables_in_two_places_are_refused",),
        "private rows travel",
    ),
    Fault(
        "query/check/function/number.py",
        "        left, right = graded(left), graded(right)\n",
        "        pass\n",
        _CELLS,
        "products of products leave the doubles",
    ),
    Fault(
        "query/proof/number.py",
        '"exp": low >= -360 and high <= 345}',
        '"exp": low >= -700 and high <= 700}',
        ("tests/query/proof/test_intervals.py",),
        "the exponential of a small number is taken for a smaller one than it is",
    ),
)
