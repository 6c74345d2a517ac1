"""All figures of runs: which can be drawn, and why others cannot."""

from collections.abc import Callable
from pathlib import Path

import pytest
from PIL import Image
from support.past import digest_of, past
from support.records import evaluation

from fedradio.core.errors import StoreError
from fedradio.report.charts.chart import Axis, Plot
from fedradio.report.charts.energy import WHY
from fedradio.report.charts.spread import ONE_TEST_SET
from fedradio.report.figures.draw import draw
from fedradio.report.figures.gallery import Drawing, curve_drawings, drawings, write
from fedradio.results.run import open_run, open_runs
from fedradio.results.variants import Variant, variants
from fedradio.runs.run import run
from fedradio.spec.spec import Spec

Make = Callable[..., Spec]


def quiet(what: str, share: float) -> None:
    """Hears of progress and says nothing."""


SAMPLED = "hops.0.policy={kind: sampling, clients: 2, steps: 3}"


def test_all_figures_of_a_run(cells: Make, tmp_path: Path) -> None:
    run(cells(SAMPLED, "data.test=client"), tmp_path / "a")
    found = drawings(past_cells(tmp_path / "a"))
    assert [one.name for one in found if one.make is not None and one.usual] == [
        *(f"accuracy-{axis}" for axis in ("rounds", "seconds", "joules", "bits")),
        "loss-rounds",
        *(f"energy-{name}" for name in ("clients", "uploads", "edge-rounds", "rounds")),
        *("spread", "spread-rounds", "selection", "reasons"),
        *("network", "network-joules", "network-accuracy"),
    ]
    files = write(found, tmp_path / "out", ["png"], quiet)
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
    why = {name: one.why for name, one in found.items() if one.make is None and one.usual}
    assert why == {
        "accuracy-seconds": "seconds are undefined",
        "accuracy-joules": "joules are undefined",
        "energy-clients": WHY,
        "energy-uploads": WHY,
        "energy-edge-rounds": WHY,
        "energy-rounds": "the energy of every round is undefined",
        "spread": ONE_TEST_SET,
        "spread-rounds": ONE_TEST_SET,
        "selection": "all 6 clients took part in each of the 2 edge rounds",
        "reasons": "all 6 clients took part in each of the 2 edge rounds",
    }


def test_a_run_without_positions_has_no_map(cells: Make, tmp_path: Path) -> None:
    run(cells(SAMPLED), tmp_path / "a")
    (tmp_path / "a" / "network.json").unlink()
    found = open_run(tmp_path / "a")
    able = {one.name: one.make is not None for one in drawings([Variant("a", "fedavg", {1: found})])}
    assert not able["network"]
    assert able["selection"]


def test_further_records_are_drawn_only_if_named(requesting: Make, tmp_path: Path) -> None:
    run(requesting("cache={capacity: [2, 5]}"), tmp_path / "a")
    found = {one.name: one.usual for one in drawings(past_cells(tmp_path / "a"))}
    assert found["cache-hits-2"]
    assert found["cache-trade"]
    assert not found["notes-metric-hit_ratio"]
    assert all(usual == (not name.startswith("notes")) for name, usual in found.items())


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
    assert {"differences", "cost-rounds", "target-rounds"} <= {name for name, one in found.items() if one.make}
    assert next(one.name for one in curve_drawings(both, "loss")) == "loss-rounds"


def test_files_that_cannot_be_written_are_a_store_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    one = Drawing("map", lambda: draw(Plot(Axis("x"), Axis("y"), [])))
    with pytest.raises(StoreError, match="cannot write"):
        write([one], tmp_path / "file", ["png"], quiet)
