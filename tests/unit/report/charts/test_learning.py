"""Curves of accuracies and losses."""

import pytest

from fedradio.report.charts.chart import Absent, Chart, Group, Level, Line
from fedradio.report.charts.learning import fitted, learning, other_metrics, related, unlike
from fedradio.report.style import style
from fedradio.results.quantities import entry
from fedradio.results.run import Run

NAMES = ["accuracy", "loss", "personal_accuracy", "top_2_accuracy", "top_4_accuracy", "variate_norm"]


def group(*runs: Run, label: str = "one") -> Group:
    return Group(label, style("fedavg"), [run.digest for run in runs])


def chart(metric: str, *groups: Group, **more: object) -> Chart:
    found = learning(groups, metric, **more)  # type: ignore[arg-type]
    assert isinstance(found, Chart)
    return found


def test_metrics_share_an_axis_with_their_kind() -> None:
    """Of many top-m accuracies some have a line; references such as ``bayes`` are drawn with the accuracies."""
    assert related("accuracy", [*NAMES, "bayes"]) == ["accuracy", "personal_accuracy", "top_2_accuracy", "bayes"]
    assert related("loss", NAMES) == ["loss"]
    assert related("variate_norm", NAMES) == ["variate_norm"]
    assert other_metrics([*NAMES, "bayes"]) == ["variate_norm"]


def test_curves_stand_at_what_was_spent(small: Run) -> None:
    (line,) = chart("accuracy", group(small)).plots["joules"].layers
    assert isinstance(line, Line)
    assert (line.x.tolist(), line.y.tolist()) == ([3.5, 7.0], [50.0, 75.0])
    names = [layer.name for layer in chart("loss", group(small)).plots["rounds"].layers if isinstance(layer, Line)]
    assert names == ["test loss", "training loss"]
    assert "uses" not in chart("loss", group(small)).plots
    assert isinstance(learning([group(small)], "bayes"), Absent)


def test_words_beside_the_curves(small: Run) -> None:
    found = chart("accuracy", group(small))
    assert found.says.startswith(
        "Accuracy goes from 50.00 % after round 1 to 75.00 % after round 2; the best is 75.00 %"
    )
    assert "Final values: test loss 0.25, training loss 1." in chart("loss", group(small)).says
    assert found.numbers.rows[1][:2] == ["2", "20 s"]


def test_several_groups_have_a_line_each(small: Run) -> None:
    found = chart("accuracy", group(small), group(small, small, label="two"), target=0.6)
    first, second, level = found.plots["rounds"].layers
    assert isinstance(second, Line)
    assert (first.x.tolist(), second.name, second.low is not None) == ([1, 2], "two", True)  # type: ignore[union-attr]
    assert isinstance(level, Level)
    assert level.at == 60
    assert found.numbers.rows[0] == ["one", "50.00 %", "75.00 %", "2", "20 s", "7 J", "100 bit"]


@pytest.mark.parametrize(
    ("values", "bands", "low", "high"),
    [
        ([90.0, 98.0], [], 89.6, 98.4),  # a twentieth of the span on either side
        ([90.0, 98.0], [89.0, 98.5], 88.6, 98.9),
        ([90.0, 98.0], [-300.0, 500.0], 87.6, 100.4),  # a quarter of the span
        ([1.0, 99.0], [], 0.0, 100.5),
        ([50.0], [], 44.5, 55.5),
    ],
)
def test_axes_follow_the_curves(values: list[float], bands: list[float], low: float, high: float) -> None:
    assert fitted(entry("accuracy"), values, bands) == pytest.approx((low, high))


def test_amounts_of_unlike_size() -> None:
    assert unlike([1.0, 21.0])
    assert not unlike([1.0, 19.0])
    assert not unlike([0.0, 19.0])
    assert not unlike([])
