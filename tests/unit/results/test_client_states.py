"""States of clients without a value for everybody: the same counts as of the dense table."""

import numpy as np
import pytest
from support.records import exchange

from fedradio.core.contracts import ExchangeRecord
from fedradio.core.rng import Rng
from fedradio.results.client_states import ARRIVED, LOST, OUT, STATES, ClientStates, StateReader

CLIENTS = 9


def random_exchanges() -> list[ExchangeRecord]:
    """Edge rounds in which none, some and all take part, with up to two reasons of the idle."""
    draws, records = Rng(1).numpy(), []
    for t in range(12):
        order = draws.permutation(CLIENTS)
        active = sorted(order[: [0, 3, CLIENTS, 5][t % 4]].tolist())
        idle = [client for client in range(CLIENTS) if client not in active]
        why = draws.choice(["none", "none", "deadline", "outage"], size=len(active)).tolist()
        records.append(
            exchange(
                t,
                ids=active,
                why=why,
                arrived=[reason == "none" for reason in why],
                idle={"energy": idle[:2]} if t % 3 == 0 and len(idle) > 4 else {},
                rest=["not_selected", "no_data"][t % 2] if idle else "none",
            )
        )
    return records


def dense(records: list[ExchangeRecord]) -> np.ndarray:
    """State of every client in every edge round, ``[E, C]``."""
    rows = []
    for record in (record.dense(CLIENTS) for record in records):
        each = zip(record.active, record.arrived, record.reason, strict=True)
        rows.append([ARRIVED if arrived else (LOST if active else OUT)[why] for active, arrived, why in each])
    return np.array(rows)


@pytest.fixture
def sparse() -> ClientStates:
    reader = StateReader(CLIENTS)
    for record in random_exchanges():
        reader.add(record)
    return reader.states()


def test_sparse_states_equal_the_dense_table(sparse: ClientStates) -> None:
    table = dense(random_exchanges())
    is_state = table[:, :, None] == np.arange(STATES)
    assert sparse.edge_rounds == len(table)
    assert np.array_equal(sparse.by_edge_round(), is_state.sum(axis=1))
    assert np.array_equal(sparse.by_client(), is_state.sum(axis=0))
    assert np.array_equal(sparse.shares(), (table == ARRIVED).mean(axis=0))
    assert sparse.arrived == (table == ARRIVED).sum(axis=1).mean()
    for rounds, clients in ((np.arange(12), np.arange(CLIENTS)), (np.array([0, 5, 6]), np.array([2, 8]))):
        assert np.array_equal(sparse.grid(rounds, clients), table[np.ix_(rounds, clients)])


def test_entries_are_those_who_differ(sparse: ClientStates) -> None:
    listed = sum(len(record.ids) + sum(map(len, record.idle.values())) for record in random_exchanges())
    assert len(sparse.state) == listed < sparse.edge_rounds * CLIENTS


def test_no_edge_round() -> None:
    states = StateReader(3).states()
    assert states.edge_rounds == 0
    assert states.by_edge_round().shape == (0, STATES)
    assert not states.by_client().any()
