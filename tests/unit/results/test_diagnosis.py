"""Diagnosis of a run: quadratics whose constants are known exactly, and stored runs of all kinds."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Literal

import pytest
import torch
from support import worlds
from support.sealing import reseal
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

import fedradio
from fedradio import Cohort, FedAvg, Simulation, Trained, Work
from fedradio.algorithms.fedavg import fedavg
from fedradio.core.errors import SpecError, StoreError
from fedradio.engine.gradients import gradient
from fedradio.models import wrap
from fedradio.results.diagnosis import BATCHES, UNITS, Diagnosis, Loss, RoundDiagnosis, diagnose, measure
from fedradio.results.run import open_run
from fedradio.rounds.parts import STREAM, recall
from fedradio.rounds.round import begin, run_round
from fedradio.runs.folder import RECORDS_FILE
from fedradio.runs.run import run
from fedradio.spec.build import build
from fedradio.spec.spec import Spec, load_spec

Maker = Callable[..., Spec]


def vector(*values: float) -> Tensor:
    return torch.tensor(values, dtype=torch.float64)


@dataclass(frozen=True)
class Quadratics:
    """Losses ``sum_k s_ik (w_k - c_ik)^2 / 2``; mini-batches of client i have the centres ``draws[i]``."""

    curvature: Sequence[Tensor]
    centre: Sequence[Tensor]
    draws: Sequence[Sequence[Tensor]] = ()
    after: float | None = None
    """Added to the loss after the round, as by norm layers."""

    def __len__(self) -> int:
        return len(self.centre)

    def whole(self, i: int) -> Loss:
        return self._around(i, self.centre[i], 0.0)

    def batches(self, i: int) -> Iterator[Loss]:
        yield from (self._around(i, centre, 0.0) for centre in (self.draws[i] if self.draws else ()))

    def end(self, i: int) -> Loss | None:
        return None if self.after is None else self._around(i, self.centre[i], self.after)

    def _around(self, i: int, centre: Tensor, more: float) -> Loss:
        s = self.curvature[i]
        return lambda w: (float((s * (w - centre) ** 2).sum() / 2) + more, s * (w - centre))


TWO = Quadratics([vector(1.0), vector(3.0)], [vector(1.0), vector(-1.0)])
HALVES = vector(0.5, 0.5)


def test_loss_drop_smoothness_and_divergence_by_hand() -> None:
    """f_1 = (w-1)^2/2 and f_2 = 3 (w+1)^2/2, weights 1/2, from 0 to -1/4. Gradients -1 and 3, mean 1: divergence (4 +
    4)/2 = 4. Loss (1/2 + 3/2)/2 = 1; there 25/32 and 27/32, mean 13/16: drop 3/16. Curvatures 1 and 3: mean 2."""
    found = measure(4, TWO, HALVES, None, vector(0.0), vector(-0.25))
    assert found == RoundDiagnosis(4, 2, 1.0, 0.1875, 1.0, 2.0, 3.0, 0.0, 4.0, None)


def test_weights_count() -> None:
    """Weights 1/4 and 3/4: mean gradient 2, divergence 9/4 + 3/4 = 3, smoothness 1/4 + 9/4 = 5/2, loss 5/4."""
    found = measure(0, TWO, vector(0.25, 0.75), None, vector(0.0), vector(-0.25))
    assert (found.gradient_sq, found.divergence, found.smoothness, found.loss) == (4.0, 3.0, 2.5, 1.25)


def test_noise_by_hand() -> None:
    """f_1 is the mean of (w-x)^2/2 over x = 0 and 2, f_2 that of 3 (w-x)^2/2 over x = -2, -1, 0. With mini-batches of
    one sample the gradients at 0 are 0 and -2 about -1: variance 1; and 6, 3, 0 about 3: variance 6. Mean 3.5."""
    losses = replace(TWO, draws=[[vector(0.0), vector(2.0)], [vector(-2.0), vector(-1.0), vector(0.0)]])
    assert measure(0, losses, HALVES, None, vector(0.0), vector(-0.25)).noise == pytest.approx(3.5)
    assert measure(0, losses, vector(1.0, 0.0), None, vector(0.0), vector(-0.25)).noise == pytest.approx(1.0)


def test_divergence_of_edges_by_hand() -> None:
    """Gradients (0,0), (4,0) | (0,2), (0,2), weights 1/8, 3/8 | 1/4, 1/4: edges have (3,0) and (0,2), weight 1/2 each,
    mean (3/2, 1). Between edges |(3/2, -1)|^2 = 13/4; within 1/2 (1/4 9 + 3/4 1) = 3/2; clients 13/4 + 3/2 = 19/4."""
    one = vector(1.0, 1.0)
    losses = Quadratics([one] * 4, [-vector(0, 0), -vector(4, 0), -vector(0, 2), -vector(0, 2)])
    weight, edge = vector(0.125, 0.375, 0.25, 0.25), torch.tensor([0, 0, 1, 1])
    found = measure(0, losses, weight, edge, vector(0, 0), vector(0.1, 0))
    assert found.divergence == pytest.approx(4.75)
    assert found.edge_divergence == pytest.approx(3.25)
    flat = measure(0, losses, weight, None, vector(0, 0), vector(0.1, 0))
    assert (flat.divergence, flat.edge_divergence) == (pytest.approx(4.75), None)


def test_smoothness_is_that_along_the_move() -> None:
    """Curvatures 1 and 5 along two axes: along the second 5; along the diagonal sqrt((1 + 25)/2)."""
    losses = Quadratics([vector(1.0, 5.0)], [vector(0.0, 0.0)])
    one = vector(1.0)
    along = [measure(0, losses, one, None, vector(1, 1), vector(1, 1) + move) for move in (vector(0, 2), vector(3, 3))]
    assert [each.smoothness for each in along] == pytest.approx([5.0, 13**0.5])
    still = measure(0, losses, one, None, vector(1, 1), vector(1, 1))
    assert (still.smoothness, still.client_smoothness, still.drop) == (None, None, 0.0)


def test_equal_clients_do_not_diverge() -> None:
    losses = Quadratics([vector(0.3, 0.7)] * 9, [vector(1.1, -0.4)] * 9)
    edge = torch.arange(9) // 3
    found = measure(0, losses, torch.full((9,), 1 / 9, dtype=torch.float64), edge, vector(0, 0), vector(0.1, 0))
    assert found.divergence == pytest.approx(0.0, abs=1e-15)
    assert found.edge_divergence == pytest.approx(0.0, abs=1e-15)


def test_norm_layers_after_the_round_count_for_the_drop_alone() -> None:
    without = measure(0, TWO, HALVES, None, vector(0.0), vector(-0.25))
    found = measure(0, replace(TWO, after=0.05), HALVES, None, vector(0.0), vector(-0.25))
    assert found == replace(without, drop=pytest.approx(0.1375))


def test_the_number_of_threads_and_clients_at_a_time_does_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    draw = torch.Generator().manual_seed(1)
    some = [torch.randn(5, generator=draw, dtype=torch.float64) for _ in range(40)]
    losses = Quadratics([each.abs() for each in some[:20]], some[20:])
    weight, edge = torch.full((20,), 0.05, dtype=torch.float64), torch.arange(20) % 3
    found = measure(0, losses, weight, edge, torch.zeros(5), torch.ones(5), 1)
    assert measure(0, losses, weight, edge, torch.zeros(5), torch.ones(5), 3) == found
    monkeypatch.setattr("fedradio.results.diagnosis.FEW", 3)
    assert measure(0, losses, weight, edge, torch.zeros(5), torch.ones(5), 1) == found


def test_every_quantity_has_a_unit() -> None:
    assert [field.name for field in fields(RoundDiagnosis)] == ["t", "clients", *UNITS]


def diagnosed(spec: Spec, folder: Path, rounds: int = 10, every: int = 1) -> Diagnosis:
    run(spec, folder)
    return diagnose(folder, rounds, every)


def test_a_stored_run_is_measured_on_all_samples(tiny: Maker, tmp_path: Path) -> None:
    """Loss, drop and gradient of round 2 again from the shards, with torch alone; noise 0 with all samples a batch."""
    spec = tiny("rule.batch=1000", "algorithm={kind: fedavg, weighting: equal}")
    found = diagnosed(spec, tmp_path / "a")
    assert [row.t for row in found.rounds] == [0, 1]
    assert (found.name, found.algorithm, found.seed, found.unlike) == ("tiny", "fedavg", 3, None)
    sim = build(spec)
    state, _, _ = run_round(sim, begin(sim), evaluate=False)
    w = state.memory.shared["w"].clone()
    state, _, _ = run_round(sim, state, evaluate=False)
    tapes, losses = sim.stream.tapes, []  # type: ignore[attr-defined]
    shards = [tapes.index[tapes.offset[i] : tapes.offset[i + 1]] for i in range(6)]
    gradients = []
    for shard in shards:
        x, y = tapes.fetch(shard)
        ends = []
        for row in (w, state.memory.shared["w"]):
            leaf = row.clone().requires_grad_(True)
            loss = cross_entropy(torch.func.functional_call(sim.model.module, sim.model.shared.views(leaf), (x,)), y)
            ends.append((loss.item(), torch.autograd.grad(loss, leaf)[0].double()))
        losses.append([ends[0][0], ends[1][0]])
        gradients.append(torch.stack([ends[0][1], ends[1][1]]))
    value, slope = torch.tensor(losses).mean(dim=0), torch.stack(gradients)
    mean, moved = slope.mean(dim=0), (state.memory.shared["w"] - w).double().norm()
    row = found.rounds[1]
    assert row.loss == pytest.approx(float(value[0]), rel=1e-5)
    assert row.drop == pytest.approx(float(value[0] - value[1]), rel=1e-3)
    assert row.gradient_sq == pytest.approx(float(mean[0].square().sum()), rel=1e-4)
    assert row.divergence == pytest.approx(float((slope[:, 0] - mean[0]).square().sum(dim=1).mean()), rel=1e-4)
    assert row.smoothness == pytest.approx(float((mean[1] - mean[0]).norm() / moved), rel=1e-3)
    steepest = (slope[:, 1] - slope[:, 0]).norm(dim=1).max() / moved
    assert row.client_smoothness == pytest.approx(float(steepest), rel=1e-3)
    assert row.noise == pytest.approx(0.0, abs=1e-9)
    assert row.edge_divergence is None


def test_noise_falls_with_the_batch(tiny: Maker, tmp_path: Path) -> None:
    """n samples, batches of b without replacement: variance (n - b)/(n - 1) S^2/b. With n near 240, 4 in place of 16
    gives (236/4)/(224/16) = 4.2 times the noise, up to the spread of 8 batches of 6 clients."""
    noise = {
        batch: diagnosed(tiny(f"rule.batch={batch}", "rounds=1"), tmp_path / str(batch)).rounds[0].noise
        for batch in (4, 16)
    }
    assert BATCHES == 8
    assert noise[4] / noise[16] == pytest.approx(236 / 4 / (224 / 16), rel=0.35)


SYSTEMS = {
    "control variates": ["algorithm=scaffold"],
    "remembered updates": ["algorithm=osafl"],
    "unlabelled samples and own models": ["algorithm=fedcpsl", "data.unlabelled=0.5"],
    "central training": ["algorithm=central"],
    "sampling": ["hops.0.policy={kind: sampling, clients: 2, steps: 3}"],
}


@pytest.mark.parametrize("name", SYSTEMS)
def test_the_loss_after_a_round_is_that_before_the_next(tiny: Maker, tmp_path: Path, name: str) -> None:
    """Whatever the algorithm: loss less drop is the next loss, and all clients with labelled samples count."""
    spec = tiny("data.partition={kind: dirichlet, alpha: 0.3}", *SYSTEMS[name])
    first, second = diagnosed(spec, tmp_path / "a").rounds
    assert first.loss - first.drop == pytest.approx(second.loss, rel=1e-5)
    assert first.clients == (1 if name == "central training" else 6)
    assert min(first.gradient_sq, first.noise, first.smoothness or 0.0) > 0
    assert (first.divergence > 0) == (name != "central training")
    assert (first.client_smoothness or 0.0) >= (first.smoothness or 0.0) * (1 - 1e-9)


@pytest.mark.parametrize("norms", ["local", "shared"])
def test_norm_layers_of_the_global_model(tmp_path: Path, norms: Literal["local", "shared"]) -> None:
    """They move with the round: those after it count for the loss at its end."""

    def normed() -> Simulation:
        net = nn.Sequential(nn.Flatten(), nn.Linear(64, 8), nn.BatchNorm1d(8), nn.Linear(8, 10))
        return worlds.tiny(model=lambda shape, classes: wrap(net, shape, classes, norms=norms))

    fedradio.run(normed(), tmp_path / "a", rounds=2)
    first, second = diagnose(tmp_path / "a", simulation=normed()).rounds
    assert first.loss - first.drop == pytest.approx(second.loss, rel=1e-5)


def test_two_hops_on_the_air(tmp_path: Path) -> None:
    first, second = diagnosed(load_spec("whfl", ["rounds=2"]), tmp_path / "a").rounds
    assert first.loss == pytest.approx(math.log(10))  # logistic regression begins at 0
    assert first.loss - first.drop == pytest.approx(second.loss, rel=1e-5)
    assert first.edge_divergence is not None


def test_data_at_the_start_of_a_round(tiny: Maker, tmp_path: Path) -> None:
    """Samples that arrive before a round count in it: the first loss again, over the clients' windows after it."""
    equal = "algorithm={kind: fedavg, weighting: equal}"
    spec = tiny("data.stream={kind: growing, history: 10, slots: 20}", equal)
    first, second = diagnosed(spec, tmp_path / "a").rounds
    sim = build(spec)
    row, (state, _, _) = begin(sim).memory.shared["w"].clone(), run_round(sim, begin(sim), evaluate=False)
    stream, tapes = recall(state.parts, STREAM), sim.stream.tapes  # type: ignore[attr-defined]
    losses = []
    for start, lo, hi in zip(tapes.offset[:-1], stream["lo"], stream["hi"], strict=True):
        assert hi - lo > 10
        losses.append(gradient(sim.model, row, *tapes.fetch(tapes.index[start + lo : start + hi]))[0])
    assert first.loss == pytest.approx(sum(losses) / 6, rel=1e-6)
    assert abs(first.loss - first.drop - second.loss) > 1e-4


