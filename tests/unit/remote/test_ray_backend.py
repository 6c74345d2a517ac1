"""A backend of actors against one process, bit for bit, with a stand-in of Ray; tests/cluster has the real one."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
import torch
from support.fake_ray import FakeRay, RayActorError, RayTaskError

from fedradio.core.contracts import Backend, SimState
from fedradio.core.errors import DivergenceError, FedradioError, SpecError
from fedradio.engine.groups import cut
from fedradio.remote import trainer
from fedradio.remote.jobs import whole_train_job
from fedradio.remote.ray_backend import RayBackend, share_out
from fedradio.rounds.round import begin, run_round
from fedradio.rounds.simulation import Simulation
from fedradio.spec.build import build
from fedradio.spec.spec import Spec, load_spec

FAMILIES = {
    "demo": (),
    "rawhfl": ("hops.0.period=1", "hops.0.policy.max_steps=2"),
    "osafl": ("model.hidden=[16]", "hops.0.policy.max_steps=1", "data.source.test_requests=20", "topology.clients=12"),
    "whfl": ("hops.0.period=1", "hops.0.policy.steps=1", "rule.keep_state=true"),
    "fedcpsl": ("algorithm.finetune_after=5",),
}
"""A quick spec of every family, with less work."""


def rounds(spec: Spec, backend: Backend | None = None, number: int = 2) -> tuple[SimState, list[Any]]:
    """The state after some rounds, and their records."""
    sim = build(spec, workers=1, backend=backend)
    state, records = begin(sim), []
    for _ in range(number):
        state, record, exchanges = run_round(sim, state, evaluate=True)
        records.append((record, exchanges))
    return state, records


def tensors(state: SimState) -> dict[str, torch.Tensor]:
    memory = state.memory
    groups = {"shared": memory.shared, "client": memory.client, "ledger": memory.ledger, "receiver": memory.receiver}
    return {f"{group}/{name}": values for group, slots in groups.items() for name, values in slots.items()}


def same(one: tuple[SimState, list[Any]], other: tuple[SimState, list[Any]]) -> bool:
    """Whether models, memories, seconds, joules, bits and metrics are equal, to the last bit."""
    mine, theirs = tensors(one[0]), tensors(other[0])
    records = [repr(each[1]) for each in (one, other)]
    return (
        mine.keys() == theirs.keys()
        and all(torch.equal(mine[name].nan_to_num(7.0), theirs[name].nan_to_num(7.0)) for name in mine)
        and (one[0].time_s, one[0].energy_j, one[0].bits) == (other[0].time_s, other[0].energy_j, other[0].bits)
        and records[0] == records[1]
    )


@pytest.fixture(autouse=True)
def quiet() -> Any:
    """Small runs are slowed by actors, and say so."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*slows this run")
        yield


@pytest.fixture(autouse=True)
def one_world(monkeypatch: pytest.MonkeyPatch) -> None:
    """All actors of a spec use the same world, which they do not change."""
    worlds: dict[str, Simulation] = {}

    def built(spec: Spec, *how: Any) -> Simulation:
        if spec.sha256() not in worlds:
            worlds[spec.sha256()] = build(spec, *how)
        return worlds[spec.sha256()]

    monkeypatch.setattr(trainer, "build", built)


@pytest.mark.parametrize("name", [pytest.param(n, marks=pytest.mark.wide) if n == "rawhfl" else n for n in FAMILIES])
def test_actors_equal_one_process(name: str) -> None:
    spec, number = load_spec(name, FAMILIES[name]), 1 if name == "osafl" else 2
    alone = rounds(spec, None, number)
    for actors in (1, 2, 3):
        assert same(rounds(spec, RayBackend(FakeRay(), spec, actors), number), alone)


@pytest.mark.parametrize(
    "changes",
    [
        ("grouping=single",),
        ("model=cnn_batchnorm", "topology={kind: flat, clients: 3}", "hops=[{policy: {kind: fixed, steps: 1}}]"),
        ("rule.lr_per_step=true", "hops.0.transforms=[quantise]"),
        ("algorithm=scaffold", "rule.momentum=0.9"),
        ("rule.keep_state=true", "rule.momentum=0.9"),
        ("algorithm=central",),
        (
            "precision=bf16",
            "model={kind: cnn3x3, width: 4, features: 8}",
            "topology={kind: flat, clients: 3}",
            "hops=[{policy: {kind: fixed, steps: 2}}]",
        ),
    ],
    ids=lambda value: value[0],
)
def test_actors_equal_one_process_with_other_parts(changes: tuple[str, ...]) -> None:
    spec = load_spec("demo", changes)
    assert same(rounds(spec, RayBackend(FakeRay(), spec, 2)), rounds(spec))


def test_an_actor_that_cuts_its_own_groups_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    class Wilful(trainer.Trainer):
        def train(self, w: Any, job: Any, groups: Any) -> Any:
            sim, fetch = self._world
            mine = whole_train_job(job, w, sim, fetch)
            return self._engine.train(mine, cut(mine)), 0.0

    spec = load_spec("demo", ["grouping=single"])
    alone = rounds(spec)
    monkeypatch.setattr("fedradio.remote.ray_backend.Trainer", Wilful)
    assert not same(rounds(spec, RayBackend(FakeRay(), spec, 3)), alone)


def test_groups_are_shared_out_by_their_work() -> None:
    """By hand: 9 to the first, 5 to the second, 4 to the second (5 < 9), 3 to either (9 = 9: the first)."""
    groups = [[0], [1], [2, 3], [4]]
    assert share_out([5, 9, 2, 2, 3], groups, 2) == [[[1], [4]], [[0], [2, 3]]]
    assert share_out([], [], 2) == [[], []]


def test_a_machine_with_other_versions_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    here = trainer.this_node()
    monkeypatch.setattr(trainer, "this_node", lambda: type(here)("far", "0.0", here.torch, here.capability))
    fake = FakeRay()
    with pytest.raises(SpecError, match=r"far has fedradio 0\.0"):
        RayBackend(fake, load_spec("demo"), 2)
    assert len(fake.killed) == 2
    monkeypatch.setattr(trainer, "this_node", lambda: type(here)("far", here.fedradio, here.torch, "NONE"))
    with pytest.warns(UserWarning, match="far computes with NONE"):
        RayBackend(FakeRay(), load_spec("demo"), 2)


def test_what_goes_wrong_there_is_told_here() -> None:
    class Dying(FakeRay):
        def get(self, calls: Any) -> Any:
            raise self.error

    spec, fake = load_spec("demo"), Dying()
    for error, expected, text in (
        (RayActorError("The actor died\nand more"), FedradioError, "died, even after 2 restarts"),
        (RayTaskError(DivergenceError(1, [2], "training")), DivergenceError, "round 2"),
        (RayTaskError(ValueError("a bug")), RayTaskError, "a bug"),
    ):
        fake.error = error
        with pytest.raises(expected, match=text):
            RayBackend(fake, spec, 1)


def test_sending_that_takes_longer_than_training_is_told_once() -> None:
    spec = load_spec("demo")
    backend = RayBackend(FakeRay(), spec, 1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(2):
            backend._note(0.060, 0.015)
        with pytest.raises(
            UserWarning, match="training takes 15 ms per call, sending 45 ms: --on ray slows this run down"
        ):
            backend._note(0.060, 0.015)
        backend._note(0.060, 0.015)
    assert backend.calls[-1] == pytest.approx((0.015, 0.045))
    backend.close()
