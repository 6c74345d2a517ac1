"""Figures of a single run."""

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from fedradio.report.figures.run import network_figure


def labels(figure: Figure) -> tuple[str, str]:
    return figure.axes[0].get_xlabel(), figure.axes[0].get_ylabel()


def words_of(figure: Figure) -> list[str]:
    return [text.get_text() for legend in figure.legends for text in legend.get_texts()]


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
