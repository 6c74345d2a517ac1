"""FedCPSL and its relatives, by hand and on tiny runs (FedCPSL, Algorithm 1)."""

from dataclasses import replace
from functools import partial
from itertools import combinations

import pytest
import torch
from support.receiver import cohort, knowledge, vector
from support.worlds import after, cells, tiny
from torch import Tensor
from torch.func import functional_call

from fedradio.algorithms.apfl import Personal, apfl
from fedradio.algorithms.fedcpsl import AT_START, FedCpsl, fedcpsl, fedshvr
from fedradio.algorithms.scaffold import scaffold
from fedradio.core.contracts import (
    Algorithm,
    Delivery,
    EpochsOver,
    Held,
    LocalRule,
    Memory,
    SimState,
    Slots,
    Trained,
    Work,
)
from fedradio.core.mapped import make_room
from fedradio.core.params import group_share, group_sum
from fedradio.core.rng import Rng
from fedradio.data.growing import growing
from fedradio.data.partition import dirichlet
from fedradio.engine.rules import sgd
from fedradio.engine.schedules import inverse, linear
from fedradio.fleet.profile import cellular
from fedradio.links.digital import digital
from fedradio.links.over_the_air import over_the_air
from fedradio.models.zoo import mlp
from fedradio.network.channel import urban_macro
from fedradio.network.clusters import clusters
from fedradio.network.power_law import power_law
from fedradio.policies.fixed import fixed
from fedradio.policies.sampling import sampling
from fedradio.rounds.round import begin, run_round
from fedradio.rounds.simulation import Simulation

INVARIANT = 1e-5
"""Relative tolerance of ``c = sum_i w_i c_i`` in float32."""


class Federation:
    """An algorithm with changes made by hand in place of training; ``samples``: what clients start with."""

    def __init__(self, algorithm: Personal, w: Tensor, samples: list[int], parent: list[int] | None = None) -> None:
        self.algorithm = algorithm
        self.parent = torch.tensor(parent or [0] * len(samples))
        self.receivers = int(self.parent.max()) + 1
        memory: Memory = algorithm.init(w, len(samples), self.receivers)
        self.shared: Slots = {name: v.repeat(self.receivers, 1) for name, v in memory.shared.items()}
        self.client = make_room(memory.client)
        self.samples = torch.tensor(samples)
        self.momentum = algorithm.momentum

    def get(
        self,
        changes: dict[int, Tensor],
        steps: dict[int, int],
        lr: float = 1.0,
        lost: tuple[int, ...] = (),
        rates: dict[int, float] | None = None,
    ) -> Tensor:
        """The receivers' models after these changes; the uploads of ``lost`` do not arrive."""
        ids = torch.tensor(list(changes))
        group, updates = self.parent[ids], torch.tensor([steps[i] for i in changes])
        rate = vector(*((rates or {}).get(i, lr) for i in changes)) * updates
        rule = LocalRule(lr, momentum=self.momentum)
        work = Work(updates, updates, rule.effective_steps(updates), rate)
        delta = torch.stack(list(changes.values()))
        trained = Trained(delta, None, torch.zeros(len(ids)), {}, rows={"own": delta + 100.0})
        mine = {name: rows[ids] for name, rows in self.client.items()}
        arrived = torch.tensor([i not in lost for i in changes])
        present = cohort(self.shared, mine, group)
        payload = self.algorithm.upload(present, trained, work)
        kept = self.algorithm.keep(present, trained, work, payload, arrived)
        announced = {AT_START: self.samples, "samples": self.samples}
        known = {name: rows[ids] for name, rows in announced.items()}
        known |= {"updates": updates, "effective": work.effective, "rate": rate}
        held, info = Held(self.shared), knowledge(ids, self.parent, known, announced, arrived)
        weight = self.algorithm.weights(held, info) * arrived
        total = torch.zeros(self.receivers, 1, delta.shape[1], dtype=delta.dtype)
        total.index_add_(0, group, weight[:, None, None] * payload)
        self.shared = self.algorithm.merge(held, Delivery(total, None, None), info).held.shared
        for name, rows in kept.items():
            self.client[name].index_copy_(0, ids, rows)
        return self.shared["w"][:, 0]

    def gap(self) -> float:
        """``|c - sum w_i c_i|`` of the worst receiver."""
        share = group_share(self.samples.double(), self.parent, self.receivers)
        mean = group_sum(share[:, None] * self.client["c"], self.parent, self.receivers)
        return float((self.shared["c"] - mean).abs().max())


