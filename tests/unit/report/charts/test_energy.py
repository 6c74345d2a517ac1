"""Joules over clients, uploads, edge rounds and rounds."""

from dataclasses import replace

import numpy as np

from fedradio.report.charts.chart import Absent, Chart, Group, Line
from fedradio.report.charts.energy import energy, energy_axis, energy_of_rounds, with_total
from fedradio.report.style import style
from fedradio.results.digest import Digest, Joules
from fedradio.results.run import Run


def group(*digests: Digest, label: str = "one") -> Group:
    return Group(label, style("fedavg"), digests)


def says(charts: list[Chart | Absent]) -> list[str]:
    return [chart.says if isinstance(chart, Chart) else chart.why for chart in charts]


def names(chart: Chart | Absent) -> list[str]:
    assert isinstance(chart, Chart)
    return [layer.name for layer in chart.plots[""].layers if isinstance(layer, Line)]


def test_who_spent_what(small: Run) -> None:
    """Clients spent 5 and 2 J, edge rounds 3.5 J each; 6 of 7 J went into computing."""
    clients, uploads, slots = says(energy([group(small.digest)]))
    assert clients.startswith("Over 2 clients, the median energy is 3.5 J, the 90 % quantile 4.7 J and the maximum 5 J")
    assert "Computing accounts for 85.7 % of the total." in clients
    assert uploads.startswith("Over 3 uploads, the median energy is 2 J")
    assert "the maximum 3.5 J" in slots
    assert says([energy_of_rounds(small.rounds)]) == ["A round uses 3.5 J on average, from 3.5 J to 3.5 J."]


def test_totals_stand_in_front_where_there_are_several() -> None:
    computing, sending = np.array([1.0, 2.0]), np.array([3.0, 4.0])
    found = with_total({"computing": computing, "sending": sending})
    assert list(found) == ["total", "computing", "sending"]
    assert found["total"].tolist() == [4.0, 6.0]
    assert list(with_total({"sending": sending})) == ["sending"]


def test_kinds_that_are_zero_are_not_drawn(small: Run) -> None:
    nothing = Joules(np.zeros(2), np.zeros(2), np.zeros(3))
    assert names(energy([group(replace(small.digest, sending=nothing))])[0]) == ["total", "computing"]


def test_several_groups_have_a_line_each(small: Run) -> None:
    both = [group(small.digest), group(small.digest, small.digest, label="two")]
    assert names(energy(both)[0]) == ["one", "two"]
    assert says(energy(both))[0].endswith("The median is the same in all variants (3.5 J).")


def test_wide_ranges_have_a_logarithmic_axis() -> None:
    assert not energy_axis(np.array([0.0, 1.0, 50.0])).log
    assert energy_axis(np.array([0.0, 1.0, 51.0])).log
    assert not energy_axis(np.zeros(3)).log


def test_why_there_is_none(small: Run) -> None:
    without = replace(small.digest, computing=None, sending=None)
    assert "no fleet that uses energy" in says(energy([group(without)]))[0]
    assert says([energy_of_rounds([])]) == ["the energy of every round is undefined"]
