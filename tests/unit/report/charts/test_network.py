"""The map of a network."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from fedradio.report.charts.chart import Absent, Chart, Plot, Points, Wires
from fedradio.report.charts.network import ClientNumbers, network
from fedradio.report.charts.run_charts import map_chart
from fedradio.results.run import Run

NODES: dict[str, Any] = {
    "parents": [[0, 0, 1], [0, 0]],
    "positions": [[[0, 1], [1, 0], [5, 5]], [[0, 0], [5, 4]], [[2, 2]]],
}
CLIENTS = ClientNumbers(np.array([0.0, 0.5, 1.0]), np.array([1.0, 2.0, 4.0]), np.array([0.4, np.nan, 0.8]))


def chart(clients: ClientNumbers = CLIENTS) -> Chart:
    found = network(NODES, clients, 4)
    assert isinstance(found, Chart)
    return found


def points(plot: Plot) -> dict[str, Points]:
    return {layer.name: layer for layer in plot.layers if isinstance(layer, Points)}


def test_nodes_and_their_links() -> None:
    plot = chart().plots[""]
    first, second = (layer for layer in plot.layers if isinstance(layer, Wires))
    assert first.end.tolist() == [[0, 0], [0, 0], [5, 4]]
    assert second.start.tolist() == [[0, 0], [5, 4]]
    found = points(plot)
    assert list(found) == ["clients", "edge", "server"]
    assert found["edge"].texts == ["edge 0", "edge 1"]
    assert plot.equal


def test_colours_and_areas_show_what_clients_did() -> None:
    """Participation in percent, joules, accuracies in percent; areas show joules in every view."""
    values = {view: points(plot)["clients"].values for view, plot in chart().plots.items()}
    assert {view: np.nan_to_num(some, nan=-1).tolist() for view, some in values.items() if some is not None} == {
        "": [0, 50, 100],
        "joules": [1, 2, 4],
        "accuracy": [40, -1, 80],
    }
    clients = points(chart().plots["accuracy"])["clients"]
    assert clients.sizes is not None
    assert clients.sizes.tolist() == [0.25, 0.5, 1.0]
    assert clients.keys == {0.25: "used 1 J", 1: "used 4 J"}
    assert clients.texts[0].splitlines() == ["client 0, edge 0", "took part in 0 %", "1 J", "accuracy 40.0 %"]
    assert [plot.label for plot in chart().plots.values()] == ["participation", "energy", "accuracy"]


def test_views_that_are_not_defined_are_left_out() -> None:
    bare = chart(ClientNumbers(CLIENTS.shares))
    assert list(bare.plots) == [""]
    assert points(bare.plots[""])["clients"].sizes is None
    free = chart(replace(CLIENTS, joules=np.zeros(3)))
    assert points(free.plots["joules"])["clients"].sizes is None


@pytest.mark.parametrize(("joules", "log"), [([1.0, 2.0, 50.0], False), ([1.0, 2.0, 100.0], True)])
def test_joules_that_differ_widely_have_logarithmic_colours(joules: list[float], log: bool) -> None:
    scale = points(chart(replace(CLIENTS, joules=np.array(joules))).plots["joules"])["clients"].scale
    assert scale is not None
    assert scale.log == log


def test_every_client_is_in_the_table(small: Run) -> None:
    found = map_chart(small)
    assert isinstance(found, Chart)
    rows = [found.numbers.rows[client] for client in range(len(found.numbers.rows))]
    assert rows == [["0", "0", "100.0 %", "5 J", "50.00 %"], ["1", "0", "50.0 %", "2 J", "100.00 %"]]
    assert found.says.startswith("2 clients. Over 2 edge rounds, client 0 took part most often (100 %), client 1 least")


def test_equal_shares() -> None:
    assert "every client took part in 50 % of them." in chart(ClientNumbers(np.full(3, 0.5))).says
    assert "every client took part in all of them." in chart(ClientNumbers(np.ones(3))).says


def test_why_there_is_no_map() -> None:
    one = ClientNumbers(np.ones(1))
    whys = [network(*given) for given in (({}, CLIENTS, 4), (NODES, CLIENTS, 0), (NODES, one, 4))]
    whys.append(network(NODES, ClientNumbers(np.ones(2)), 4))
    assert all(isinstance(why, Absent) for why in whys)
    assert len({why.why for why in whys if isinstance(why, Absent)}) == 4
