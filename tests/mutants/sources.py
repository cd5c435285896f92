"""Faults in how sources are read: each lets one person's cell, or its absence, move something else."""

from tests.mutants.fault import Fault

_RECORDS = ("tests/engines/test_records.py",)
_CELLS = ("tests/engines/test_cells.py",)
_MOMENTS = ("tests/engines/test_moments.py",)
_SHELTER = ("tests/engines/test_shelter.py",)
_ONE_FILE = ("tests/engines/test_duckdb.py::test_a_path_means_one_file_and_says_nothing_about_its_rows",)
_INIT = ("tests/cli/test_init.py",)

FAULTS = (
    Fault(
        "engines/records.py",
        "if not (special[behind] | (opens == 0)).all():",
        "if False:",
        _RECORDS,
        "a quote inside a plain cell opens one and swallows other records",
    ),
    Fault(
        "engines/records.py",
        "(final and odd[-1]) or ",
        "",
        _RECORDS,
        "a file that ends inside quotes loses its last record",
    ),
    Fault(
        "engines/records.py",
        "    filled = (number > 1) | (ends[last] > begins[first])\n",
        "    filled = number > 0\n",
        _RECORDS,
        "empty lines become records",
    ),
    Fault(
        "engines/records.py",
        "return pa.array([_legible(cell) for cell in column.to_pylist()], pa.large_string())",
        "return pa.nulls(len(column), pa.large_string())",
        _RECORDS,
        "one cell that is no text makes a whole block of cells missing",
    ),
    Fault(
        "engines/records.py",
        'if not final and place == len(data) and found[4] != b"\\n":',
        "if False:",
        _RECORDS,
        "a record that goes on in the next block is cut in two",
    ),
    Fault(
        "engines/cells.py",
        "if number.is_integer() and abs(number) < _LARGE:",
        "if False:",
        _CELLS,
        "one missing id turns the ids of everybody else from 1 into 1.0",
    ),
    Fault(
        "engines/cells.py",
        "cell = _stamp(cell)",
        "pass",
        _CELLS,
        "one odd cell makes the days of everybody else missing",
    ),
    Fault(
        "engines/cells.py",
        "text = str.__str__(cell)",
        "text = str(cell)",
        _CELLS,
        "one odd cell renames the labels of everybody else",
    ),
    Fault(
        "engines/cells.py",
        "if far.any():",
        "if False:",
        _CELLS,
        "a moment outside of the calendar is one inside of it, until another cell is odd",
    ),
    Fault(
        "engines/cells.py",
        "rounded = np.rint(numbers)",
        "rounded = np.floor(numbers + 0.5)",
        _CELLS,
        "numbers are rounded otherwise in a column of numbers than beside an odd cell",
    ),
    Fault(
        "engines/shelter.py",
        'return "<rows, not shown>"',
        "return repr(self._rows)",
        _SHELTER,
        "whoever prints a local variable sees the rows",
    ),
    Fault(
        "engines/shelter.py",
        "problem.__cause__ = problem.__context__ = None",
        "pass",
        ("tests/engines/test_shelter.py",),
        "an error keeps the engine's own as its context",
    ),
    Fault(
        "engines/scratch.py",
        "made = Path(tempfile.mkdtemp(prefix=_UNNAMED))",
        "made = Path(tempfile.mkdtemp(prefix=_UNNAMED))\n        made.chmod(0o755)",
        _SHELTER,
        "others can enter the directory of rows that did not fit into memory",
    ),
    Fault(
        "engines/duckdb/source.py",
        "THEN least(greatest({value}, {low}), {high}) END",
        "THEN {value} END",
        _MOMENTS,
        "a moment that a filter leaves out makes the engine fail for those beside it",
    ),
    Fault(
        "engines/frame.py",
        "_odd(column) or not same(column.path, name)",
        "_odd(column)",
        _MOMENTS,
        "a moment inside of a structure of a Parquet file makes the engine fail",
    ),
    Fault(
        "release/sources.py",
        'if physical is None:\n        return "text"',
        "if physical is None:\n        return None",
        _CELLS,
        "an undeclared column of a frame without a schema does not exist",
    ),
    Fault(
        "engines/duckdb/source.py",
        "hive_partitioning = false",
        "hive_partitioning = true",
        _ONE_FILE,
        "a folder called person=all makes everybody one person",
    ),
    Fault(
        "engines/duckdb/source.py",
        'if sign in "*?["',
        'if sign in ""',
        _ONE_FILE,
        "a name with a bracket means another file, or many",
    ),
    Fault(
        "query/check/bounds.py",
        "min(most, kind.step * STEPS)",
        "most",
        ("tests/query/test_bounds.py",),
        "bounds that were paid for cannot be declared",
    ),
)
