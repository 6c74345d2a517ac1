"""FedCPSL's theorems on runs: every term and gap against plain formulas in float64, what is told and refused."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
import torch
from support.plain_logistic import back, hot, probabilities, square
from support.terminal import shown
from torch import Tensor

from fedradio.core.errors import SpecError
from fedradio.papers.bounds.assess import assess
from fedradio.papers.bounds.assessment import Assessment
from fedradio.papers.bounds.fedcpsl import setting_of_run
from fedradio.papers.bounds.replay import replayed_run
from fedradio.report.terminal.bound import assessment_view
from fedradio.rounds.round import begin, run_round
from fedradio.rounds.simulation import Simulation
from fedradio.runs.run import run
from fedradio.spec.build import build
from fedradio.spec.spec import Spec, load_spec

Maker = Callable[..., Spec]

SEMI = (
    "topology.clients=4",
    "model=logistic",
    "data.partition={kind: dirichlet, alpha: 0.5}",
    "data.unlabelled=0.6",
    "hops.0.policy={kind: sampling, clients: 2, steps: [1, 3]}",
    "algorithm={kind: fedcpsl, mixture: 0.7, momentum: 0.5, alpha_p: 0.3, alpha_r: 0.2}",
    "rule.batch=8",
)
"""Four clients of whom two come a round with one to three steps; most of their samples have no label."""

GIVEN = {
    "smoothness": 1.5,
    "variance": 3.0,
    "smoothness_own": 1.2,
    "smoothness_cost": 2.0,
    "smoothness_output": 0.7,
    "convexity": 0.2,
    "spread": 1.1,
}

ALPHA_P, ALPHA_R, MIXTURE = 0.3, 0.2, 0.7


def made(spec: Spec, folder: Path) -> Path:
    run(spec, folder)
    return folder


def constant(found: Assessment, name: str) -> float:
    return next(row.value for row in found.constants if row.name == name)


@dataclass
class Client:
    """A client's samples, with labels and without, and what it thinks of the latter."""

    x: Tensor
    y: Tensor
    u: Tensor
    nu: Tensor

    def cost(self, sim: Simulation, w: Tensor) -> tuple[float, Tensor]:
        """(4) with (41)-(43), sample by sample, and its gradient in the model."""
        h, g, c = probabilities(sim, w, self.x), probabilities(sim, w, self.u), 10
        value = -(hot(self.y) * h.log()).sum() / len(self.y)
        value += -ALPHA_P * (self.nu * g.log()).sum() / len(self.u)
        value += ALPHA_R * ((g * (g * c).log()).sum() + (self.nu * (self.nu * c).log()).sum()) / len(self.u)
        flat = g * (g.log() - (g * g.log()).sum(dim=1, keepdim=True))
        slope = (ALPHA_P * (g - self.nu) + ALPHA_R * flat) / len(self.u)
        return float(value), back(sim, self.x, (h - hot(self.y)) / len(self.y)) + back(sim, self.u, slope)

    def own(self, sim: Simulation, own: Tensor, w: Tensor) -> Tensor:
        """Gradient of (6c) in the own model, from plain probabilities, by autograd in float64."""
        leaf = own.double().clone().requires_grad_(True)

        def mixed(x: Tensor) -> Tensor:
            return MIXTURE * probabilities(sim, leaf, x) + (1 - MIXTURE) * probabilities(sim, w, x)

        p, q = mixed(self.x), mixed(self.u)
        value = -(hot(self.y) * p.log()).sum() / len(self.y) - ALPHA_P * (self.nu * q.log()).sum() / len(self.u)
        value = value + ALPHA_R * (q * q.log()).sum() / len(self.u)
        return torch.autograd.grad(value, leaf)[0]


def clients_of(sim: Simulation) -> list[Client]:
    """Samples straight from the tapes; pseudo-labels uniform."""
    tapes, found = sim.stream.tapes, []  # type: ignore[attr-defined]
    for first, end in zip(tapes.offset[:-1].tolist(), tapes.offset[1:].tolist(), strict=True):
        index, known = tapes.index[first:end], tapes.labelled[first:end]
        x, y = tapes.fetch(index[known])
        u, _ = tapes.fetch(index[~known])
        found.append(Client(x, y, u, torch.full((len(u), 10), 0.1, dtype=torch.float64)))
    return found


@dataclass
class PlainRound:
    norm_sq: float
    loss: float
    xi: float
    moves: float
    own_sq: float


