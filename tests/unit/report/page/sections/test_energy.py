"""Joules over clients, edge rounds and rounds."""

import numpy as np

from fedradio.report.page.run_data import Joules, RunData
from fedradio.report.page.sections.energy import cdf_chart, energy, energy_axis, with_total


def test_who_spent_what(small: RunData) -> None:
    """Clients spent 5 and 2 J, edge rounds 3.5 J each; 6 of 7 J went into computing."""
    text = energy(small)
    assert "Over 2 clients, the median energy is 3.5 J, the 90 % quantile 4.7 J and the maximum 5 J." in text
    assert "Computing accounts for 85.7 % of the total." in text
    assert "A round uses 3.5 J on average, from 3.5 J to 3.5 J." in text


def test_totals_stand_in_front_where_there_are_several() -> None:
    computing, sending = np.array([1.0, 2.0]), np.array([3.0, 4.0])
    found = with_total({"computing": computing, "sending": sending})
    assert list(found) == ["total", "computing", "sending"]
    assert found["total"].tolist() == [4.0, 6.0]
    assert list(with_total({"sending": sending})) == ["sending"]


def test_kinds_that_are_zero_are_not_drawn() -> None:
    chart = cdf_chart("x", "t", "clients", {"computing": np.array([1.0, 2.0]), "sending": np.zeros(2)})
    assert [trace["name"] for trace in chart.views["all"].traces] == ["total", "computing"]


def test_wide_ranges_have_a_logarithmic_axis() -> None:
    assert "type" not in energy_axis(np.array([0.0, 1.0, 50.0]))
    assert energy_axis(np.array([0.0, 1.0, 51.0]))["type"] == "log"
    assert "type" not in energy_axis(np.zeros(3))


def test_why_there_is_none(small: RunData, empty: RunData) -> None:
    assert "No edge round is on record" in energy(empty)
    small.__dict__["joules"] = {}
    assert "Energy is undefined in this run" in energy(small)


def test_one_kind_alone_says_so(small: RunData) -> None:
    small.__dict__["joules"] = {"sending": Joules(np.array([1.0, 0.0]), np.array([0.5, 0.5]))}
    assert "Only the energy of sending is defined here; that of computing is not." in energy(small)