def test_two_of_four_by_hand() -> None:
    """The case of the module's docstring; then client 0 comes again with change -3 in 3 steps at rate .5: its mean
    gradient is 2, S = -1/4, eta_g = 3, N/m = 4: theta -3 - 3, c = 1 - (1/4 * 1 - .5) = 1.25, c_0 = 2 - (1 - 2) = 3."""
    federation = Federation(fedshvr(), vector(0.0), [10, 10, 10, 10])
    assert federation.get({0: vector(-2.0), 1: vector(-4.0)}, {0: 2, 1: 4}, lr=0.5).tolist() == [-3.0]
    assert federation.shared["c"].item() == 1.0
    assert federation.client["c"].flatten().tolist() == [2.0, 2.0, 0.0, 0.0]
    assert federation.get({0: vector(-3.0)}, {0: 3}, lr=0.5).tolist() == [-6.0]
    assert federation.shared["c"].item() == 1.25
    assert federation.client["c"].flatten().tolist() == [3.0, 2.0, 0.0, 0.0]


def test_sampling_is_right_on_average_over_all_sets_of_clients() -> None:
    """Every pair of four unequal clients once, all from the same start: the mean of (17) is the step of all four, since
    N/m undoes the chance m/N to be drawn; the mean of (18), which has no N/m, moves c by m/N of what all four do."""
    samples, changes = [10, 20, 30, 40], [vector(-2.0), vector(1.0), vector(-5.0), vector(3.0)]

    def step(chosen: tuple[int, ...]) -> tuple[float, float]:
        federation = Federation(fedshvr(), vector(0.0), samples)
        moved = federation.get({i: changes[i] for i in chosen}, dict.fromkeys(chosen, 4), lr=0.5).item()
        return moved, federation.shared["c"].item()

    pairs = [step(pair) for pair in combinations(range(4), 2)]
    moved, variate = (sum(values) / 6 for values in zip(*pairs, strict=True))
    everyone = step((0, 1, 2, 3))
    assert everyone[0] == pytest.approx(-0.2 + 0.2 - 1.5 + 1.2)  # eta_g = 4 steps undo the division by 4
    assert moved == pytest.approx(everyone[0], abs=1e-12)
    assert variate == pytest.approx(everyone[1] / 2, abs=1e-12)
    lopsided = [step((i,))[0] for i in range(4)]
    assert sum(lopsided) / 4 == pytest.approx(everyone[0], abs=1e-12)


def test_one_vector_goes_up_and_two_go_down() -> None:
    """The server broadcasts theta and c, 2 d numbers; a client sends D_i, d numbers, where SCAFFOLD sends 2 d."""
    sim, other = tiny(algorithm=fedcpsl(), unlabelled=0.3), tiny(algorithm=scaffold())
    d = sim.model.shared.size
    assert sum(vector.numel() for vector in begin(sim).memory.shared.values()) == 2 * d
    assert (sim.relayed, sim.message(0).blocks, sim.message(0).size) == (2, 1, d)
    assert (other.relayed, other.message(0).blocks) == (2, 2)
    _, record, _ = run_round(sim, begin(sim), evaluate=False)
    assert record.bits == [6 * 32.0 * d]


def test_momentum_counts_effective_steps() -> None:
    """gamma .8: Qt(1) = 1, Qt(2) = 2.8. Alone of one client, 2 steps at rate .1: change -.28 is the mean gradient 1;
    eta_g = 2 moves theta by -.2, or 2.8 (global_rate effective) by the change itself."""
    for algorithm, moved in ((fedcpsl(), -0.2), (fedcpsl(global_rate="effective"), -0.28)):
        federation = Federation(algorithm, vector(0.0), [5])
        assert federation.get({0: vector(-0.28)}, {0: 2}, lr=0.1).item() == pytest.approx(moved)
        assert federation.shared["c"].item() == pytest.approx(1.0)
        assert federation.client["c"].item() == pytest.approx(1.0)


