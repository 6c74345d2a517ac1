"""State of every client in every edge round, stored as sparsely as the records: most clients of a large network are
idle for the same reason, and only the others have an entry."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from fedradio.core.contracts.reasons import REASON_NAMES
from fedradio.core.contracts.records import ExchangeRecord

Ints = NDArray[np.int64]

ARRIVED = 0
"""State of a client whose payload arrived."""

LOST = {name: 1 + place for place, name in enumerate(REASON_NAMES.values())}
"""State of an active client whose payload did not arrive, by the name of the reason."""

OUT = {name: 1 + len(REASON_NAMES) + place for place, name in enumerate(REASON_NAMES.values())}
"""State of an idle client, by the name of the reason."""

STATES = 1 + len(LOST) + len(OUT)


@dataclass(frozen=True)
class ClientStates:
    """States of ``clients`` in the edge rounds of a run: entry ``i`` says that ``client[i]`` had ``state[i]`` in edge
    round ``e[i]``; clients without an entry had the state ``rest [E]`` of the edge round."""

    clients: int
    rest: Ints
    e: Ints
    client: Ints
    state: Ints

    @property
    def edge_rounds(self) -> int:
        return len(self.rest)

    @property
    def arrived(self) -> float:
        """Clients whose payload arrived in an edge round, on average."""
        return float((self.state == ARRIVED).sum()) / self.edge_rounds

    def shares(self) -> NDArray[np.float64]:
        """Share of edge rounds in which the payload of each client arrived, ``[C]``."""
        counts = np.bincount(self.client[self.state == ARRIVED], minlength=self.clients)
        return np.asarray(counts / self.edge_rounds, dtype=np.float64)

    def by_edge_round(self) -> Ints:
        """Number of clients in each state per edge round, ``[E, STATES]``."""
        counts = _counts(self.e, self.state, self.edge_rounds)
        counts[np.arange(self.edge_rounds), self.rest] += self.clients - np.bincount(self.e, minlength=self.edge_rounds)
        return counts

    def by_client(self) -> Ints:
        """Number of edge rounds in each state per client, ``[C, STATES]``."""
        rests = np.bincount(self.rest, minlength=STATES)
        return (
            _counts(self.client, self.state, self.clients)
            + rests
            - _counts(self.client, self.rest[self.e], self.clients)
        )

    def grid(self, edge_rounds: Ints, clients: Ints) -> Ints:
        """States of some clients in some edge rounds, both rising; one row per edge round."""
        grid = np.repeat(self.rest[edge_rounds, None], len(clients), axis=1)
        row, column = np.searchsorted(edge_rounds, self.e), np.searchsorted(clients, self.client)
        row, column = np.minimum(row, len(edge_rounds) - 1), np.minimum(column, len(clients) - 1)
        inside = (edge_rounds[row] == self.e) & (clients[column] == self.client)
        grid[row[inside], column[inside]] = self.state[inside]
        return grid


@dataclass
class StateReader:
    """Collects the states of ``clients`` from the exchanges of hop 0, one by one."""

    clients: int
    rest: list[int] = field(default_factory=list)
    client: list[Ints] = field(default_factory=list)
    state: list[Ints] = field(default_factory=list)

    def add(self, record: ExchangeRecord) -> None:
        """The next exchange."""
        clients, states = (
            list(record.ids),
            [ARRIVED if arrived else LOST[why] for arrived, why in zip(record.arrived, record.why, strict=True)],
        )
        for name, idle in record.idle.items():
            clients += idle
            states += [OUT[name]] * len(idle)
        self.rest.append(OUT[record.rest])
        self.client.append(np.array(clients, dtype=np.int64))
        self.state.append(np.array(states, dtype=np.int64))

    def states(self) -> ClientStates:
        """All states so far."""
        none = np.zeros(0, dtype=np.int64)
        sizes = [len(client) for client in self.client]
        return ClientStates(
            clients=self.clients,
            rest=np.array(self.rest, dtype=np.int64),
            e=np.repeat(np.arange(len(sizes)), sizes),
            client=np.concatenate([none, *self.client]),
            state=np.concatenate([none, *self.state]),
        )


def _counts(row: Ints, state: Ints, rows: int) -> Ints:
    """Entries by row and state, ``[rows, STATES]``."""
    return np.bincount(row * STATES + state, minlength=rows * STATES).reshape(rows, STATES)