def test_clients_differ_more_than_their_edges(cells: Maker, tmp_path: Path) -> None:
    found = diagnosed(cells("data.partition={kind: dirichlet, alpha: 0.3}"), tmp_path / "a")
    for row in found.rounds:
        assert row.edge_divergence is not None
        assert 0 < row.edge_divergence < row.divergence


def test_the_same_run_has_the_same_numbers(tiny: Maker, tmp_path: Path) -> None:
    first = diagnosed(tiny(), tmp_path / "a")
    assert diagnose(tmp_path / "a") == first
    assert diagnose(tmp_path / "a", 2, 2).rounds == first.rounds[:1]
    assert diagnose(tmp_path / "a", 1).rounds == first.rounds[:1]


def test_rounds_and_steps_between_them_are_positive_numbers(tmp_path: Path) -> None:
    for options in ({"rounds": 0}, {"every": 0}):
        with pytest.raises(SpecError, match="must be 1 or more"):
            diagnose(tmp_path, **options)


def test_a_run_that_cannot_be_run_again_is_refused(tiny: Maker, tmp_path: Path) -> None:
    folder = tmp_path / "a"
    run(tiny(), folder)
    lines = (folder / RECORDS_FILE).read_text().splitlines()
    row = json.loads(lines[1])
    row["steps"] = [n + 1 for n in row["steps"]]
    (folder / RECORDS_FILE).write_text("\n".join([lines[0], json.dumps(row), *lines[2:]]) + "\n")
    with pytest.raises(StoreError, match=r"is damaged: records.jsonl.*; run its spec again"):
        diagnose(folder)
    reseal(folder)
    with pytest.raises(StoreError, match=r"round 0: run again.*; run its spec here, and diagnose that run"):
        diagnose(folder)
    (folder / RECORDS_FILE).write_text(lines[0] + "\n")
    reseal(folder)
    with pytest.raises(StoreError, match=f"before its first round; continue it: fedradio resume {folder}"):
        diagnose(folder)
    with pytest.raises(StoreError, match="does not exist"):
        diagnose(tmp_path / "nowhere")


