"""Faults in what statements mean, in each engine, and in how a server is asked."""

from tests.mutants.fault import Fault

_CELLS = ("tests/engines/test_conformance.py::test_every_function_means_the_same_at_every_cell",)
_SERVER = "tests/engines/test_postgres.py"
_LAKE = "tests/engines/test_spark.py"
_JAVA = (f"{_LAKE}::test_every_function_means_the_same_at_every_cell",)

_VIEWS = ("tests/engines/test_duckdb.py::test_a_view_that_shows_other_rows_each_time_is_refused",)
_LUCK = (f"{_SERVER}::test_a_view_that_shows_other_rows_each_time_is_refused",)
_TIMES = ("tests/engines/test_cells.py::test_a_time_outside_of_a_day_is_nobody_and_spoils_no_other",)

FAULTS: tuple[Fault, ...] = (
    Fault(
        "engines/duckdb/view.py",
        "_SAMPLE.search(text) or ",
        "",
        _VIEWS,
        "a view that samples shows other rows each time it is read",
    ),
    Fault(
        "engines/duckdb/view.py",
        "            waiting += [word for word, _ in words]\n",
        "",
        _VIEWS,
        "what is random hides in a macro or another view",
    ),
    Fault(
        "engines/postgres/source.py",
        "  UNION\n  SELECT CAST(o.oprcode AS oid) FROM meant, regexp_matches(text, ':opno ([0-9]+)', 'g') f\n"
        "  JOIN pg_operator o ON o.oid = CAST(f[1] AS oid)\n",
        "",
        _LUCK,
        "what is random hides in an operator",
    ),
    Fault(
        "engines/postgres/source.py",
        "EXISTS (SELECT FROM meant WHERE text LIKE '%{TABLESAMPLECLAUSE %')",
        "false",
        _LUCK,
        "a view of a server that samples shows other rows each time it is read",
    ),
    Fault(
        "engines/frame.py",
        "pc.less(raw, day)",
        "pc.less_equal(raw, day)",
        _TIMES,
        "the first time that is outside of a day is somebody",
    ),
    Fault(
        "engines/frame.py",
        'meaning.startswith("Time(") or ',
        "",
        _TIMES,
        "an engine's own reader fails at a time of a file that is outside of a day",
    ),
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
        'text = f"({text} + 0)"',
        "pass",
        (f"{_SERVER}::test_the_choice_of_a_persons_rows_does_not_depend_on_their_order",),
        "0 and -0 are chosen apart, so the order of rows decides whose count",
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
        "engines/spark/render.py",
        '"finite": f"CASE WHEN abs({{0}}) < {LARGE} THEN {{0}} - {{0}} % {TINY} END"',
        '"finite": f"CASE WHEN abs({{0}}) < {LARGE} THEN {{0}} END"',
        _JAVA,
        "a product that vanishes elsewhere remains",
    ),
    Fault(
        "engines/spark/render.py",
        '_END = "(?!(?s:.))"',
        '_END = "$"',
        _JAVA,
        "a line feed after a number is no part of it",
    ),
    Fault(
        "engines/spark/render.py",
        'return f"{self.text(term)} ASC NULLS LAST"',
        'return f"{self.text(term)} DESC"',
        (f"{_LAKE}::test_random_questions_have_the_same_integers",),
        "other groups of a person are kept",
    ),
    Fault(
        "engines/spark/render.py",
        "CAST({self.text(argument)} AS DECIMAL({size}, 0))",
        "CAST({self.text(argument)} AS BIGINT)",
        (f"{_LAKE}::test_totals_of_large_numbers_are_exact",),
        "a total beyond 64 bits makes a question fail",
    ),
    Fault(
        "engines/spark/session.py",
        '    "spark.sql.variable.substitute": "false",\n',
        "",
        (f"{_LAKE}::test_nothing_of_the_surroundings_changes_an_answer",),
        "a constant text reads settings of the server",
    ),
    Fault(
        "engines/spark/session.py",
        "session = _root(module, address).newSession()",
        "session = _root(module, address)",
        (f"{_LAKE}::test_nothing_of_the_surroundings_changes_an_answer",),
        "settings of somebody else in the process become ours",
    ),
    Fault(
        "engines/spark/session.py",
        'return not getattr(_ours, "asking", False)',
        "return True",
        (f"{_LAKE}::test_after_a_failure_a_session_is_new_and_nothing_was_logged",),
        "what Spark says of a failure is logged",
    ),
    Fault(
        "engines/spark/source.py",
        'return f"try_validate_utf8({column})"',
        "return column",
        (f"{_LAKE}::test_every_type_of_a_lake_is_the_declared_type_or_refused",),
        "two texts that are not UTF-8 become one group, and a question fails",
    ),
    Fault(
        "engines/spark/engine.py",
        "if not is_remote(session) and not found._jdf",
        "if is_remote(session) and not found._jdf",
        (f"{_LAKE}::test_a_table_of_a_catalog_shows_what_it_holds_now",),
        "rows that were not counted are weighed",
    ),
    Fault(
        "engines/spark/engine.py",
        "if uses[name] > 1 and name != ROWS:",
        "if uses[name] > 99:",
        (f"{_LAKE}::test_the_whole_path_in_spark_is_that_of_a_file",),
        "parts that are used twice are computed twice",
    ),
    Fault(
        "engines/spark/engine.py",
        "            except BaseException:\n                self.close()\n                raise\n",
        "            except BaseException:\n                raise\n",
        (f"{_LAKE}::test_after_a_failure_a_session_is_new_and_nothing_was_logged",),
        "what a failed question left is there for the next",
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