def test_a_lost_upload_moves_no_variate_but_the_own_model_stays() -> None:
    """Of two equal clients one is lost: N/m counts the arrived, 2/1; the lost client's steps do not enter eta_g."""
    federation = Federation(fedcpsl(momentum=0.0), vector(0.0), [1, 1])
    assert federation.get({0: vector(-2.0), 1: vector(-8.0)}, {0: 2, 1: 8}, lost=(1,)).tolist() == [-2.0]
    assert federation.client["c"].flatten().tolist() == [1.0, 0.0]
    assert federation.client["own"].flatten().tolist() == [98.0, 92.0]
    assert federation.gap() == 0.0
    before = {name: rows.clone() for name, rows in federation.shared.items()}
    federation.get({0: vector(-2.0)}, {0: 2}, lost=(0,))
    assert all(torch.equal(before[name], rows) for name, rows in federation.shared.items())


def test_whoever_trains_at_rate_zero_moves_nothing() -> None:
    federation = Federation(fedshvr(), vector(0.0), [1, 1])
    federation.get({0: vector(-1.0)}, {0: 1})
    federation.get({0: vector(0.0), 1: vector(-2.0)}, {0: 1, 1: 2}, rates={0: 0.0, 1: 0.5})
    assert federation.client["c"].flatten().tolist() == [1.0, 1.5]
    assert federation.gap() == 0.0
    federation.get({0: vector(0.0)}, {0: 4}, lr=0.0)
    assert federation.client["c"].flatten().tolist() == [1.0, 1.5]


@pytest.mark.parametrize("parent", [None, [0, 0, 0, 1, 1, 1, 1]])
def test_the_invariant_holds_whatever_happens(parent: list[int] | None) -> None:
    """50 exchanges of a few of seven unequal clients, with losses, different steps and different rates."""
    federation = Federation(fedcpsl(momentum=0.6), torch.zeros(3).double(), [3, 50, 8, 20, 1, 9, 30], parent)
    draw = Rng(4).numpy()
    for _ in range(50):
        ids = sorted(draw.choice(7, size=draw.integers(1, 5), replace=False).tolist())
        changes = {i: torch.from_numpy(draw.standard_normal(3)) for i in ids}
        steps, rates = {i: int(draw.integers(1, 9)) for i in ids}, {i: float(draw.random()) for i in ids}
        federation.get(changes, steps, rates=rates, lost=tuple(i for i in ids if draw.random() < 0.3))
    assert float(federation.shared["c"].abs().min()) > 1e-3
    assert federation.gap() < 1e-12


def test_shares_are_those_of_the_start() -> None:
    """Samples that arrive later do not change anybody's share; with equal shares nothing about data is revealed."""
    assert fedcpsl().reveals == {AT_START, "effective", "rate", "updates"}
    assert fedcpsl(weighting="equal").reveals == {"effective", "rate", "updates"}
    assert fedcpsl().importance({AT_START: torch.tensor([1, 3])}, 2).tolist() == [1.0, 3.0]
    assert apfl().reveals == {"samples"}


def test_start_and_predictions() -> None:
    algorithm = fedcpsl(mixture=0.6)
    got = {"w": vector(1.0, 2.0)[None], "c": vector(3.0, 4.0)[None]}
    mine = {"own": vector(7.0, 8.0)[None], "c": vector(1.0, 1.0)[None], "mixture": vector(0.6)}
    start = algorithm.start(cohort(got, mine))
    assert start.shift is not None
    assert start.shift.tolist() == [[2.0, 3.0]]
    assert torch.equal(start.rows["own"], mine["own"])
    assert torch.equal(start.known["mixture"], mine["mixture"])
    said = algorithm.predict(got, mine)
    assert list(said) == ["personal", "global", "local"]
    assert [weight.tolist() for weight in said["personal"].weight] == [[0.6], [0.4]]  # type: ignore[union-attr]
    assert torch.equal(said["personal"].members[0], mine["own"])
    assert torch.equal(said["local"].members[0], mine["own"])
    assert list(fedshvr().predict(got, mine)) == ["global"]
    assert apfl().start(cohort(got, mine)).shift is None
    memory = algorithm.init(vector(1.0, 2.0), 3, 1)
    assert memory.client["own"].tolist() == [[1.0, 2.0]] * 3
    assert memory.client["c"].tolist() == [[0.0, 0.0]] * 3
    assert memory.client["mixture"].tolist() == pytest.approx([0.6] * 3)


def broken(sim: Simulation, state: SimState) -> float:
    """``|c - sum_i w_i c_i| / |c|``."""
    algorithm = sim.algorithm
    assert isinstance(algorithm, FedCpsl)
    mass = algorithm.importance(state.signals, sim.topology.clients)
    mean = (mass / mass.sum()) @ state.memory.client["c"].double()
    c = state.memory.shared["c"].double()
    assert float(c.norm()) > 1e-3
    return float((c - mean).norm() / c.norm())


