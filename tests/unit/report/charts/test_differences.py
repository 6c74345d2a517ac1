"""Paired differences from the first variant."""

from fedradio.report.charts.chart import Absent, Chart, Dot, Level
from fedradio.report.charts.differences import FRAME_PX, LINE_PX, ROW_PX, differences
from fedradio.report.style import style
from fedradio.results.statistics import Interval


def test_one_row_per_variant() -> None:
    """One is ahead, one is behind, one cannot be told apart, one has no common seed."""
    given = {"a": Interval(0.1, 0.05, 3), "b": Interval(-0.1, 0.05, 3), "c": Interval(0.01, None, 1), "d": None}
    found = differences([(label, style("fedavg"), each) for label, each in given.items()])
    assert isinstance(found, Chart)
    level, *dots = found.plots[""].layers
    assert isinstance(level, Level)
    assert (level.at, level.upright) == (0, True)
    assert [(dot.x, dot.y, dot.x_half) for dot in dots if isinstance(dot, Dot)] == [
        (10, 0, 5),
        (-10, 1, 5),
        (1, 2, None),
    ]
    assert found.plots[""].y.names == ["a", "b", "c"]
    assert found.says == "Significantly better than the first variant: 1 of 3; significantly worse: 1."
    assert found.numbers.rows[0] == ["a", "3", "10.00 ± 5.00 %"]
    assert found.height == FRAME_PX + 3 * (ROW_PX + LINE_PX)


def test_no_common_seed() -> None:
    assert isinstance(differences([("a", style("fedavg"), None)]), Absent)
