"""Accuracy against what was spent, and the cost until a target."""

import numpy as np
import pytest

from fedradio.report.charts.chart import Absent, Chart, Dot, Group, Line
from fedradio.report.charts.costs import cost_of_common_target, costs, reached
from fedradio.report.style import style
from fedradio.results.client_states import StateReader
from fedradio.results.digest import Digest


def run(accuracy: list[float], joules: float) -> Digest:
    """A run with one evaluation a round, each round so many joules."""
    rounds = np.arange(1.0, len(accuracy) + 1)
    totals, series = (
        {"rounds": rounds, "joules": joules * rounds},
        {"accuracy": (np.arange(len(accuracy)), np.array(accuracy))},
    )
    return Digest(StateReader(2).states(), totals=totals, series=series)


@pytest.fixture
def groups() -> list[Group]:
    """fedavg takes 2 and 3 rounds to 0.5, at 1 J a round; fedprox gets there with one of its seeds, at 50 J a round."""
    slow = [run([0.2, 0.5, 0.7], 1.0), run([0.2, 0.4, 0.6], 1.0)]
    dear = [run([0.2, 0.3, 0.5], 50.0), run([0.2, 0.3, 0.4], 50.0)]
    return [Group("fedavg", style("fedavg"), slow), Group("fedprox", style("fedprox"), dear)]


def test_cost_until_a_target(groups: list[Group]) -> None:
    seeds, means = reached(groups[0], 0.5)
    assert seeds == 2
    assert means["rounds"] is not None
    assert means["joules"] is not None
    assert (means["rounds"].mean, means["joules"].mean) == (2.5, 2.5)
    seeds, means = reached(groups[1], 0.5)
    assert seeds == 1
    assert means["joules"] is not None
    assert means["joules"].mean == 150.0
    assert reached(groups[1], 0.6)[0] == 0


def test_the_charts(groups: list[Group]) -> None:
    ends, targets = costs(groups)
    assert isinstance(ends, Chart)
    assert isinstance(targets, Chart)
    assert list(ends.plots) == ["joules", "rounds"]  # all have three rounds
    assert ends.plots["joules"].x.log  # 3 J and 150 J
    dots = [dot for dot in ends.plots["joules"].layers if isinstance(dot, Dot)]
    assert [dot.x for dot in dots] == [3, 150]
    assert [dot.y for dot in dots] == pytest.approx([65, 45])
    assert "Every complete run reached 40 %." in targets.says
    first = targets.plots["rounds"].layers[0]
    assert isinstance(first, Line)
    assert (first.x[-1], first.y[-1]) == pytest.approx((60, 3))
    assert targets.numbers.rows[0][:3] == ["fedavg", "40 %", "2 of 2"]


def test_the_cost_of_what_all_reached(groups: list[Group]) -> None:
    """All reached 0.4: fedavg after 2 rounds each, fedprox after 3."""
    table = cost_of_common_target(groups)
    assert table is not None
    assert [list(table.rows[number])[:3] for number in range(2)] == [
        ["fedavg", "2 of 2", "2 J ± 0"],
        ["fedprox", "2 of 2", "150 J ± 0"],
    ]
    assert "40 % accuracy" in table.title
    assert cost_of_common_target([*groups, Group("never", style("scaffold"), [run([0.05], 1.0)])]) is None


def test_without_a_common_target(groups: list[Group]) -> None:
    never = Group("scaffold", style("scaffold"), [run([0.05, 0.06], 1.0)])
    targets = costs([*groups, never])[1]
    assert isinstance(targets, Chart)
    assert "Every complete run" not in targets.says
    (none,) = costs([never])
    assert isinstance(none, Absent)
    assert none.why == "no complete run has reached 10 % accuracy"
