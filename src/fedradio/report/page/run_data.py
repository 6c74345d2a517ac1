"""The data of a run's page: the run, and what a single pass over its records yields."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fedradio.results.client_states import ClientStates
from fedradio.results.digest import Digest
from fedradio.results.run import Floats, Run


@dataclass(frozen=True)
class RunData:
    """A run with everything that its page shows, read on demand."""

    run: Run

    @property
    def exchanges(self) -> Digest:
        return self.run.digest

    @property
    def states(self) -> ClientStates:
        return self.exchanges.states

    @property
    def edge_rounds(self) -> int:
        return self.states.edge_rounds

    @property
    def clients(self) -> int:
        return self.run.clients

    def client_joules(self) -> Floats | None:
        """The joules that each client has spent, ``[C]``; None if undefined."""
        joules = self.exchanges.joules
        if not joules:
            return None
        return np.asarray(sum(values.clients for values in joules.values()), dtype=np.float64)

    def client_accuracies(self) -> list[float | None] | None:
        """The accuracy of every client in the last evaluation; None if clients have no test sets of their own."""
        groups = [record.groups["accuracy"] for record in self.run.evaluations if record.groups.get("accuracy")]
        return groups[-1] if groups and len(groups[-1]) == self.clients else None
