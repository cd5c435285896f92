"""The example notebooks run from top to bottom in a kernel, show tables and pictures, and store no output."""

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "examples" / "notebooks").glob("*.ipynb"))
SHORTEST = "first-answers"
"""The other notebooks take long, and run with the long searches."""

PICTURE, TABLE = "image/svg+xml", "text/html"


@pytest.fixture
def execute(tmp_path, monkeypatch):
    """Run a notebook in a fresh kernel of this interpreter, in an empty folder, and return its outputs."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "src"))
    monkeypatch.setenv("JUPYTER_PREFER_ENV_PATH", "1")
    for name in ("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR"):
        monkeypatch.setenv(name, str(tmp_path / name.lower()))

    def run(notebook):
        folder = {"metadata": {"path": str(tmp_path)}}
        NotebookClient(notebook, timeout=120, startup_timeout=120, resources=folder).execute()
        return [output for cell in notebook.cells for output in cell.get("outputs", ())]

    return run


@pytest.mark.parametrize(
    "path",
    [pytest.param(path, marks=() if path.stem == SHORTEST else pytest.mark.fuzz) for path in NOTEBOOKS],
    ids=lambda path: path.stem,
)
def test_a_notebook_runs_and_shows_tables_and_pictures(path, execute):
    outputs = execute(nbformat.read(path, as_version=4))
    shown = {kind for output in outputs for kind in output.get("data", ())}
    assert {PICTURE, TABLE} <= shown
    assert not [output.text for output in outputs if output.get("name") == "stderr"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_valid_and_stores_no_output(path):
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert all(not cell.outputs and cell.execution_count is None for cell in code)
    assert notebook.cells[0].source.startswith("# ")


def test_there_are_three_notebooks():
    assert len(NOTEBOOKS) == 3


def test_a_notebook_that_fails_is_caught(execute):
    broken = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell("import discreet as dp\ndp.Geometric(2)")]
    )
    with pytest.raises(CellExecutionError, match="alpha"):
        execute(broken)
