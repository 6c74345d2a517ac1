"""W-HFL's theory on runs: exact error, Lemma 1 and (33) against plain sums, what is told and refused."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from support.plain_logistic import plain, square
from support.terminal import shown
from torch import Tensor

from fedradio.core.errors import SpecError
from fedradio.links.over_the_air import OverTheAir
from fedradio.papers.bounds.assess import assess
from fedradio.papers.bounds.assessment import Assessment
from fedradio.report.terminal.bound import assessment_view
from fedradio.rounds.round import begin, run_round
from fedradio.rounds.simulation import Simulation
from fedradio.runs.run import run
from fedradio.spec.build import build
from fedradio.spec.spec import Spec, load_spec

Maker = Callable[..., Spec]

GIVEN = {"smoothness": 3.0, "convexity": 0.5, "gradient_sq": 2.0, "heterogeneity": 0.25, "start_sq": 7.0, "lowest": 0.1}


def spec_of(*overrides: str) -> Spec:
    """Two clusters of two clients, two cluster iterations, plain SGD with two steps."""
    world = ("topology.clusters=2", "topology.clients_per_cluster=2", "hops.0.period=2", "rounds=2", "eval_every=2")
    return load_spec("whfl", (*world, "rule={kind: sgd, lr: 0.1, batch: 20}", "hops.0.policy.steps=2", *overrides))


def made(spec: Spec, folder: Path) -> Path:
    run(spec, folder)
    return folder


def constant(found: Assessment, name: str) -> float:
    return next(row.value for row in found.constants if row.name == name)


def overheard(spec: Spec, monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """Every round again: models at both ends, gains, and what the clients sent in each cluster iteration."""
    sim, heard, rounds = build(spec), [], []
    combine = OverTheAir.combine

    def spy(link: OverTheAir, x: Any, airtime: Any, sent: Any, state: Any, rng: Any) -> Any:
        heard.append((x.hop, x.channel.gain, sent.payload[:, 0].double().clone(), float(x.alloc.amplitude[0])))
        return combine(link, x, airtime, sent, state, rng)

    monkeypatch.setattr(OverTheAir, "combine", spy)
    state = begin(sim)
    for _ in range(spec.rounds):
        before = state.memory.shared["w"].clone()
        state, _, _ = run_round(sim, state, evaluate=False)
        first = [entry for entry in heard if entry[0] == 0]
        rounds.append(
            {
                "before": before,
                "after": state.memory.shared["w"].clone(),
                "gain": first[0][1],
                "sent": torch.stack([entry[2] for entry in first]),
                "p": first[0][3],
                "edge": next(((e[1][0], e[3]) for e in heard if e[0] == 1), None),
            }
        )
        heard.clear()
    monkeypatch.undo()
    return rounds


def plain_error(gain: Tensor, x: Tensor, p: float, edge: Tensor, p_edge: float, sigma2: float, k: int) -> float:
    """The exact error of two hops for numbers ``x [I, U, d]``, symbol by symbol, clients 0, 1 | 2, 3; K = K'."""
    beta, b_edge = gain.tolist(), edge.tolist()
    n, of = (x.shape[2] + 1) // 2, [[0, 1], [2, 3]]
    padded = torch.cat([x, x.new_zeros(*x.shape[:2], 2 * n - x.shape[2])], dim=2)
    total = 0.0
    y = torch.complex(padded[..., :n], padded[..., n:])  # [I, U, n]
    for s in range(n):
        u_c, v_c = [], []
        for c in (0, 1):
            own = sum(beta[c][m] for m in of[c])
            u_c.append(sum(beta[c][m] / own * y[i, m, s] for i in range(len(x)) for m in of[c]))
            v_c.append(
                sum(
                    (sigma2 / p**2 + sum(beta[c][m] * abs(y[i, m, s]) ** 2 for m in range(4))) / (own * k)
                    for i in range(len(x))
                )
            )
        share = [b / sum(b_edge) for b in b_edge]
        true = y[:, :, s].sum() / 4
        total += abs(sum(w * u for w, u in zip(share, u_c, strict=True)) - true) ** 2
        total += sum(w**2 * v for w, v in zip(share, v_c, strict=True))
        power = sum(b * (abs(u) ** 2 + v) for b, u, v in zip(b_edge, u_c, v_c, strict=True))
        total += (sigma2 / p_edge**2 + power) / (k * sum(b_edge))
    return float(total)


def test_the_exact_error_and_the_draw_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = spec_of("hops.0.link.antennas=10", "hops.1.link.antennas=10")
    found = assess(made(spec, tmp_path / "a"), given=GIVEN)
    assert found.paper == "whfl"
    rounds = overheard(spec, monkeypatch)
    expected, measured = 0.0, 0.0
    for r in rounds:
        expected += plain_error(r["gain"].double(), r["sent"], r["p"], *r["edge"], 10.0, 10) / 2
        true = r["before"].double() + r["sent"].sum(dim=0).mean(dim=0)
        measured += square(r["after"].double() - true) / 2
    (column,) = found.bounds[0].columns
    assert found.bounds[0].exact
    assert column.total == pytest.approx(expected, rel=1e-5)
    assert column.measured == pytest.approx(measured, rel=1e-4)
    assert 0.5 < measured / expected < 2