def plain_rounds(spec: Spec, share: list[float]) -> list[PlainRound]:
    sim = build(spec)
    state, clients, found = begin(sim), clients_of(sim), []
    for _ in range(spec.rounds):
        w, own = state.memory.shared["w"].clone(), state.memory.client["own"].clone()
        variate = state.memory.client["c"].clone()
        state, _, records = run_round(sim, state, evaluate=False)
        costs = [client.cost(sim, w) for client in clients]
        mean = sum(s * slope for s, (_, slope) in zip(share, costs, strict=True))
        own_sq = [square(client.own(sim, own[i], w)) for i, client in enumerate(clients)]
        moves = [0.0] * len(clients)
        for i in records[0].ids:
            powers = probabilities(sim, w, clients[i].u) ** (ALPHA_P / ALPHA_R)
            new = powers / powers.sum(dim=1, keepdim=True)
            moves[i], clients[i].nu = square(new - clients[i].nu), new
        found.append(
            PlainRound(
                norm_sq=square(mean),  # type: ignore[arg-type]
                loss=sum(s * value for s, (value, _) in zip(share, costs, strict=True)),
                xi=sum(
                    s * square(slope - variate[i]) for i, (s, (_, slope)) in enumerate(zip(share, costs, strict=True))
                ),
                moves=sum(s * move for s, move in zip(share, moves, strict=True)),
                own_sq=sum(s * sq for s, sq in zip(share, own_sq, strict=True)),
            )
        )
    return found


def effective(q: int, gam: float = 0.5) -> float:
    """(15) as the sum of the weights of the steps."""
    return sum((1 - gam ** (q - t)) / (1 - gam) for t in range(q))


def test_every_term_and_gap_equals_plain_formulas(tiny: Maker, tmp_path: Path) -> None:
    spec = tiny(*SEMI, "rounds=2")
    folder = made(spec, tmp_path / "a")
    found = assess(folder, given=GIVEN)
    records = [record for records in replayed_run(folder).exchanges for record in records]
    tapes = build(spec).stream.tapes  # type: ignore[attr-defined]
    share = (tapes.offset.diff().double() / tapes.offset[-1]).tolist()
    first, second = plain_rounds(spec, share)
    # the letters of the paper
    n, m, r, eta, s = 4, 2, 2, 0.1, 16
    steps = [q for record in records for q in record.steps]
    eta_g, q_most, q_least, eta_c = sum(steps) / len(steps), effective(max(steps)), effective(min(steps)), 0.2
    big_l, sigma2, l_f, l_c, l_h, mu, gamma = GIVEN.values()
    rate, gap = eta * eta_g, first.loss
    p_0 = gap + 24 * rate**2 * n**2 * big_l / m**2 * first.xi
    factor = 259 / 64 + m / n + 5 * eta * m * big_l * q_most**2 / (24 * eta_g * n)
    (column,) = found.bounds[0].columns
    assert list(column.terms.values()) == pytest.approx(
        [4 * p_0 / (rate * r), factor * 12 * rate * n * big_l * sigma2 / (m * s)], rel=1e-4
    )
    gaps = [one.norm_sq + 31 * big_l / 64 * one.moves for one in (first, second)]
    assert column.measured == pytest.approx(sum(gaps) / 2, rel=1e-4)
    assert [row[3] for row in found.listings[0].rows] == pytest.approx(gaps, rel=1e-4)
    b, front = MIXTURE, n / (eta_c * q_least * m)
    (column,) = found.bounds[1].columns
    wanted = [
        3 * front / r * gap,
        5.5 * front / r * p_0,
        3 * eta_c * l_f * (eta_c * l_f + 1) * q_most * sigma2 / (2 * s),
        3 * rate**2 * n**2 * sigma2 / (2 * eta_c * q_least * m**2 * s),
        factor * 66 * rate**2 * n**2 * big_l * sigma2 / (eta_c * q_least * m**2 * s),
        3 * l_c**2 * gamma**2 / (2 * eta_c * q_least * big_l) * b**2,
        3 * front * gamma**2 * b * (1 - b) * (b * (l_c - mu) + l_c),
    ]
    assert list(column.terms.values()) == pytest.approx(wanted, rel=1e-4)
    assert column.measured == pytest.approx((first.own_sq + second.own_sq) / 2, rel=1e-4)
    d_0 = (1 - b) * (4 * b * l_c * l_h * gamma + 5 * big_l) / 4
    limits = [
        m / (48 * eta_g * n * big_l),
        1 / (8 * big_l * q_most),
        3 * eta_g * n / (100 * m * big_l * q_most**2),
        m / (32 * eta_g * n * big_l) / math.sqrt(1 + 2 * n / m),
        1 / (4 * big_l),
        n - 1,
        big_l,
        m / (48 * eta_g * n * d_0),
        1 / (2 * q_most * l_f),
        eta * n * big_l**2 / (q_least * m * l_f**2),
        eta * n / (q_least * m),
        11 * big_l / 8 + 11 * m / (2 * n),
    ]
    assert [condition.limit for condition in found.conditions] == pytest.approx(limits)
    assert found.rates["Corollary 1: sqrt(m/(eta_g N R))"] == pytest.approx(math.sqrt(m / (eta_g * n * r)))


