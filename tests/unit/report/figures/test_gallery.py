"""All figures of runs: which can be drawn, and why others cannot."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from support.past import digest_of, past
from support.records import evaluation

from fedradio.core.errors import StoreError
from fedradio.report.charts.energy import WHY
from fedradio.report.charts.spread import ONE_TEST_SET
from fedradio.report.figures.gallery import Drawing, curve_drawings, drawings, write
from fedradio.report.figures.run import (
    network_figure,
)
from fedradio.results.run import open_run, open_runs
from fedradio.results.variants import Variant, variants
from fedradio.runs.run import run
from fedradio.spec.spec import Spec

Make = Callable[..., Spec]


def quiet(what: str, share: float) -> None:
    """Hears of progress and says nothing."""


NETWORK: dict[str, Any] = {
    "parents": [[0, 0, 1], [0, 0]],
    "positions": [[[0, 1], [1, 0], [5, 5]], [[0, 0], [5, 4]], [[2, 2]]],
}


SAMPLED = "hops.0.policy={kind: sampling, clients: 2, steps: 3}"


def test_all_figures_of_a_run(cells: Make, tmp_path: Path) -> None:
    run(cells(SAMPLED, "data.test=client"), tmp_path / "a")
    found = drawings(past_cells(tmp_path / "a"))
    assert [one.name for one in found if one.make is None] == []
    files = write(found, tmp_path / "out", ["png"], quiet)
    assert len(files) == len(found) == 14
    for file in files:
        assert Image.open(file).size[0] == 3.5 * 300


def test_curves_have_the_unit_of_a_metric_that_runs_declare(tiny: Make) -> None:
    told = past(tiny(), [0.5, 0.6])
    told.__dict__["evaluations"] = [evaluation(t, accuracy=0.5, loss=0.5, regret=1.0) for t in (1, 2)]
    told.__dict__["digest"] = digest_of(told)
    told.__dict__["declared_metrics"] = {"regret": {"unit": "m", "better": "less"}}
    (drawing,) = curve_drawings([Variant("one", "fedavg", {1: told})], "regret", against=("rounds",))
    assert drawing.make is not None
    assert drawing.make().axes[0].get_ylabel() == "Regret (m)"


def past_cells(*folders: Path) -> list[Variant]:
    return variants(open_runs(*folders))


def test_why_figures_cannot_be_drawn(tiny: Make, tmp_path: Path) -> None:
    run(tiny(), tmp_path / "a")
    found = {one.name: one for one in drawings(past_cells(tmp_path / "a"))}
    why = {name: one.why for name, one in found.items() if one.make is None}
    assert why == {
        "accuracy-seconds": "seconds are undefined",
        "accuracy-joules": "joules are undefined",
        "energy-clients": WHY,
        "energy-edge-rounds": WHY,
        "energy-slots": WHY,
        "energy-rounds": "the energy of every round is undefined",
        "spread": ONE_TEST_SET,
        "spread-rounds": ONE_TEST_SET,
        "selection": "all 6 clients took part in each of the 2 edge rounds",
        "reasons": "all 6 clients took part in each of the 2 edge rounds",
    }


def test_older_runs_say_so(cells: Make, tmp_path: Path) -> None:
    run(cells(SAMPLED), tmp_path / "a")
    (tmp_path / "a" / "network.json").unlink()
    found = open_run(tmp_path / "a")
    why = {one.name: one.why for one in drawings([Variant("a", "fedavg", {1: found})])}
    assert "older version" in why["network"]
    assert why["spread"] == ONE_TEST_SET
    assert why["selection"] == ""


def test_cells_without_a_quantity_are_left_out_by_name(tiny: Make, cells: Make, tmp_path: Path) -> None:
    run(tiny("name=free"), tmp_path / "a")
    run(cells("name=costly"), tmp_path / "b")
    both = past_cells(tmp_path / "a", tmp_path / "b")
    found = {one.name: one for one in drawings(both)}
    assert found["accuracy-joules"].why == "without free: joules are undefined"
    assert found["accuracy-joules"].make is not None
    assert found["energy-clients"].why == f"without free: {WHY}"
    assert found["accuracy-rounds"].why == ""
    assert found["network"].make is None
    assert next(one.name for one in curve_drawings(both, "loss")) == "loss-rounds"


def test_files_that_cannot_be_written_are_a_store_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    one = Drawing("map", lambda: network_figure(NETWORK, np.zeros(3)))
    with pytest.raises(StoreError, match="cannot write"):
        write([one], tmp_path / "file", ["png"], quiet)
