"""The charts of a single run, read from its records: participation, map, energy and caches."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fedradio.report.charts.cache import caches
from fedradio.report.charts.chart import Absent, Chart, Group
from fedradio.report.charts.energy import energy, energy_of_rounds
from fedradio.report.charts.network import ClientNumbers, network
from fedradio.report.charts.participation import participation
from fedradio.report.lengths import length_unit
from fedradio.results.caches import served_rounds
from fedradio.results.run import Floats, Run


def participation_charts(run: Run) -> list[Chart | Absent]:
    """Who took part, with clients sorted by their edges if there are any."""
    parents = run.network.get("parents", [])
    return participation(run.digest.states, parents[0] if len(parents) > 1 else None)


def map_chart(run: Run) -> Chart | Absent:
    """The map of the network."""
    states = run.digest.states
    shares = states.shares() if states.edge_rounds else np.zeros(states.clients)
    clients = ClientNumbers(shares, client_joules(run), client_accuracies(run))
    return network(run.network, clients, states.edge_rounds, length_unit(run.spec))


def energy_charts(alone: Sequence[Group], run: Run) -> list[Chart | Absent]:
    """Energy over clients, uploads and edge rounds, and in every round."""
    return [*energy(alone), energy_of_rounds(run.rounds)]


def cache_charts(run: Run) -> list[Chart]:
    """The charts of the caches; none without caches."""
    served = served_rounds(run)
    return [] if served is None else caches(served, run.cache)


def client_joules(run: Run) -> Floats | None:
    """The joules that each client has spent, ``[C]``; None if undefined."""
    joules = run.digest.joules
    return np.sum([each.clients for each in joules.values()], axis=0) if joules else None


def client_accuracies(run: Run) -> Floats | None:
    """The accuracy of every client in the last evaluation (NaN: no samples), ``[C]``; None if they share a test set."""
    groups = [record.groups["accuracy"] for record in run.evaluations if record.groups.get("accuracy")]
    if not groups or len(groups[-1]) != run.clients:
        return None
    return np.array([np.nan if value is None else value for value in groups[-1]], dtype=np.float64)