def literal_32(r: dict[str, Any], eta: float, bar_of: Callable[[list[float]], float]) -> list[float]:
    """The five over-the-air terms of (32) by loops over m and c, with C = M = I = tau = 2, K = K' = 100, N = 325."""
    gain, (edge, p_edge), g2, k, n, two = r["gain"].double().tolist(), r["edge"], GIVEN["gradient_sq"], 100, 325, (0, 1)
    b_is, p = edge.double().tolist(), r["p"]

    def beta(c: int, m: int, source: int) -> float:
        return gain[c][2 * source + m]

    bar_c, bar = [bar_of([beta(c, m, c) for m in two]) for c in two], bar_of(b_is)
    learnt, a_all = eta**2 * g2 * 4, 0.0
    for c1 in two:
        for c2 in two:
            for m1 in two:
                for m2 in two:
                    x1, x2 = (beta(c, m, c) * b_is[c] / (bar * bar_c[c]) for c, m in ((c1, m1), (c2, m2)))
                    count = 4 + 2 * (k - 1) + 1 * (k - 1) * 1 * (2 + (k - 1) * 1)
                    a_all += 1 - x1 - x2 + x1 * x2 / (2 * 2 * k * k * 2) * count
    edges = clients = both = noise = 0.0
    for c in two:
        o = 1 - c
        noise += b_is[c] / p_edge**2
        for m in two:
            edges += b_is[c] * b_is[o] * beta(o, m, o) * sum(beta(o, q, o) for q in two) / bar_c[o] ** 2
            heard = beta(c, 1 - m, c) + sum(beta(c, q, o) for q in two)
            clients += (k + 1) * b_is[c] ** 2 * beta(c, m, c) / bar_c[c] ** 2 * heard
            both += b_is[c] * b_is[o] * beta(o, m, o) / bar_c[o] ** 2 * (beta(o, 1 - m, o) + beta(o, m, c))
            own = (k + 1) * b_is[c] * beta(c, m, c) / (p**2 * bar_c[c] ** 2)
            other = b_is[o] * beta(o, m, o) / (p_edge**2 * bar_c[o] ** 2)
            noise += b_is[c] * 2 / (k * 4) * (own + other)
    front = learnt * 2 / (k * k * 4 * 4 * bar**2)
    return [
        learnt * 4 / 16 * a_all,
        (2 + 0) * learnt * 2 / (k * k * 8 * 4 * 1 * bar**2) * edges,
        front * clients,
        front * both,
        10.0 * n / (k * 4 * bar**2) * noise,
    ]