def test_the_setting_is_that_of_the_records(tiny: Maker, tmp_path: Path) -> None:
    folder = made(tiny(*SEMI, "rounds=2", "algorithm.global_rate=effective"), tmp_path / "a")
    opened = replayed_run(folder)
    setting = setting_of_run(opened)
    steps = [q for records in opened.exchanges for record in records for q in record.steps]
    assert setting.global_lr == pytest.approx(sum(map(effective, steps)) / len(steps))
    assert (setting.clients, setting.sampled, setting.batch, setting.own_lr) == (4, 2, 16, 0.2)
    assert setting.mixture.tolist() == pytest.approx([0.7] * 4)


def test_the_rate_of_the_labels_is_that_of_the_mean_over_a_clients_samples(tiny: Maker, tmp_path: Path) -> None:
    kept = ("data.unlabelled=0.5", "rounds=1")
    for number, (options, rate) in enumerate((("", 1 / (4 * 0.1 * 10)), (", pseudo_rate: 0.02", 0.02))):
        spec = tiny(f"algorithm={{kind: fedshvr, pseudo: gradient{options}}}", *kept)
        opened = replayed_run(made(spec, tmp_path / str(number)))
        stats = opened.sim.stream.stats(opened.sim.stream.start())
        most = int((stats["samples"] - stats["labelled"]).max())
        assert setting_of_run(opened).pseudo_lr == pytest.approx(most * rate)


def test_without_own_models_there_is_theorem_1_alone(tiny: Maker, tmp_path: Path) -> None:
    found = assess(made(tiny("algorithm=fedshvr", "data.unlabelled=0.5", "rounds=1"), tmp_path / "a"), rounds=1)
    assert found.title == "FedCPSL, Theorem 1"
    assert len(found.bounds) == 1
    assert [row.name for row in found.constants] == ["smoothness", "variance", "gap"]
    assert not any("eta_c" in condition.name for condition in found.conditions)
    failed = {condition.name for condition in found.failed}
    assert "Theorem 1: m <= N - 1" in failed  # everybody took part


def test_the_quick_spec_has_finite_terms_and_names_what_fails(tmp_path: Path) -> None:
    found = assess(made(load_spec("fedcpsl", ("rounds=3",)), tmp_path / "a"), rounds=2)
    assert found.paper == "fedcpsl"
    assert len(found.bounds) == 2
    for bound in found.bounds:
        assert not bound.applies
        for column in bound.columns:
            assert all(math.isfinite(term) and term >= 0 for term in (*column.terms.values(), column.total))
    assert all(math.isfinite(row.value) and row.value > 0 for row in found.constants)
    text = shown(assessment_view(found), width=150)
    for condition in found.failed:
        assert condition.name in text
        assert f"{condition.limit:.4g}" in text


@pytest.mark.parametrize(
    ("overrides", "path"),
    [
        (("algorithm=apfl",), "algorithm:"),
        (("algorithm={kind: fedcpsl, finetune_after: 1}", "data.unlabelled=0.5"), "algorithm.finetune_after"),
        (("algorithm={kind: fedcpsl, phases: {global: 1, own: 1}}", "data.unlabelled=0.5"), "algorithm.phases"),
        (("algorithm={kind: fedshvr, pseudo_on: labelled}",), "algorithm.pseudo_on"),
        (("algorithm=fedshvr", "data.unlabelled=0.5", "schedule=inverse"), "schedule"),
    ],
)
def test_what_is_not_covered(tiny: Maker, tmp_path: Path, overrides: tuple[str, ...], path: str) -> None:
    folder = made(tiny(*overrides, "rounds=1"), tmp_path / "a")
    with pytest.raises(SpecError, match="not covered by FedCPSL's theorem") as caught:
        assess(folder, paper="fedcpsl")
    assert str(caught.value).startswith(path)


def test_it_needs_replayed_rounds(tiny: Maker, tmp_path: Path) -> None:
    folder = made(tiny("algorithm=fedshvr", "data.unlabelled=0.5", "rounds=1"), tmp_path / "a")
    with pytest.raises(SpecError, match="--replay"):
        assess(folder, rounds=0)
