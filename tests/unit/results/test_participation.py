"""Participation of clients, put together from exchanges."""

import numpy as np
from support.records import exchange

from fedradio.core.contracts import Reason
from fedradio.results.participation import participation_of


def test_rows_of_exchanges() -> None:
    """Of four clients 1 and 3 send, 3 is late; 2 has no energy; 0 was not chosen."""
    record = exchange(ids=(1, 3), arrived=[True, False], why=["none", "deadline"], steps=[2, 5], idle={"energy": [2]})
    found = participation_of([record], 4)
    assert found.active.tolist() == [[False, True, False, True]]
    assert found.arrived.tolist() == [[False, True, False, False]]
    assert found.steps.tolist() == [[0, 2, 0, 5]]
    assert found.reason.tolist() == [[Reason.NOT_SELECTED, Reason.NONE, Reason.ENERGY, Reason.DEADLINE]]
    assert {name: count.tolist() for name, count in found.reasons().items()} == {
        "not selected": [1],
        "energy": [1],
        "deadline": [1],
    }


def test_no_exchange_is_an_empty_table() -> None:
    found = participation_of([], 3)
    assert found.active.shape == (0, 3)
    assert found.joules is None
    assert found.reasons() == {}
    assert isinstance(found.reason, np.ndarray)