def test_lemma_1_and_33_equal_plain_sums(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = spec_of()
    found = assess(made(spec, tmp_path / "a"), given=GIVEN)
    rounds = overheard(spec, monkeypatch)
    eta, mu, big_l, gamma = 0.1, 0.5, 3.0, 0.25
    assert [column.title for column in found.bounds[1].columns] == ["sum, as printed", "mean"]
    for place, bar in enumerate((sum, lambda gains: sum(gains) / len(gains))):
        each = [literal_32(r, eta, bar) for r in rounds]
        printed = found.bounds[1].columns[place]
        assert list(printed.terms.values()) == pytest.approx(
            [sum(pair) / 2 for pair in zip(*each, strict=True)], rel=1e-6
        )
        # X = 1 - mu eta I (tau - eta (tau - 1)); local: (1 + mu (1 - eta)) eta^2 I G^2 tau(tau-1)(2tau-1)/6 + ...
        x = 1 - mu * eta * 2 * (2 - eta)
        local = (1 + mu * (1 - eta)) * eta**2 * 2 * 2.0 * 1 + eta**2 * 2 * 5 * 2.0 + 2 * eta * 2 * gamma
        first, second = (sum(terms) for terms in each)
        wanted = [7.0 * x**2, first * x + second, local * x + local]
        last = found.bounds[2].columns[place]
        assert list(last.terms.values()) == pytest.approx([big_l / 2 * term for term in wanted], rel=1e-6)
    sim = build(spec)
    losses = [plain(sim, rounds[-1]["after"], *samples(sim, u))[0] for u in range(4)]
    assert found.bounds[2].columns[0].measured == pytest.approx(sum(losses) / 4 - 0.1, rel=1e-4)


def samples(sim: Simulation, u: int) -> tuple[Tensor, Tensor]:
    tapes = sim.stream.tapes  # type: ignore[attr-defined]
    return tapes.fetch(tapes.index[int(tapes.offset[u]) : int(tapes.offset[u + 1])])  # type: ignore[no-any-return]


def test_estimates_equal_plain_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = spec_of()
    found = assess(made(spec, tmp_path / "a"), given={"smoothness": 3.0})
    rounds, sim = overheard(spec, monkeypatch), build(spec)
    sent = max(square(row) for r in rounds for one in r["sent"] for row in one)
    assert constant(found, "gradient_sq") == pytest.approx(sent / (0.1 * 2) ** 2, rel=1e-4)
    assert constant(found, "start_sq") == pytest.approx(square(rounds[-1]["after"] - rounds[0]["before"]), rel=1e-4)
    curved, losses = [], []
    for r in rounds:
        move = r["after"].double() - r["before"].double()
        for u in range(4):
            (_, before), (_, after) = (plain(sim, r[end], *samples(sim, u)) for end in ("before", "after"))
            curved.append(float((after - before) @ move) / square(move))
        losses += [sum(plain(sim, r[end], *samples(sim, u))[0] for u in range(4)) / 4 for end in ("before", "after")]
    assert constant(found, "convexity") == pytest.approx(min(curved), rel=1e-3)
    assert constant(found, "heterogeneity") == pytest.approx(min(losses), rel=1e-4)


def test_one_hop_has_the_limit_that_is_not_printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hop = "{channel: {kind: power_law, noise_symbol: 10}, link: over_the_air, policy: {kind: ramp, steps: 2}}"
    spec = spec_of("topology.flat=true", f"hops=[{hop}]")
    found = assess(made(spec, tmp_path / "a"), given=GIVEN)
    (first, second), sim = overheard(spec, monkeypatch), build(spec)
    beta = first["gain"][0].double()
    assert any("one hop" in note for note in found.notes)
    printed = found.bounds[1].columns[0]
    assert list(printed.terms) == ["wanted signal (A)", "other clients, own edge", "receiver noise"]
    noise = 10.0 * 325 * float(beta.sum()) / (100 * 16 * float(beta.sum()) ** 2)
    wanted = sum(noise / r["p"] ** 2 for r in (first, second)) / 2
    assert printed.terms["receiver noise"] == pytest.approx(wanted, rel=1e-6)
    exact = found.bounds[0].columns[0].terms
    per_symbol = [10.0 / (r["p"] ** 2 * float(beta.sum()) * 100) for r in (first, second)]
    assert exact["receiver noise"] == pytest.approx((sim.model.shared.size + 1) // 2 * sum(per_symbol) / 2, rel=1e-6)
    assert exact["second hop: receiver noise"] == 0.0


def test_with_the_printed_normaliser_there_is_one_column(tmp_path: Path) -> None:
    spec = spec_of("hops.0.link.normaliser=sum", "hops.1.link.normaliser=sum", "rounds=1")
    found = assess(made(spec, tmp_path / "a"), rounds=1)
    assert [column.title for column in found.bounds[1].columns] == ["sum, as printed"]
    assert any("Lemma 3 fails" in note for note in found.notes)
    (exact,) = found.bounds[0].columns
    assert exact.measured is not None
    assert 0.5 < exact.measured / exact.total < 2


def test_the_quick_spec_has_finite_terms_and_names_what_fails(tmp_path: Path) -> None:
    found = assess(made(load_spec("whfl", ("rounds=3", "eval_every=3")), tmp_path / "a"), rounds=2)
    assert found.paper == "whfl"
    for bound in found.bounds:
        for column in bound.columns:
            assert all(math.isfinite(term) for term in (*column.terms.values(), column.total))
    assert [condition.name for condition in found.failed] == ["Lemma 1: mean of A(m1,m2,c1,c2) >= 0"]
    text = shown(assessment_view(found), width=150)
    assert f"{found.failed[0].value:.4g}" in text
    assert "local steps are adam" in text


@pytest.mark.parametrize(
    ("overrides", "path"),
    [
        (("algorithm.server_lr=2",), "algorithm:"),
        (("algorithm.weighting=samples", "data.partition={kind: dirichlet, alpha: 0.5}"), "algorithm.weighting"),
        (("hops.0.policy={kind: sampling, clients: 1, steps: 1}",), "hops:"),
        (("hops.0.link=ideal", "hops.0.policy={kind: fixed, steps: 1}"), "hops:"),
    ],
)
def test_what_is_not_covered(tmp_path: Path, overrides: tuple[str, ...], path: str) -> None:
    folder = made(spec_of(*overrides, "rounds=1"), tmp_path / "a")
    with pytest.raises(SpecError, match="not covered by W-HFL's theorem") as caught:
        assess(folder, paper="whfl")
    assert str(caught.value).startswith(path)


def test_it_needs_replayed_rounds(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="--replay"):
        assess(made(spec_of("rounds=1"), tmp_path / "a"), rounds=0)
