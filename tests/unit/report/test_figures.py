"""Figures: what they show, that they are the same every time, that large runs stay readable."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure
from PIL import Image

from fedradio.core.contracts import Reason
from fedradio.core.errors import StoreError
from fedradio.report.figures.axes import COLUMN_IN, axis, metric_axis, save
from fedradio.report.figures.gallery import Drawing, curve_drawings, drawings, looks_of, write
from fedradio.report.figures.lines import curves_figure, energy_cdf_figure, spread_figure
from fedradio.report.figures.run import (
    MOST_PIXELS,
    REASONS,
    binned,
    network_figure,
    reasons_figure,
    selection_figure,
    spread_rounds_figure,
)
from fedradio.report.style import style
from fedradio.results.run import open_run, open_runs
from fedradio.results.statistics import Band
from fedradio.results.variants import Variant, variants
from fedradio.runs.run import run
from fedradio.spec.spec import Spec

Make = Callable[..., Spec]

LOOKS = looks_of([Variant("one", "fedavg", {}), Variant("two", "fedprox", {})])


def flat_band(level: float, n: int = 3, x: float = 10.0) -> Band:
    mean = np.full(5, level)
    return Band(np.linspace(0, x, 5), mean, mean - 0.1, mean + 0.1, n)


def quiet(what: str, share: float) -> None:
    """Hears of progress and says nothing."""


def labels(figure: Figure) -> tuple[str, str]:
    return figure.axes[0].get_xlabel(), figure.axes[0].get_ylabel()


def words_of(figure: Figure) -> list[str]:
    return [text.get_text() for legend in figure.legends for text in legend.get_texts()]


def test_curves_have_units_percent_bands_and_the_algorithms_colours() -> None:
    figure = curves_figure({"one": flat_band(0.5), "two": flat_band(0.7, n=1)}, LOOKS, "accuracy", "joules", target=0.6)
    axes = figure.axes[0]
    assert labels(figure) == ("Energy of all clients (J)", "Test accuracy (%)")
    assert words_of(figure) == ["one", "two"]
    assert axes.lines[0].get_ydata()[0] == pytest.approx(50)
    assert [line.get_color() for line in axes.lines[:2]] == [style("fedavg").colour, style("fedprox").colour]
    assert axes.lines[2].get_ydata()[0] == pytest.approx(60)
    assert len(axes.collections) == 1  # one seed alone has no band
    assert figure.get_figwidth() == COLUMN_IN


def test_the_legend_is_outside_the_data_and_absent_for_one_curve() -> None:
    assert curves_figure({"one": flat_band(0.5)}, LOOKS).legends == []
    figure = curves_figure({"one": flat_band(0.5), "two": flat_band(0.7)}, LOOKS)
    figure.draw_without_rendering()
    assert figure.legends[0].get_window_extent().y0 >= figure.axes[0].get_window_extent().y1


def test_many_long_labels_make_the_figure_higher_and_not_wider() -> None:
    some = [Variant(f"rule.lr={n}, " + "some.other.key=17, " * 4, "fedavg", {}) for n in range(9)]
    figure = curves_figure({variant.label: flat_band(0.5) for variant in some}, looks_of(some))
    figure.draw_without_rendering()
    extent = figure.legends[0].get_window_extent()
    assert extent.x0 >= 0
    assert extent.x1 <= figure.bbox.x1
    assert figure.axes[0].get_window_extent().height > 100


@pytest.mark.parametrize(
    ("against", "most", "factor", "title"),
    [
        ("rounds", 5, 1, "Round"),
        ("seconds", 0.5, 1e-3, "Simulated time (ms)"),
        ("seconds", 500, 1, "Simulated time (s)"),
        ("seconds", 5000, 60, "Simulated time (min)"),
        ("seconds", 90000, 3600, "Simulated time (h)"),
        ("joules", 0.02, 1e-3, "Energy of all clients (mJ)"),
        ("joules", 0.0, 1, "Energy of all clients (J)"),
        ("bits", 3e7, 1e6, "Uplink of all hops (Mbit)"),
        ("bits", 3e12, 1e9, "Uplink of all hops (Gbit)"),
    ],
)
def test_axes_have_units_of_a_fit_size(against: str, most: float, factor: float, title: str) -> None:
    assert axis(against, most) == (factor, title)


def test_metrics_have_titles() -> None:
    assert metric_axis("accuracy") == (100, "Test accuracy (%)")
    assert metric_axis("loss") == (1, "Test loss (nat)")
    assert metric_axis("personal_accuracy") == (100, "Personal accuracy (%)")
    assert metric_axis("variate_norm") == (1, "Variate norm")


def test_energy_is_a_distribution() -> None:
    figure = energy_cdf_figure({"one": np.array([3e-3, 1e-3, 2e-3, 4e-3])}, LOOKS)
    (line,) = figure.axes[0].lines
    assert np.asarray(line.get_xdata()).tolist() == pytest.approx([1, 2, 3, 4])
    assert np.asarray(line.get_ydata()).tolist() == pytest.approx([25, 50, 75, 100])
    assert labels(figure)[0] == "Energy of a client (mJ)"
    large = energy_cdf_figure({"one": np.arange(1e5)}, LOOKS, "client in an edge round")
    assert len(large.axes[0].lines[0].get_xdata()) == 1000
    assert labels(large)[0] == "Energy of a client in an edge round (kJ)"


def test_spread_is_sorted() -> None:
    (line,) = spread_figure({"one": np.array([0.9, 0.5])}, LOOKS).axes[0].lines
    assert np.asarray(line.get_xdata()).tolist() == [25, 75]
    assert np.asarray(line.get_ydata()).tolist() == [50, 90]


def test_spread_over_rounds_ignores_clients_without_samples() -> None:
    values = np.array([[0.1, 0.2, np.nan], [0.3, 0.5, np.nan]])
    figure = spread_rounds_figure([1, 2], values, "#0072B2")
    assert np.asarray(figure.axes[0].lines[0].get_ydata()).tolist() == pytest.approx([15, 40])
    assert "median client" in words_of(figure)


def test_binned_takes_means_of_neighbours() -> None:
    assert binned(np.arange(6.0), 3).tolist() == [0.5, 2.5, 4.5]
    assert binned(np.arange(3.0), 3).tolist() == [0, 1, 2]
    uneven = binned(np.arange(7.0), 3)
    assert len(uneven) == 3
    assert binned(np.ones((7, 2)), 3).tolist() == [[1, 1]] * 3


def test_selection_shows_every_client_with_its_reason_by_edge() -> None:
    reason = np.array([[0, 1, 2], [0, 0, 3]])  # two edge rounds, three clients
    figure = selection_figure(reason, [1, 0, 1])
    image = np.asarray(figure.axes[0].images[0].get_array())
    assert image.shape == (3, 2, 3)
    shown = [[to_hex(pixel).upper() for pixel in row] for row in image]
    colours = {one: REASONS[one][1] for one in Reason}
    assert shown[0] == [colours[Reason.NOT_SELECTED], colours[Reason.NONE]]  # client 1, of edge 0
    assert shown[1] == [colours[Reason.NONE]] * 2
    assert shown[2] == [colours[Reason.ENERGY], colours[Reason.DEADLINE]]
    assert words_of(figure) == ["arrived", "not selected", "energy", "deadline"]
    assert [text.get_text() for text in figure.axes[0].get_yticklabels()] == ["0", "1"]


def test_large_selections_are_mixed_colours_with_the_busiest_clients_first() -> None:
    reason = np.ones((2 * MOST_PIXELS, 2 * MOST_PIXELS), dtype=np.int64)
    reason[:, ::2] = 0
    image = np.asarray(selection_figure(reason).axes[0].images[0].get_array())
    assert image.shape == (MOST_PIXELS, MOST_PIXELS, 3)
    assert image[0, 0] == pytest.approx(to_rgb(REASONS[Reason.NONE][1]))
    assert image[-1, -1] == pytest.approx(to_rgb(REASONS[Reason.NOT_SELECTED][1]))


def test_reasons_are_stacked_counts() -> None:
    figure = reasons_figure(np.array([[0, 0, 1, 2], [0, 1, 1, 1]]))
    tops = {to_hex(patch.get_facecolor()).upper(): patch.get_data().values.tolist() for patch in figure.axes[0].patches}  # type: ignore[attr-defined]
    assert tops["#009E73"] == [2, 1]
    assert tops["#E2E2E2"] == [3, 4]
    assert tops["#E69F00"] == [4, 4]
    assert figure.axes[0].get_ylim() == (0, 4)
    assert words_of(figure) == ["arrived", "not selected", "energy"]
    many = reasons_figure(np.zeros((1001, 3), dtype=np.int64))
    assert len(many.axes[0].patches[0].get_data().values) == 100  # type: ignore[attr-defined]


NETWORK: dict[str, Any] = {
    "parents": [[0, 0, 1], [0, 0]],
    "positions": [[[0, 1], [1, 0], [5, 5]], [[0, 0], [5, 4]], [[2, 2]]],
}


def test_the_network_shows_shares_and_joules() -> None:
    figure = network_figure(NETWORK, np.array([0.0, 0.5, 1.0]), np.array([0.0, 0.002, 0.004]))
    dots = figure.axes[0].collections[-1]
    assert np.asarray(dots.get_array()).tolist() == [0, 50, 100]
    sizes = dots.get_sizes().tolist()  # type: ignore[attr-defined]
    assert sizes[0] < sizes[1] < sizes[2]
    assert words_of(figure) == ["edge", "server", "spent 1 mJ", "spent 4 mJ"]
    bare = network_figure(NETWORK, np.zeros(3), None, "normalised")
    assert words_of(bare) == ["edge", "server"]
    assert labels(bare) == ("x (normalised)", "y (normalised)")


def test_files_are_the_same_every_time_and_have_no_dates(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        for suffix in ("pdf", "png"):
            save(network_figure(NETWORK, np.zeros(3)), tmp_path / folder / f"map.{suffix}")
    for suffix in ("pdf", "png"):
        one, other = ((tmp_path / folder / f"map.{suffix}").read_bytes() for folder in ("a", "b"))
        assert one == other
        assert b"Date" not in one
        assert b"atplotlib" not in one
    assert b"FontFile2" in (tmp_path / "a" / "map.pdf").read_bytes()  # TrueType, embedded
    assert [file.name for file in sorted((tmp_path / "a").iterdir())] == ["map.pdf", "map.png"]


SAMPLED = "hops.0.policy={kind: sampling, clients: 2, steps: 3}"


def test_all_figures_of_a_run(cells: Make, tmp_path: Path) -> None:
    run(cells(SAMPLED, "data.test=client"), tmp_path / "a")
    found = drawings(past_variants(tmp_path / "a"))
    assert [one.name for one in found if one.make is None] == []
    files = write(found, tmp_path / "out", ["png"], quiet)
    assert len(files) == len(found) == 12
    for file in files:
        assert Image.open(file).size[0] == 3.5 * 300


def past_variants(*folders: Path) -> list[Variant]:
    return variants(open_runs(*folders))


def test_why_figures_cannot_be_drawn(tiny: Make, tmp_path: Path) -> None:
    run(tiny(), tmp_path / "a")
    found = {one.name: one for one in drawings(past_variants(tmp_path / "a"))}
    why = {name: one.why for name, one in found.items() if one.make is None}
    assert why == {
        "accuracy-seconds": "seconds are undefined",
        "accuracy-joules": "joules are undefined",
        "energy-clients": "joules of clients are undefined",
        "energy-edge-rounds": "joules of clients are undefined",
        "spread": "one test set for all",
        "spread-rounds": "one test set for all",
        "selection": "every client arrived in every edge round",
        "reasons": "every client arrived in every edge round",
    }


def test_older_runs_say_so(cells: Make, tmp_path: Path) -> None:
    run(cells(SAMPLED), tmp_path / "a")
    (tmp_path / "a" / "network.json").unlink()
    found = open_run(tmp_path / "a")
    for row in found.evaluations:
        del row["groups"]
    why = {one.name: one.why for one in drawings([Variant("a", "fedavg", {1: found})])}
    assert "older version" in why["network"]
    assert "older version" in why["spread"]
    assert why["selection"] == ""


def test_variants_without_a_quantity_are_left_out_by_name(tiny: Make, cells: Make, tmp_path: Path) -> None:
    run(tiny("name=free"), tmp_path / "a")
    run(cells("name=costly"), tmp_path / "b")
    both = past_variants(tmp_path / "a", tmp_path / "b")
    found = {one.name: one for one in drawings(both)}
    assert found["accuracy-joules"].why == "without free: joules are undefined"
    assert found["accuracy-joules"].make is not None
    assert found["energy-clients"].why == "without free: joules of clients are undefined"
    assert found["accuracy-rounds"].why == ""
    assert found["network"].make is None
    assert next(one.name for one in curve_drawings(both, "loss")) == "loss-rounds"


def test_files_that_cannot_be_written_are_a_store_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    one = Drawing("map", lambda: network_figure(NETWORK, np.zeros(3)))
    with pytest.raises(StoreError, match="cannot write"):
        write([one], tmp_path / "file", ["png"], quiet)
