"""Requests of an edge round slot by slot, and what can be foreseen of them before every slot.

A client that made ``n`` requests in ``S`` chances made them in a uniformly random ``n``-subset of its slots, the law of
Bernoulli slots given their number. Between two of its requests its state, and so its forecast, is the same: there are
``n + 1`` of them, each the features of a sample of the tape.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fedradio.core.contracts import Cache, Clock, Foresight, RequestStream, SimState, Slots
from fedradio.core.rng import Rng
from fedradio.engine.evaluate import probabilities
from fedradio.rounds.evaluation import fitted
from fedradio.rounds.norm_layers import global_norms
from fedradio.rounds.simulation import Simulation
from fedradio.rounds.tiers import Tiers

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

SHARES = 2**16 - 1
"""Steps of a share of 16 bits."""


@dataclass(frozen=True)
class SlotRequests:
    """The requests of an edge round. ``number [M]`` are the samples whose features are the clients' states, client
    after client (-1: the end of a tape), ``owner [M]`` their clients; ``row [S, C]`` is each client's state before
    every slot, ``made [S, C]`` marks requests and ``file [M]`` is what is asked for in a state; ``chances [C]`` are
    every client's slots."""

    number: Tensor
    owner: Tensor
    row: Ints
    made: Bools
    file: Ints
    chances: Ints

    @property
    def slots(self) -> int:
        return len(self.row)

    def of(self, slot: int) -> tuple[Ints, Ints]:
        """Clients, rising, and the files that they ask for in a slot."""
        client = np.flatnonzero(self.made[slot])
        return client, self.file[self.row[slot, client]]

    def done(self, slot: int) -> Ints:
        """Requests ``[C]`` that were made in the slots before."""
        return np.asarray(self.row[slot] - self.row[0])

    def open(self, slot: int) -> Bools:
        """Clients ``[C]`` that may ask for something in a slot: it is one of theirs, and their tape goes on."""
        return np.asarray((slot < self.chances) & (self.number.numpy()[self.row[slot]] >= 0))


def slot_requests(stream: RequestStream, before: Slots, after: Slots, clock: Clock, rng: Rng) -> SlotRequests:
    """The requests between two states of a stream, in slots that are drawn by lot."""
    asked, ahead = stream.asked(before, after), stream.ahead(after)
    chances: Ints = stream.chances_at(clock).numpy()
    count = np.array([len(numbers) for numbers in asked])
    number = torch.cat([torch.cat([numbers, ahead[c : c + 1]]) for c, numbers in enumerate(asked)])
    slots = int(chances.max(initial=0))
    made = np.zeros((slots, len(asked)), np.bool_)
    if slots:
        made = drawn_slots(count, chances, rng).T
    first = np.cumsum(count + 1) - (count + 1)
    row = first + np.cumsum(made, axis=0) - made
    _, label = stream.fetch(number.clamp(min=0))
    return SlotRequests(
        number,
        torch.arange(len(asked)).repeat_interleave(torch.from_numpy(count + 1)),
        row,
        made,
        label.cpu().numpy(),
        chances,
    )


def drawn_slots(count: Ints, chances: Ints, rng: Rng) -> Bools:
    """A uniformly random subset of ``count [C]`` of each client's first ``chances [C]`` slots, ``[C, S]``."""
    keys = rng.numpy().random((len(count), int(chances.max())))
    keys[np.arange(keys.shape[1]) >= chances[:, None]] = np.inf
    rank = np.argsort(np.argsort(keys, axis=1), axis=1)
    return np.asarray(rank < count[:, None])


@dataclass
class Foreseen:
    """Forecasts of an edge round, made when they are first asked for: by the true law in every state, by the model in
    the states before the slots in which caches are ``placed``."""

    sim: Simulation
    cache: Cache
    state: SimState
    tiers: Tiers
    requests: SlotRequests
    placed: Sequence[int]
    tables: dict[Foresight, Tensor] = field(default_factory=dict)

    def forecast(self, by: Foresight, slot: int) -> Tensor:
        """Probabilities ``[C, N]`` of every client's next request before a slot; 0 at the end of a tape."""
        if by not in self.tables:
            self.tables[by] = self._law() if by == "law" else self._model()
        return self.tables[by][torch.from_numpy(self.requests.row[slot])]

    def _law(self) -> Tensor:
        stream, number = self.sim.stream, self.requests.number
        assert isinstance(stream, RequestStream)
        assert stream.law is not None  # refused before the run
        table = torch.zeros(len(number), stream_files(self.sim), dtype=torch.float64)
        known = number >= 0
        table[known] = stream.law(number[known])
        return table

    def _model(self) -> Tensor:
        """Every client runs the vectors of its own edge, as they were broadcast, on its own state."""
        sim, requests, parent = self.sim, self.requests, self.sim.topology.parents[0]
        stream = sim.stream
        assert isinstance(stream, RequestStream)
        table = torch.zeros(len(requests.number), stream_files(sim), dtype=torch.float64)
        wanted = torch.zeros(len(table), dtype=torch.bool)
        wanted[torch.from_numpy(requests.row[list(self.placed)].ravel())] = True
        wanted &= requests.number >= 0
        norms = global_norms(self.state.memory)
        for b in range(sim.topology.receivers(0)):
            rows = (wanted & (parent[requests.owner] == b)).nonzero().squeeze(1)
            if not len(rows):
                continue
            shared = {name: vectors[b : b + 1] for name, vectors in self.tiers[0].shared.items()}
            ensemble = next(iter(sim.algorithm.predict(shared, self.state.memory.client).values()))
            ensemble = fitted(sim, ensemble)[0] if ensemble.learned else ensemble
            own = self.tiers[0].norms
            local = norms.unsqueeze(0) if own is None and norms is not None else None if own is None else own[b : b + 1]
            x, _ = stream.fetch(requests.number[rows].to(sim.device))
            likely = probabilities(sim.model, ensemble, x, requests.owner[rows], local)[:, : table.shape[1]]
            table[rows] = top_shares(likely, self.cache.top) if self.cache.sharing == "top" else likely
        return table


@dataclass(frozen=True)
class SlotForecasts:
    """Forecasts before a ``slot`` of an edge round."""

    foreseen: Foreseen
    slot: int

    def __call__(self, by: Foresight) -> Tensor:
        """Probabilities ``[C, N]`` of every client's next request."""
        return self.foreseen.forecast(by, self.slot)


def top_shares(probability: Tensor, most: int) -> Tensor:
    """Probabilities ``[n, N]`` as clients tell them with ``sharing: top``: the ``most`` likeliest, in 16 bits each."""
    value, place = probability.topk(min(most, probability.shape[1]), dim=1)
    return torch.zeros_like(probability).scatter_(1, place, (value * SHARES).round() / SHARES)


def stream_files(sim: Simulation) -> int:
    """Files ``N`` of the catalogue."""
    return sim.stream.classes
