"""Pictures of published figures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fedradio.report.figures.published import draw, save_picture

X = list(range(1, 11))


SERIES: dict[str, dict[str, Any]] = {
    "curves": {
        "seeds": [1, 2],
        "x": X,
        "mean": [0.1 * x for x in X],
        "low": [0.1 * x - 0.05 for x in X],
        "high": [0.1 * x + 0.05 for x in X],
        "points": [[5.0, 0.5], [50.0, 0.9]],
        "level": 0.9,
    },
    "top": {"seeds": [1], "mean": [0.4, 0.6], "low": [0.4, 0.6], "high": [0.4, 0.6], "spread": [0.1, 0.1]},
    "cdf": {"unit": "energy [J]", "samples": X, "median": 4.0},
    "bound": {"x": X, "y": [10.0**-x for x in X]},
    "bars": {
        "bars": {
            "a": {"title": "a", "unit": "bit", "mean": 3.0, "half": None, "published": 2.0},
            "b": {"title": "b", "unit": "bit", "mean": None, "half": None, "published": None},
        }
    },
    "counts": {"eligible": [4, 5, 6], "selected": [1, 2, 0]},
    "labels": {"shares": [[0.5, 0.5], [0.1, 0.9]], "at": [1, 100]},
    "map": {
        "network": {
            "positions": [[[0.0, 1.0], [1.0, 0.0]], [[0.0, 0.0]], [[2.0, 2.0]]],
            "parents": [[0, 0], [0]],
        }
    },
}


def drawing(show: str, rows: int = 2) -> dict[str, Any]:
    series = [{"label": f"row {n}", "algorithm": "fedavg", "row": n, **SERIES[show]} for n in range(rows)]
    return {"show": show, "title": "t", "x": "rounds", "y": "accuracy", "series": series}


@pytest.mark.parametrize("show", SERIES)
def test_every_kind_of_picture_is_drawn_at_column_width(show: str, tmp_path: Path) -> None:
    files = save_picture(drawing(show), tmp_path / "fig1")
    assert [file.name for file in files] == ["fig1.pdf", "fig1.png"]
    assert all(file.stat().st_size > 1000 for file in files)
    assert draw(drawing(show)).get_figwidth() == pytest.approx(3.5)


def test_a_flat_network_has_no_edges_on_its_map() -> None:
    picture = drawing("map", 1)
    picture["series"][0]["network"] = {"positions": [[[0.0, 1.0]], [[0.0, 0.0]]], "parents": [[0]]}
    labels = [text.get_text() for text in draw(picture).legends[0].get_texts()]
    assert labels == ["client (1)", "server (1)"]


def test_nothing_is_drawn_without_data(tmp_path: Path) -> None:
    assert save_picture(drawing("curves", 0), tmp_path / "fig1") == []
    assert list(tmp_path.iterdir()) == []


def test_published_points_are_hollow_and_lie_inside() -> None:
    axes = draw(drawing("curves", 1)).axes[0]
    hollow = [np.array(line.get_data()).tolist() for line in axes.lines if line.get_markerfacecolor() == "none"]
    assert hollow[0] == [[5.0], [50.0]]  # round 50 was not run
    assert np.isnan(hollow[1]).all()  # that of the legend
    assert len(hollow) == 2
    levels = [line for line in axes.lines if list(line.get_ydata()) == [90.0, 90.0]]
    assert len(levels) == 1
    assert {"published", "published, at the end"} <= {text.get_text() for text in axes.figure.legends[0].get_texts()}
