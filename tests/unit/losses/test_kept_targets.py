"""Kept pseudo-labels, and the control that puts labelled inputs in place of the unlabelled ones."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest
import torch
from support.worlds import after, tiny
from torch import Tensor

from fedradio.algorithms.apfl import apsfl
from fedradio.algorithms.fedcpsl import fedcpsl
from fedradio.core.contracts import NO_SAMPLE, Algorithm, KeptTargets, SimState
from fedradio.core.rng import Rng
from fedradio.data.fifo import fifo
from fedradio.data.streams import Window
from fedradio.losses.fedcpsl import FedCpslLoss, pseudo_labels
from fedradio.losses.kept_targets import NUMBER, VALUE, draw, kept, recalled, target_slots
from fedradio.policies.fixed import fixed
from fedradio.policies.sampling import sampling
from fedradio.rounds.round import begin, run_round
from fedradio.rounds.simulation import Simulation

FEW = sampling(clients=2, steps=3)


def world(algorithm: Algorithm | None = None, **changes: object) -> Simulation:
    given = algorithm or fedcpsl(pseudo="gradient", pseudo_rate=0.5)
    return tiny(**({"algorithm": given, "policy": FEW, "unlabelled": 0.5} | changes))


def samples_of(sim: Simulation, client: int, labelled: bool) -> Tensor:
    """Sample numbers on a client's tape, rising."""
    assert isinstance(sim.stream, Window)
    tapes = sim.stream.tapes
    tape = slice(int(tapes.offset[client]), int(tapes.offset[client + 1]))
    return tapes.index[tape][tapes.labelled[tape] == labelled].sort().values


def labels_of(state: SimState, client: int) -> tuple[Tensor, Tensor]:
    number = state.memory.client[NUMBER][client]
    return number[number > 0] - 1, state.memory.client[VALUE][client][number > 0]


def test_every_label_of_an_active_client_takes_one_step_a_round() -> None:
    """Against (10) line by line over four rounds, from the models that the clients received."""
    sim = world()
    assert isinstance(sim.rule.loss, FedCpslLoss)
    state, wanted = begin(sim), {}
    for _ in range(4):
        theta = state.memory.shared["w"].clone()
        state, _, (exchange,) = run_round(sim, state, evaluate=False)
        for client in exchange.ids:
            number = samples_of(sim, client, labelled=False)
            assert isinstance(sim.stream, Window)
            x, _ = sim.stream.tapes.fetch(number)
            before = wanted.get(client, torch.full((len(number), 10), 0.1))
            wanted[client] = pseudo_labels(sim.rule.loss, sim.model.apply(theta, x), before)
            found, nu = labels_of(state, client)
            assert torch.equal(found, number)
            torch.testing.assert_close(nu, wanted[client], rtol=1e-5, atol=1e-6)
    idle = next(iter(set(range(6)) - wanted.keys()), None)
    assert idle is None or len(labels_of(state, idle)[0]) == 0


def test_labels_are_kept_and_not_begun_anew() -> None:
    """Near uniform labels a step from ``d`` off them leads to ``(1 - rate alpha_r C) d + p``, here ``d/2 + p``: at the
    same model the second step ends 1.5 times as far off as the first, and would end at the same place if it began anew.
    """
    sim = world(policy=fixed(steps=1), rule=replace(world().rule, lr=1e-12, loss=None, momentum=0.0))
    first, second = (labels_of(after(sim, rounds), 0)[1] for rounds in (1, 2))
    ratio = (second - 0.1).norm() / (first - 0.1).norm()
    assert float(ratio) == pytest.approx(1.5, abs=0.05)


def test_samples_that_left_are_forgotten_and_new_ones_are_uniform() -> None:
    sim = world()
    ids = torch.tensor([0])
    number = samples_of(sim, 0, labelled=False)
    slots = {name: rows[:1].clone() for name, rows in begin(sim).memory.client.items() if name in (NUMBER, VALUE)}
    known, gone = number[::2], torch.tensor([10**6])
    nu = torch.zeros(len(known) + 1, 10)
    nu[:, 3] = 1.0
    slots[NUMBER][0, : len(known) + 1] = torch.cat([known, gone]) + 1
    slots[VALUE][0, : len(known) + 1] = nu
    found = recalled(sim.rule, sim.stream, sim.stream.start(), ids, slots, Rng(0))
    assert found is not None
    assert torch.equal(found.number[0, : len(number)], number)
    assert bool((found.number[0, len(number) :] == NO_SAMPLE).all())
    assert bool((found.value[0, : len(number)][::2, 3] == 1).all())
    assert bool((found.value[0, : len(number)][1::2] == 0.1).all())
    stored = kept(found, found.value)
    assert int((stored[NUMBER] > 0).sum()) == len(number)
    assert float(stored[VALUE][0, len(number) :].sum()) == 0.0


