"""The map of a run."""

from dataclasses import replace

import pytest

from fedradio.report.page.run_data import RunData
from fedradio.report.page.sections import network as section
from fedradio.report.page.sections.network import network


def test_clients_by_what_they_did(small: RunData) -> None:
    text = network(small)
    assert "2 clients. Over 2 edge rounds, client 0 took part most often (100 %), client 1 least (50 %)" in text
    assert "Client 0 used the most energy, 5 J." in text
    for option in ("participation", "energy", "accuracy"):
        assert option in text
    assert '"x [m]"' in text


def test_equal_shares_are_told_as_such(small: RunData) -> None:
    states = small.states
    once = replace(states, e=states.e[:2], client=states.client[:2], state=states.state[:2])
    vars(small.run)["digest"] = replace(small.exchanges, states=once)
    assert "each client took part in 50 % of them." in network(small)
    vars(small.run)["digest"] = replace(small.exchanges, states=replace(once, rest=once.rest[:1]))
    assert "every client took part in all of them." in network(small)


def test_a_map_of_very_many_clients_shows_some(small: RunData, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two clients one: the table has both."""
    monkeypatch.setattr(section, "MOST", 1)
    text = network(small)
    assert "The map shows 1 of them, evenly spaced." in text
    assert '"client 0<br>' in text.replace("\\u003c", "<")
    assert '"client 1<br>' not in text.replace("\\u003c", "<")
    assert text.count('<th scope="row">') == 2


def test_why_there_is_no_map(small: RunData, empty: RunData) -> None:
    assert "no network.json" in network(empty)
    places = small.run.network["positions"]
    places[0].pop()
    assert "do not match the clients on record" in network(small)
    places[0].append([3.0, 4.0])
    assert "do not match the clients" not in network(small)
