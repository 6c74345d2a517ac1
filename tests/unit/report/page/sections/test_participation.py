"""Who took part, and why not."""

import numpy as np
from support.records import exchange

from fedradio.report.page.run_data import RunData
from fedradio.report.page.sections.participation import looks, participation
from fedradio.results.client_states import StateReader


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


def test_shares_of_clients_and_counts_of_edge_rounds(small: RunData) -> None:
    text = participation(small)
    assert "In an average edge round, payloads from 75.0 % of all clients arrived." in text
    assert "Average number of clients per edge round: arrived 1.5, not selected 0.5." in text
    assert '<th scope="row">1</th><td>50.0 %</td><td>50.0 %</td>' in text
    assert '"states":["00","01"]' in text