def test_another_training_loss_is_told(tiny: Maker, tmp_path: Path) -> None:
    folder = tmp_path / "a"
    found = diagnosed(tiny(), folder)
    text = (folder / RECORDS_FILE).read_text()
    loss = json.dumps(open_run(folder).rounds[1].train_loss)
    assert text.count(loss) == 1
    (folder / RECORDS_FILE).write_text(text.replace(loss, loss[:-1] + ("1" if loss[-1] != "1" else "2")))
    reseal(folder)
    assert diagnose(folder) == replace(found, unlike=1)


@dataclass(frozen=True)
class Timid(FedAvg):
    """Sends half of what it has learnt."""

    def upload(self, cohort: Cohort, trained: Trained, work: Work) -> Tensor:
        return 0.5 * super().upload(cohort, trained, work)


def test_an_own_algorithm_that_was_composed(tmp_path: Path) -> None:
    """It needs the simulation; from the same start it moves half as far as FedAvg."""
    drops = {}
    for algorithm in (fedavg(), Timid()):
        folder = tmp_path / type(algorithm).__name__
        fedradio.run(worlds.tiny(algorithm=algorithm), folder, rounds=1)
        with pytest.raises(StoreError, match=r"fedradio.diagnose\(.*, simulation=...\)"):
            diagnose(folder)
        (row,) = diagnose(folder, simulation=worlds.tiny(algorithm=algorithm)).rounds
        drops[type(algorithm).__name__] = row.drop
    assert 0.3 < drops["Timid"] / drops["FedAvg"] < 0.7


def test_progress_counts_rounds_and_clients(tiny: Maker, tmp_path: Path) -> None:
    run(tiny(), tmp_path / "a")
    told: list[tuple[str, float | None]] = []
    diagnose(tmp_path / "a", progress=lambda what, share: told.append((what, share)))
    assert told == [
        ("reading the run", 0.0),
        ("running round 1 of 2", 0.0),
        ("measuring round 1 of 2", 0.5),
        ("running round 2 of 2", 0.5),
        ("measuring round 2 of 2", 1.0),
    ]
