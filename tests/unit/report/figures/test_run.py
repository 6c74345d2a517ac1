"""Figures of a single run."""

from typing import Any

import numpy as np
import pytest
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure

from fedradio.core.contracts import Reason
from fedradio.report.figures.run import (
    MOST_PIXELS,
    REASONS,
    binned,
    network_figure,
    reasons_figure,
    selection_figure,
    spread_rounds_figure,
)


def labels(figure: Figure) -> tuple[str, str]:
    return figure.axes[0].get_xlabel(), figure.axes[0].get_ylabel()


def words_of(figure: Figure) -> list[str]:
    return [text.get_text() for legend in figure.legends for text in legend.get_texts()]


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
    assert words_of(figure) == ["edge", "server", "used 1 mJ", "used 4 mJ"]
    bare = network_figure(NETWORK, np.zeros(3), None, "normalised")
    assert words_of(bare) == ["edge", "server"]
    assert labels(bare) == ("x (normalised)", "y (normalised)")