LABELLED = fedshvr(alpha_p=0.0, alpha_r=0.0)


SKEWED = partial(dirichlet, alpha=0.5)


FEW = sampling(clients=2, steps=(1, 6))


RULE = sgd(lr=0.1, batch=16)


def test_it_is_scaffold_when_steps_and_shares_are_equal() -> None:
    """Labelled data, no momentum, no own model: the same model and variates as two-block SCAFFOLD."""
    few = sampling(clients=2, steps=4)
    other = tiny(algorithm=scaffold(), policy=few)
    sim = tiny(algorithm=fedshvr(alpha_p=0.0, alpha_r=0.0, weighting="equal"), policy=few)
    assert (sim.algorithm.sends, other.algorithm.sends) == (("memory",), ("change", "memory"))
    ours, theirs = after(sim, 8).memory, after(other, 8).memory
    for name in ("w", "c"):
        assert torch.allclose(ours.shared[name], theirs.shared[name], rtol=1e-4, atol=1e-6)
    assert torch.allclose(ours.client["c"], theirs.client["c"], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("algorithm", [LABELLED, fedcpsl()], ids=["labelled", "fedcpsl"])
def test_the_invariant_after_fifty_rounds(algorithm: Algorithm) -> None:
    sim = tiny(algorithm=algorithm, partition=SKEWED, policy=FEW, unlabelled=0.3)
    assert broken(sim, after(sim, 50)) < INVARIANT


@pytest.mark.parametrize("over", ["unlabelled", "all"])
def test_the_invariant_with_epochs_over_other_samples(over: EpochsOver) -> None:
    """Unequal numbers of steps by the clients' unlabelled samples, and by all of them; three in ten have labels."""
    policy, rule = sampling(clients=2, epochs=1), replace(RULE, epochs_over=over)
    sim = tiny(algorithm=fedcpsl(), partition=SKEWED, policy=policy, unlabelled=0.7, rule=rule)
    state = begin(sim)
    unlabelled = state.signals["samples"] - state.signals["labelled"]
    each, counted = (16, unlabelled) if over == "unlabelled" else (32, state.signals["samples"])
    assert torch.equal(state.signals["epoch_steps"], (counted + each - 1) // each)
    assert len(set(state.signals["epoch_steps"].tolist())) > 1
    assert broken(sim, after(sim, 30)) < INVARIANT


def test_the_invariant_in_two_tiers() -> None:
    """Edges run two exchanges a round and are weighed by their standing, whoever came."""
    sim = cells(algorithm=fedcpsl(), partition=SKEWED, policy=FEW)
    assert broken(sim, after(sim, 20)) < INVARIANT


def test_the_invariant_with_losses_schedules_and_growing_data() -> None:
    sim = tiny(
        algorithm=LABELLED,
        link=digital(erasure=0.3),
        channel=urban_macro(),
        fleet=cellular,
        policy=fixed(steps=(1, 6)),
        stream=partial(growing, history=40, slots=2),
        rule=replace(RULE, schedule=inverse(decay=0.1, per="update")),
    )
    state = after(sim, 20)
    assert not torch.equal(state.signals["samples"], state.signals[AT_START])
    assert broken(sim, state) < INVARIANT
    sim = tiny(algorithm=LABELLED, policy=FEW, rule=replace(RULE, schedule=linear(rounds=10)))
    assert broken(sim, after(sim, 15)) < INVARIANT


def test_algorithm_1_line_by_line() -> None:
    """Four rounds of the real thing against the paper's lines (7a), (11)-(18) in plain autograd, float64."""
    mine = fedcpsl(mixture=0.6, alpha_p=0.3, alpha_r=0.2, unlabelled_batch=12)
    sim = tiny(algorithm=mine, policy=FEW, partition=SKEWED, unlabelled=0.5, model=partial(mlp, hidden=(5,)))
    state = begin(sim)
    theta, samples = state.memory.shared["w"].double(), state.signals[AT_START].double()
    c, c_i, own = torch.zeros_like(theta), torch.zeros(6, len(theta)).double(), theta.repeat(6, 1)
    w, gam, lr = samples / samples.sum(), 0.8, sim.rule.lr
    for t in range(4):
        stream = state.parts["data.stream"]
        state, _, (exchange,) = run_round(sim, state, evaluate=False)
        ids, steps = torch.tensor(exchange.ids), torch.tensor(exchange.steps)
        rng = sim.rng.child("train", t, 0).child("batches")
        batches = sim.stream.draw(stream, ids, steps, sim.rule.batch, rng, 12)
        assert batches.unlabelled is not None
        moves, variates = torch.zeros_like(theta), torch.zeros_like(theta)
        for a, (i, q) in enumerate(zip(ids.tolist(), steps.tolist(), strict=True)):
            local, lc, mu, mu_lc = theta, own[i], torch.zeros_like(theta), torch.zeros_like(theta)
            for j in range(q):
                lit, dark = (p.index[a, j, : p.count[a, j]] for p in (batches.labelled, batches.unlabelled))
                (x, y), (u, _) = batches.fetch(lit), batches.fetch(dark)
                nu = (1.5 * sim.model.apply(theta, u.double())).softmax(1)
                g, g_lc = _gradients(sim, local, lc, x.double(), y, u.double(), nu)
                mu, mu_lc = gam * mu + g - c_i[i] + c, gam * mu_lc + g_lc
                local, lc = local - lr * mu, lc - 2 * lr * mu_lc
            qt = sum((1 - gam**k) / (1 - gam) for k in range(1, q + 1))
            moves += w[i] * (local - theta) / qt
            variates += w[i] * (c + (local - theta) / (lr * qt))
            c_i[i] -= c + (local - theta) / (lr * qt)
            own[i] = lc
        theta = theta + steps.double().mean() * 6 / len(ids) * moves
        c = c - variates
    found = state.memory
    for ours, wanted in ((found.shared, {"w": theta, "c": c}), (found.client, {"own": own, "c": c_i})):
        for name, rows in wanted.items():
            assert torch.allclose(ours[name].double(), rows, rtol=1e-4, atol=1e-5), name


def _gradients(
    sim: Simulation, theta: Tensor, lc: Tensor, x: Tensor, y: Tensor, u: Tensor, nu: Tensor
) -> tuple[Tensor, Tensor]:
    """Of f in theta and of F in the own model, theta held fixed: (4), (6c) with alpha_p = .3, alpha_r = .2, b = .6."""

    def h(row: Tensor, inputs: Tensor) -> Tensor:
        z: Tensor = functional_call(sim.model.module, sim.model.shared.views(row), (inputs,))
        return z.softmax(1)

    def cost(lit: Tensor, dark: Tensor) -> Tensor:
        fit = -lit[torch.arange(len(y)), y].log().mean() - 0.3 * (nu * dark.log()).sum(1).mean()
        return fit + 0.2 * (dark * (10 * dark).log() + nu * (10 * nu).log()).sum(1).mean()

    a, b = theta.clone().requires_grad_(True), lc.clone().requires_grad_(True)
    (g,) = torch.autograd.grad(cost(h(a, x), h(a, u)), a)
    (g_lc,) = torch.autograd.grad(cost(*(0.6 * h(b, v) + 0.4 * h(theta, v) for v in (x, u))), b)
    return g, g_lc


def test_everybody_predicts_and_who_never_came_has_the_start() -> None:
    sim = tiny(algorithm=fedcpsl(), policy=FEW, test="client", unlabelled=0.5)
    state, record, (exchange,) = run_round(sim, begin(sim))
    start = begin(sim).memory.shared["w"]
    here = torch.tensor(exchange.dense(6).active)
    same = (state.memory.client["own"] == start).all(dim=1)
    assert torch.equal(same, ~here)
    assert {"accuracy", "global_accuracy", "local_accuracy", "accuracy_spread"} <= set(record.metrics)


def test_over_the_air() -> None:
    """One block of sums is all it needs: equal gains, no noise and many antennas come close to an ideal link."""
    six = partial(clusters, clusters=1, clients_per_cluster=6, flat=True)
    same = {"topology": six, "policy": fixed(steps=(1, 6)), "algorithm": fedcpsl(), "partition": SKEWED}
    exact = after(tiny(**same), 3).memory.shared
    air = {"link": over_the_air(antennas=1_000_000), "channel": power_law(exponent=0, noise_symbol=0)}
    heard = after(tiny(**same, **air), 3).memory.shared
    for name in ("w", "c"):
        assert float((heard[name] - exact[name]).norm() / exact[name].norm()) < 0.02
