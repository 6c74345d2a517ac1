"""Who took part, and why not."""

import numpy as np
from support.records import exchange

from fedradio.report.charts.chart import Absent, Bars, Chart, Grid
from fedradio.report.charts.participation import looks, participation
from fedradio.results.client_states import StateReader
from fedradio.results.run import Run


def test_states_tell_losses_from_absences() -> None:
    """Client 0 arrives, 1 is late, 2 missed a deadline before it was selected, 3 is not selected."""
    reader = StateReader(4)
    reader.add(
        exchange(
            ids=[0, 1], arrived=[True, False], why=["none", "deadline"], idle={"deadline": [2]}, rest="not_selected"
        )
    )
    states = reader.states()
    place, words = looks(states.by_edge_round())
    names = list(words)
    assert [names[place[state]] for state in states.grid(np.arange(1), np.arange(4))[0]] == [
        "arrived",
        "selected, but too late",
        "deadline",
        "not selected",
    ]
    selection = participation(states, parents=[1, 0, 1, 0])[0]
    assert isinstance(selection, Chart)
    (grid,) = selection.plots[""].layers
    assert isinstance(grid, Grid)
    assert grid.y.tolist() == [1, 3, 0, 2]  # those of edge 0 first


def test_shares_of_clients_and_counts_of_edge_rounds(small: Run) -> None:
    selection, reasons = participation(small.digest.states)
    assert isinstance(selection, Chart)
    assert isinstance(reasons, Chart)
    assert selection.says == "In an average edge round, payloads from 75.0 % of all clients arrived."
    assert reasons.says == "Average number of clients per edge round: arrived 1.5, not selected 0.5."
    assert selection.numbers.rows[1] == ["1", "50.0 %", "50.0 %"]
    (grid,) = selection.plots[""].layers
    assert isinstance(grid, Grid)
    assert grid.states.tolist() == [[0, 0], [0, 1]]
    assert [layer.y.tolist() for layer in reasons.plots[""].layers if isinstance(layer, Bars)] == [[2, 1], [0, 1]]


def test_everyone_and_nobody() -> None:
    reader = StateReader(2)
    assert {one.why for one in participation(reader.states()) if isinstance(one, Absent)} == {
        "no edge round is on record"
    }
    reader.add(exchange(ids=[0, 1]))
    why = [one.why for one in participation(reader.states()) if isinstance(one, Absent)]
    assert why == ["all 2 clients took part in each of the 1 edge rounds"] * 2
