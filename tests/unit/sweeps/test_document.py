"""The file of a sweep: read back as it was written, refused where it is damaged."""

from pathlib import Path
from typing import Any

import pytest

from fedradio.core.errors import StoreError
from fedradio.core.files import sealed, unsealed
from fedradio.results.sweep_file import MARKER
from fedradio.sweeps.document import read_sweep, sweep_document
from fedradio.sweeps.grid import plan_sweep


def stored(source: Path, folder: Path) -> Path:
    """A folder with the file of a sweep that has not begun."""
    (folder / MARKER).write_bytes(sealed(sweep_document(plan_sweep(source))))
    return folder


def test_a_sweep_is_read_back_as_it_was_written(source: Path, tmp_path: Path) -> None:
    plan = plan_sweep(source, ["rule.lr=0.1,0.2", "algorithm=fedavg,scaffold"], seeds=[4, 2])
    (tmp_path / MARKER).write_bytes(sealed(sweep_document(plan)))
    again = read_sweep(tmp_path)
    assert (again.name, again.base, again.seeds) == (plan.name, plan.base, plan.seeds)
    assert [(one.label, one.stem, one.seeds, one.sha256) for one in again.variants] == [
        (one.label, one.stem, one.seeds, one.sha256) for one in plan.variants
    ]
    assert again.holds(plan)


@pytest.mark.parametrize(
    "change",
    [
        {"stem": "../../escaped"},
        {"stem": "/escaped"},
        {"stem": ".."},
        {"stem": "a\\b"},
        {"stem": ""},
        {"runs": {"one": "x"}},
        {"runs": None},
        {"set": 3},
        {"spec": {}},
    ],
)
def test_damaged_variants_are_refused(source: Path, tmp_path: Path, change: dict[str, Any]) -> None:
    folder = stored(source, tmp_path)
    found = unsealed((folder / MARKER).read_bytes(), folder / MARKER)
    (folder / MARKER).write_bytes(sealed(found | {"cells": [found["cells"][0] | change]}))
    with pytest.raises(StoreError, match=r"sweep.json is damaged: cells\.0\."):
        read_sweep(folder)


def test_missing_keys_of_a_sweep_are_refused(source: Path, tmp_path: Path) -> None:
    folder = stored(source, tmp_path)
    found = unsealed((folder / MARKER).read_bytes(), folder / MARKER)
    cell = found["cells"][0]
    lacking = [{key: cell[key] for key in cell if key != left} for left in cell]
    documents = [found | {"cells": [one]} for one in lacking]
    documents += [{key: found[key] for key in found if key != left} for left in found]
    for document in documents:
        (folder / MARKER).write_bytes(sealed(document))
        with pytest.raises(StoreError, match=r"sweep.json is damaged"):
            read_sweep(folder)
