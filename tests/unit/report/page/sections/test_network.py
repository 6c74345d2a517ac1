"""The map of a run."""

from fedradio.report.page.run_data import RunData
from fedradio.report.page.sections.network import network


def test_clients_by_what_they_did(small: RunData) -> None:
    text = network(small)
    assert "2 clients. In 2 edge rounds client 0 took part most often (100 %), client 1 least (50 %)" in text
    assert "Client 0 spent most energy, 5 J." in text
    for option in ("participation", "energy", "accuracy"):
        assert option in text
    assert '"x [m]"' in text


def test_equal_shares_are_told_as_such(small: RunData) -> None:
    small.run.participation.arrived[:] = True
    assert "everyone took part in all." in network(small)
    small.run.participation.arrived[0] = False
    assert "each took part in 50 %." in network(small)


def test_why_there_is_no_map(small: RunData, empty: RunData) -> None:
    assert "no network.json" in network(empty)
    places = small.run.network["positions"]
    places[0].pop()
    assert "not those of the clients on record" in network(small)
    places[0].append([3.0, 4.0])
    assert "not those of the clients" not in network(small)
