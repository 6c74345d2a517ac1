"""Runs a stored run again for its theory: the rounds one by one, and samples for gradients and their noise."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

import torch
from torch import Tensor

from fedradio.core.contracts import MODEL, Batches, ExchangeRecord, SimState, Slots
from fedradio.core.errors import StoreError
from fedradio.core.progress import Progress, silent
from fedradio.data.streams import arrivals_rng
from fedradio.results.run import open_run
from fedradio.rounds.parts import STREAM, recall
from fedradio.rounds.round import begin, run_round
from fedradio.rounds.simulation import Simulation
from fedradio.runs.own_parts import other_part_file
from fedradio.spec.build import build
from fedradio.spec.spec import Spec, check_spec

BATCHES = 8
"""Mini-batches per client and round from which the gradient noise is estimated, at most an epoch."""


@dataclass(frozen=True)
class StoredRun:
    """A run folder with its simulation built again; ``exchanges[t]`` are the exchange records of round t."""

    folder: Path
    spec: Spec
    sim: Simulation
    exchanges: list[list[ExchangeRecord]]

    @property
    def rounds(self) -> int:
        return len(self.exchanges)


def replayed_run(folder: Path) -> StoredRun:
    """Read a run folder and build its simulation; a folder that was changed since is refused."""
    run = open_run(folder)
    if run.damage:
        raise StoreError(f"{folder} is {run.trouble}")
    _refuse_other_parts(folder)
    spec = check_spec(run.spec.plain)
    records = run.records(ExchangeRecord)
    exchanges = [list(of_round) for _, of_round in groupby(records, key=lambda record: record.t)]
    if not exchanges:
        raise StoreError(f"{folder}: the run ended before its first round")
    return StoredRun(folder, spec, build(spec), exchanges)


def _refuse_other_parts(folder: Path) -> None:
    """Refuse a run whose parts came from a file of the user's own that is not loaded as it was then."""
    other = other_part_file(folder)
    if other is None:
        return
    if other.instead is None:
        command = shlex.join(["fedradio", "theory", str(folder), "--parts", other.name])
        raise StoreError(f"parts of this run came from {other.name}; load it: {command}")
    raise StoreError(f"{other.instead} is not the file that this run was made with; restore it")


@dataclass(frozen=True)
class RoundAgain:
    """A round that was run again: the model ``w [d]`` and the clients' slots before it, the data of its beginning and
    of the next one's (after the run's last round they stay), the state after it, and its records.

    The state after it is that of the moment: the next round changes rows of clients in place.
    """

    t: int
    w: Tensor
    client: Slots
    stream: Slots
    later: Slots
    state: SimState
    records: list[ExchangeRecord]

    @property
    def after(self) -> Tensor:
        """The model after the round ``[d]``."""
        return self.state.memory.shared[MODEL]


def rounds_again(
    run: StoredRun, rounds: int, progress: Progress = silent, *, sim: Simulation | None = None, slots: bool = False
) -> Iterator[RoundAgain]:
    """The first ``rounds`` rounds of a run, run again; refused where they choose otherwise than the records say.

    ``sim`` replaces the run's simulation by one that does the same, as with links that are listened to. Clients' slots
    are copied only with ``slots``.
    """
    sim = run.sim if sim is None else sim
    state = begin(sim)
    for t in range(rounds):
        progress(f"replaying round {t + 1} of {rounds}", t / rounds)
        w = state.memory.shared[MODEL].clone()
        client = {name: rows.clone() for name, rows in state.memory.client.items()} if slots else {}
        stream = _arrived(sim, recall(state.parts, STREAM), t)
        state, _, records = run_round(sim, state, evaluate=False)
        _refuse_mismatch(run, t, records)
        stays = recall(state.parts, STREAM)
        later = _arrived(sim, stays, t + 1) if t + 1 < run.rounds else stays
        yield RoundAgain(t, w, client, stream, later, state, records)


def _arrived(sim: Simulation, stream: Slots, t: int) -> Slots:
    """The clients' data in the first edge round of round ``t``."""
    clock = sim.clock(0, t)
    return sim.stream.arrive(stream, clock, arrivals_rng(sim.rng, clock))


@dataclass(frozen=True)
class ClientData:
    """Samples of some clients: all that they hold, and mini-batches for the noise of gradients. Client ``i`` is row
    ``i`` of both."""

    full: Batches
    drawn: Batches

    def __len__(self) -> int:
        return len(self.full.labelled.count)

    def samples(self, i: int) -> tuple[Tensor, Tensor]:
        """All labelled samples of a client."""
        picks = self.full.labelled
        return self.full.fetch(picks.index[i, 0, : int(picks.count[i, 0])])

    def batches(self, i: int) -> Iterator[tuple[Tensor, Tensor]]:
        """Mini-batches of a client's labelled samples, as large as its updates take."""
        picks = self.drawn.labelled
        for index, count in zip(picks.index[i], picks.count[i], strict=True):
            if count > 0:
                yield self.drawn.fetch(index[: int(count)])


def client_data(sim: Simulation, stream: Slots, ids: Tensor, t: int) -> ClientData:
    """The data of clients ``ids [A]`` at round ``t``, with up to ``BATCHES`` mini-batches each, at most an epoch."""
    rng = sim.rng.child("theory", t)
    whole = max(int(sim.stream.stats(stream)["samples"].max()), 1)
    full = sim.stream.draw(stream, ids, torch.ones_like(ids), whole, rng.child("held"))
    epoch = (full.labelled.count[:, 0] + sim.rule.batch - 1) // sim.rule.batch  # batches of an epoch [A]
    drawn = sim.stream.draw(stream, ids, epoch.cpu().clamp(1, BATCHES), sim.rule.batch, rng.child("noise"))
    return ClientData(full, drawn)


def _refuse_mismatch(run: StoredRun, t: int, records: list[ExchangeRecord]) -> None:
    """Refuse a replay that chose other clients or steps than the records of the run."""
    if [_choice(record) for record in run.exchanges[t]] != [_choice(record) for record in records]:
        reason = "the replay chose different clients or steps from the records; was the run made by another version?"
        raise StoreError(f"{run.folder}, round {t}: {reason}")


def _choice(record: ExchangeRecord) -> tuple[int, int, list[int], list[bool], list[int]]:
    """Who took part in an exchange, with how many steps, and who arrived."""
    return record.hop, record.e, record.ids, record.arrived, record.steps