def test_a_buffer_keeps_the_labels_of_what_it_holds() -> None:
    sim = world(stream=partial(fifo, capacity=(20, 30), slots=4), policy=fixed(steps=1))
    state = after(sim, 5)
    stats = sim.stream.stats(state.parts["data.stream"])
    for client in range(6):
        number, nu = labels_of(state, client)
        assert len(number) == int(stats["samples"][client] - stats["labelled"][client])
        torch.testing.assert_close(nu.sum(-1), torch.ones(len(number)))


@pytest.mark.parametrize("algorithm", [fedcpsl(), fedcpsl(pseudo="gradient", alpha_p=0.0), apsfl(alpha_p=0, alpha_r=0)])
def test_nothing_is_kept_that_nothing_needs(algorithm: Algorithm) -> None:
    assert VALUE not in begin(world(algorithm)).memory.client


@pytest.mark.parametrize("pseudo", ["closed", "gradient"])
def test_the_control_draws_labelled_inputs_in_place_of_the_unlabelled(pseudo: str) -> None:
    """The picks of the unlabelled terms are labelled samples, as many, drawn apart from the labelled mini-batches,
    which stay the same; labels are hidden from them: kept pseudo-labels are those of labelled samples."""
    real = world(apsfl(pseudo=pseudo))  # type: ignore[arg-type]
    control = world(apsfl(pseudo=pseudo, pseudo_on="labelled"))  # type: ignore[arg-type]
    ids, updates = torch.arange(6), torch.full((6,), 3)
    first, other = (draw(sim.rule, sim.stream, sim.stream.start(), ids, updates, Rng(7)) for sim in (real, control))
    assert first.unlabelled is not None
    assert other.unlabelled is not None
    assert torch.equal(first.labelled.index, other.labelled.index)
    assert torch.equal(first.unlabelled.count, other.unlabelled.count)
    for client in range(6):
        lit, dark = (set(samples_of(real, client, kind).tolist()) for kind in (True, False))
        assert set(first.unlabelled.index[client].flatten().tolist()) <= dark
        assert set(other.unlabelled.index[client].flatten().tolist()) <= lit
    assert not torch.equal(other.unlabelled.index, other.labelled.index)
    if pseudo == "gradient":
        state, _, (exchange,) = run_round(control, begin(control), evaluate=False)
        client = exchange.ids[0]
        assert torch.equal(labels_of(state, client)[0], samples_of(control, client, labelled=True))


def test_the_control_trains_on_pseudo_labels_and_not_on_labels() -> None:
    """With alpha_p alone, hard labels of the received model: training moves as if the true labels were others."""
    sim = world(apsfl(alpha_p=0.5, alpha_r=0.5, pseudo_on="labelled"), policy=fixed(steps=2))
    _, _, (exchange,) = run_round(sim, begin(sim), evaluate=False)
    right = exchange.notes["pseudo_accuracy"].values
    assert all(0 <= value < 0.6 for value in right)


def test_kept_labels_take_no_room_before_a_client_has_trained() -> None:
    """One row of zeros for all clients, as wide as the longest tape has unlabelled samples."""
    sim = world()
    memory = begin(sim).memory.client
    longest = max(len(samples_of(sim, client, labelled=False)) for client in range(6))
    assert (memory[VALUE].shape, memory[NUMBER].shape) == ((6, longest, 10), (6, longest))
    slots = target_slots(sim.rule, sim.stream, torch.zeros(1), 6)
    assert (slots[VALUE].stride(0), slots[NUMBER].stride(0)) == (0, 0)
    assert int(memory[VALUE].count_nonzero() + memory[NUMBER].count_nonzero()) == 0


def test_kept_labels_have_one_row_a_client() -> None:
    labels = KeptTargets(torch.tensor([[4, 9, NO_SAMPLE]]), torch.full((1, 3, 2), 0.5))
    stored = kept(labels, labels.value)
    assert stored[NUMBER].tolist() == [[5, 10, 0]]
    assert stored[VALUE].tolist() == [[[0.5, 0.5], [0.5, 0.5], [0.0, 0.0]]]
