"""One client alone equals itself in a simulation with ``grouping: single``, whatever it keeps, receives and sends."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import pytest
import torch
from support.worlds import tiny
from torch import Tensor, nn

from fedradio.algorithms.fedcpsl import fedcpsl
from fedradio.algorithms.feddyn import feddyn
from fedradio.algorithms.scaffold import scaffold
from fedradio.core.contracts import Hop, Model, SimState, Slots, Tapes
from fedradio.core.rng import Rng
from fedradio.data.growing import growing
from fedradio.engine.rules import sgd
from fedradio.links.ideal import ideal
from fedradio.losses.moon import Moon
from fedradio.models.model import wrap
from fedradio.policies.fixed import fixed
from fedradio.policies.sampling import sampling
from fedradio.remote.flower.device import Device
from fedradio.rounds.commit import Writes
from fedradio.rounds.evaluation import Evaluation
from fedradio.rounds.planning import Planned
from fedradio.rounds.round import begin, run_round
from fedradio.rounds.simulation import Simulation
from fedradio.rounds.tiers import Tier
from fedradio.rounds.work import LOSS, Clients, Updates, client_updates
from fedradio.transforms.feedback import feedback
from fedradio.transforms.quantise import quantise
from fedradio.transforms.sparsify import random_k, top_k

Made = Callable[[], Simulation]


@dataclass
class Alone(Clients):
    """Every client as a device of its own, without any wire; ``kept`` is what each has."""

    kept: dict[int, Slots] = field(default_factory=dict)
    stream: dict[int, Slots] = field(default_factory=dict)

    def work(self, sim: Simulation, state: SimState, tier: Tier, planned: Planned) -> tuple[Updates, Writes]:
        x, uploads = planned.x, []
        for number in range(sim.topology.clients):
            device = Device.of(sim, number)
            self.stream[number] = device.arrive(self.stream.get(number, device.stream.start()), x.clock)
            if not bool(x.alloc.active[number]):
                continue
            got = {name: rows[0] for name, rows in tier.shared.items()}
            norms = None if tier.norms is None else tier.norms[0]
            mine, steps = self.kept.get(number, device.start()), int(x.alloc.steps[number])
            uploads.append(device.work(got, norms, self.stream[number], mine, steps, x.clock))
            self.kept[number] = uploads[-1].counted if bool(planned.airtime.arrived[number]) else uploads[-1].lost
        ids = x.alloc.active.nonzero().squeeze(1)
        payload = torch.stack([one.payload for one in uploads])
        local = (
            None if uploads[0].local is None else torch.stack([one.local for one in uploads if one.local is not None])
        )
        loss = torch.tensor([one.loss for one in uploads]).double()
        return client_updates(sim, state, planned, payload, {LOSS: loss}, local), Writes(ids, {})

    def describe(self) -> dict[str, Any]:
        return {}

    def evaluate(self, sim: Simulation, state: SimState) -> Evaluation | None:
        return None


def with_norms(shape: tuple[int, ...], classes: int) -> Model:
    first, second = nn.Linear(64, 12), nn.Linear(12, 10)
    module = nn.Sequential(nn.Flatten(), first, nn.BatchNorm1d(12), nn.ReLU(), nn.Dropout(0.2), second)
    for layer in (first, second):
        nn.init.uniform_(layer.weight, -0.2, 0.2, generator=Rng(1).torch())
        nn.init.zeros_(layer.bias)
    return wrap(module, shape, classes, "shared")


def uneven(labels: Tensor, classes: int, parent: Tensor, rng: Rng) -> list[Tensor]:
    """Client 0 has five samples, fewer than a batch; the others share the rest."""
    order = torch.arange(len(labels))
    return [order[:5], *order[5:].tensor_split(len(parent) - 1)]


def coded(*transforms: object) -> Simulation:
    sim = tiny(algorithm=scaffold(), grouping="single")
    return replace(sim, hops=(Hop(ideal(), fixed(steps=3), transforms=transforms),))  # type: ignore[arg-type]


def grown(tapes: Tapes, rng: Rng) -> object:
    return growing(tapes, rng, history=20, slots=3)


WORLDS: dict[str, Made] = {
    "fedavg": partial(tiny, grouping="single"),
    "scaffold": partial(tiny, algorithm=scaffold(), grouping="single"),
    "feddyn, some clients": partial(tiny, algorithm=feddyn(), policy=sampling(clients=3, steps=4), grouping="single"),
    "kept momentum": partial(tiny, rule=sgd(lr=0.05, batch=16, momentum=0.9, keep_state=True), grouping="single"),
    "shared norms": partial(tiny, model=with_norms, grouping="single"),
    "fewer samples than a batch": partial(tiny, partition=uneven, algorithm=scaffold(), grouping="single"),
    "growing data": partial(tiny, stream=grown, grouping="single"),
    "coded": partial(coded, feedback(), top_k(share=0.2), quantise(bits=6)),
    "common places": partial(coded, random_k(share=0.3)),
    "a rate per step": partial(
        tiny, rule=sgd(lr=0.1, batch=16, lr_per_step=True), policy=sampling(clients=4, steps=5), grouping="single"
    ),
    "the client's previous model": partial(tiny, rule=replace(sgd(lr=0.1, batch=16), loss=Moon()), grouping="single"),
    "kept pseudo-labels": partial(
        tiny, algorithm=fedcpsl(pseudo="gradient", pseudo_rate=0.5), unlabelled=0.5, grouping="single"
    ),
}


@pytest.mark.parametrize("name", WORLDS)
def test_devices_equal_the_simulation_bit_for_bit(name: str) -> None:
    sim = WORLDS[name]()
    alone = Alone()
    remote = replace(sim, clients=alone)
    here, there = begin(sim), begin(remote)
    assert there.memory.client == {}
    for _ in range(3):
        here, expected, _ = run_round(sim, here, evaluate=False)
        there, record, _ = run_round(remote, there, evaluate=False)
        for slot, vector in here.memory.shared.items():
            assert torch.equal(vector, there.memory.shared[slot]), slot
        assert record.train_loss == pytest.approx(expected.train_loss, rel=1e-12)
    for number, kept in alone.kept.items():
        for slot, row in kept.items():
            expected_row = here.memory.client.get(slot)
            if expected_row is not None:
                assert torch.equal(row, expected_row[number]), (number, slot)


def test_grouping_is_what_makes_them_equal() -> None:
    """The same clients trained in stacks differ in the last digits."""
    stacked, alone = tiny(grouping="auto"), replace(tiny(grouping="single"), clients=Alone())
    states = [run_round(sim, begin(sim), evaluate=False)[0].memory.shared["w"] for sim in (stacked, alone)]
    assert not torch.equal(*states)
    assert torch.allclose(*states, atol=1e-6)


def test_state_is_worked_out_for_both_cases() -> None:
    """An upload of scaffold that did not count leaves ``c_i`` where it was; error feedback then owes all of it."""
    sim = coded(feedback(), top_k(share=0.1))
    device = Device.of(sim, 2)
    begun = begin(sim)
    mine, clock = device.start(), sim.clock(0, 0)
    upload = device.work(begun.memory.shared, None, device.arrive(device.stream.start(), clock), mine, 3, clock)
    counted, lost = upload.counted, upload.lost
    assert torch.equal(lost["c"], mine["c"])
    assert not torch.equal(counted["c"], mine["c"])
    owed = lost["hops.0.transforms.0/error"]
    assert torch.equal(counted["hops.0.transforms.0/error"] + upload.payload, owed)
    assert float(owed.abs().sum()) > float(counted["hops.0.transforms.0/error"].abs().sum())
