"""The notebooks run from their first cell to their last, and hold no outputs."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient
from support.patience import PATIENCE_S

NOTEBOOKS = sorted((Path(__file__).parents[2] / "examples" / "notebooks").glob("*.ipynb"))


def test_there_are_three() -> None:
    assert [path.stem for path in NOTEBOOKS] == ["compare_and_figure", "first_run", "own_algorithm"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_holds_no_outputs(path: Path) -> None:
    book = nbformat.read(path, as_version=4)
    nbformat.validate(book)
    cells = [cell for cell in book.cells if cell.cell_type == "code"]
    assert all(cell.outputs == [] and cell.execution_count is None for cell in cells)
    assert book.cells[0].cell_type == "markdown"


@pytest.mark.wide
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path / "runtime"))
    book = nbformat.read(path, as_version=4)
    here = {"metadata": {"path": str(tmp_path)}}
    NotebookClient(book, timeout=int(PATIENCE_S), kernel_name="python3", resources=here).execute()
    shown = [output for cell in book.cells for output in cell.get("outputs", ())]
    kinds = {kind for output in shown for kind in output.get("data", ())}
    assert "text/html" in kinds  # a run, a sweep or a table shows itself
    assert ("image/png" in kinds) == (path.stem != "own_algorithm")
    assert not [output for output in shown if output.get("name") == "stderr"]
