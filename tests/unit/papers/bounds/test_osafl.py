"""OSAFL's theorem on runs: every term against plain loops in float64, exact scores, what is told and refused."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from support.plain_logistic import plain, square
from support.terminal import shown
from torch import Tensor

from fedradio.core.errors import SpecError
from fedradio.papers.bounds.assess import assess
from fedradio.papers.bounds.assessment import Assessment
from fedradio.papers.bounds.osafl import TERMS, server_rate
from fedradio.papers.bounds.replay import replayed_run
from fedradio.report.terminal.bound import assessment_view
from fedradio.rounds.parts import STREAM
from fedradio.rounds.round import begin, run_round
from fedradio.rounds.simulation import Simulation
from fedradio.runs.run import run
from fedradio.spec.build import build
from fedradio.spec.spec import Spec, load_spec

Maker = Callable[..., Spec]

CHANGING = (
    "model=logistic",
    "algorithm={kind: osafl, server_lr: 2}",
    "data.partition={kind: dirichlet, alpha: 0.5}",
    "data.stream={kind: fifo, capacity: [20, 30], slots: 12, activity: [0.5, 0.9]}",
    "hops.0.policy={kind: sampling, clients: 4, steps: [1, 3]}",
    "rounds=3",
)
"""Six clients of whom four come a round, with one to three steps on small buffers that change."""

GIVEN = {"smoothness": 0.5, "variance": 3.0, "rho_1": 1.5, "rho_2": 2.0}


def made(spec: Spec, folder: Path) -> Path:
    run(spec, folder)
    return folder


def constant(found: Assessment, name: str) -> float:
    return next(row.value for row in found.constants if row.name == name)


@dataclass
class PlainRound:
    """What a round is, found by running it and by loops over clients."""

    steps: list[int]
    score: list[float]
    squares: list[float]
    shift: list[float]
    norm_sq: float
    loss: float
    end: float


def window(sim: Simulation, slots: dict[str, Tensor], u: int) -> tuple[Tensor, Tensor]:
    """A client's samples, straight from its tape."""
    tapes = sim.stream.tapes  # type: ignore[attr-defined]
    first = int(tapes.offset[u])
    return tapes.fetch(tapes.index[first + int(slots["lo"][u]) : first + int(slots["hi"][u])])


def cosine(a: Tensor, b: Tensor) -> float:
    return float((a.double() * b.double()).sum()) / math.sqrt(square(a) * square(b)) if square(a) > 0 else 0.0


def plain_rounds(spec: Spec) -> list[PlainRound]:
    sim = build(spec)
    state, models, data, sent, done = begin(sim), [], [], [], []
    for _ in range(spec.rounds):
        models.append(state.memory.shared["w"].clone())
        state, _, records = run_round(sim, state, evaluate=False)
        data.append({name: rows.clone() for name, rows in state.parts[STREAM].items()})
        sent.append(state.memory.ledger["sent"].clone())
        done.append({u: n for u, n, ok in zip(records[0].ids, records[0].steps, records[0].arrived, strict=True) if ok})
    models.append(state.memory.shared["w"].clone())
    data.append(data[-1])
    clients, found = range(sim.topology.clients), []
    steps, heard = [1] * len(clients), [False] * len(clients)
    shift = [0.0] * len(clients)
    for t in range(spec.rounds):
        for u, n in done[t].items():
            steps[u], heard[u] = n, True
        mean = sent[t].double().mean(dim=0)
        score = [(1 + cosine(sent[t][u], mean)) / 2 if heard[u] else 0.0 for u in clients]
        here = [plain(sim, models[t], *window(sim, data[t], u)) for u in clients]
        same = [plain(sim, models[t + 1], *window(sim, data[t], u)) for u in clients]
        new = [plain(sim, models[t + 1], *window(sim, data[t + 1], u)) for u in clients]
        gradient = sum(score[u] / len(clients) * here[u][1] for u in clients)
        found.append(
            PlainRound(
                steps=list(steps),
                score=score,
                squares=[square(here[u][1]) for u in clients],
                shift=shift,
                norm_sq=square(gradient),  # type: ignore[arg-type]
                loss=sum(score[u] / len(clients) * here[u][0] for u in clients),
                end=sum(score[u] / len(clients) * new[u][0] for u in clients),
            )
        )
        shift = [square(new[u][1] - same[u][1]) for u in clients]
    return found


def literal_24(rounds: list[PlainRound], eta: float, eta_g: float) -> dict[str, float]:
    """(24) in plain Python, with scores that are the similarities."""
    beta, sigma2, rho_1, rho_2 = GIVEN.values()
    out = dict.fromkeys(TERMS.values(), 0.0)
    for t, r in enumerate(rounds):
        alpha, many = 1 / len(r.score), len(rounds)
        b = [s**2 - 2 * s * s + 2 * s**2 for s in r.score]
        a = 1 - 16 * rho_1 * beta**2 * eta**2 * sum(alpha * k**2 * x for k, x in zip(r.steps, b, strict=True))
        delta = [max(0.0, sq - rho_1 * r.norm_sq) / rho_2 for sq in r.squares]
        drop = r.loss - (rounds[t + 1].loss if t + 1 < many else r.end)
        noise = sum(
            alpha * (eta_g * alpha * s**2 + 4 * beta * eta * k * x) for s, k, x in zip(r.score, r.steps, b, strict=True)
        )
        moved = sum(alpha * x * phi * k**2 for x, phi, k in zip(b, r.shift, r.steps, strict=True))
        apart = sum(alpha * x * d * k**2 for x, d, k in zip(b, delta, r.steps, strict=True))
        out["loss gap"] += 2 * drop / (eta * eta_g) / a / many
        out["gradient variance"] += beta * eta * sigma2 * noise / a / many
        out["new samples"] += 32 * beta**2 * eta**2 * moved / a / many
        out["clients that differ"] += 16 * rho_2 * beta**2 * eta**2 * apart / a / many
    return out


def test_every_term_equals_plain_loops(tiny: Maker, tmp_path: Path) -> None:
    spec = tiny(*CHANGING)
    found = assess(made(spec, tmp_path / "a"), given=GIVEN)
    rounds = plain_rounds(spec)
    (column,) = found.bounds[0].columns
    wanted = literal_24(rounds, 0.1, 2.0)
    assert wanted["new samples"] > 0
    for name, term in wanted.items():
        assert column.terms[name] == pytest.approx(term, rel=2e-4), name
    assert column.measured == pytest.approx(sum(r.norm_sq for r in rounds) / 3, rel=1e-4)
    assert constant(found, "shift") == pytest.approx(max(max(r.shift) for r in rounds), rel=1e-3)
    assert constant(found, "gap") == pytest.approx(rounds[0].loss, rel=1e-5)
    worst = max(max(0.0, sq - 1.5 * r.norm_sq) / 2.0 for r in rounds for sq in r.squares)
    assert constant(found, "divergence") == pytest.approx(worst, rel=1e-4)


def test_exact_scores_stand_beside_the_similarities(tiny: Maker, tmp_path: Path) -> None:
    """(34) in plain Python: ``C / (2 beta eta eta_g sigma^2 alpha^2 + C)`` of the similarity, by client."""
    spec = tiny(*CHANGING)
    found = assess(made(spec, tmp_path / "a"), given=GIVEN)
    beta, sigma2, rho_1, _ = GIVEN.values()
    eta, eta_g, alpha = 0.1, 2.0, 1 / 6
    for row, r in zip(found.listings[0].rows, plain_rounds(spec), strict=True):
        ratio, exact = [], []
        for k, s, sq, phi in zip(r.steps, r.score, r.squares, r.shift, strict=True):
            if s > 0:
                drift = 64 * phi + 32 * max(0.0, sq - rho_1 * r.norm_sq) + 32 * rho_1
                c = 8 * alpha * k * (beta * eta) ** 2 * sigma2 + drift * alpha * (beta * eta * k) ** 2
                ratio.append(c / (2 * beta * eta * eta_g * sigma2 * alpha**2 + c))
                exact.append(ratio[-1] * s)
        heard = [s for s in r.score if s > 0]
        mean = sum(heard) / len(heard)
        wanted = [len(heard), mean, mean, sum(exact) / len(exact), min(ratio), max(ratio)]
        assert row[1:] == pytest.approx(wanted, rel=1e-3)


def test_rounds_that_are_not_replayed_have_the_scores_of_the_records(tiny: Maker, tmp_path: Path) -> None:
    spec = tiny(*CHANGING, "rounds=4")
    found = assess(made(spec, tmp_path / "a"), rounds=2, given=GIVEN | {"shift": 0.5, "divergence": 0.25, "gap": 2.0})
    first, whole = found.bounds[0].columns
    assert (first.title, first.rounds, whole.title, whole.rounds) == ("replayed", 2, "whole run", 4)
    assert whole.measured is None
    rounds, beta, eta, eta_g, gap = plain_rounds(spec), 0.5, 0.1, 2.0, 0.0
    for r in rounds:
        a = 1 - 16 * 1.5 * (beta * eta) ** 2 * sum(k**2 * s**2 / 6 for k, s in zip(r.steps, r.score, strict=True))
        gap += 2 * (2.0 / 4) / (eta * eta_g) / a / 4
    assert whole.terms["loss gap"] == pytest.approx(gap, rel=1e-4)
    assert any("of all uploads are repeated" in note for note in found.notes)


def test_without_scores_the_bound_is_25(tiny: Maker, tmp_path: Path) -> None:
    """AFA-CD on data that stay: scores are 1, nothing shifts, and every client came."""
    found = assess(made(tiny("algorithm={kind: afa_cd, server_lr: 2}", "rounds=1"), tmp_path / "a"), rounds=1)
    assert found.paper == "osafl"
    assert found.listings[0].rows[0][2] == pytest.approx(1.0)
    assert constant(found, "shift") == 0.0
    assert any("(24) becomes (25)" in note for note in found.notes)


def test_scores_of_a_run_with_exact_ones_are_those_of_the_table(tiny: Maker, tmp_path: Path) -> None:
    """The algorithm's (34) and the theory's, for the same constants."""
    exact = (
        "algorithm={kind: osafl, score: exact, smoothness: 0.5, variance: 3, shift: 0.1, divergence: 0.5, rho_1: 1.5}"
    )
    folder = made(tiny(exact, "hops.0.policy={kind: sampling, clients: 4, steps: [1, 3]}"), tmp_path / "a")
    found = assess(folder, given=GIVEN | {"shift": 0.1, "divergence": 0.25})  # rho_2 = 2
    for row in found.listings[0].rows:
        _, _, used, similarity, by_34, _, _ = row
        assert used == pytest.approx(by_34, rel=1e-6)
        assert used < similarity
    assert any("scores are those of (34)" in note for note in found.notes)


def test_means_over_steps_make_the_server_rate_larger(tiny: Maker, tmp_path: Path) -> None:
    options = ("rule.updates_per_step=3", "rounds=1")
    for number, (name, rate) in enumerate((("updates", 2.0), ("steps", 6.0))):
        spec = tiny(f"algorithm={{kind: osafl, server_lr: 2, normalise: {name}}}", *options)
        opened = replayed_run(made(spec, tmp_path / str(number)))
        assert server_rate(opened) == rate


def test_a_small_enough_rate_meets_every_condition_and_the_bound_holds(tiny: Maker, tmp_path: Path) -> None:
    spec = tiny("model=logistic", "algorithm={kind: osafl, server_lr: 2}", "rule.lr=0.002", "rounds=3")
    found = assess(made(spec, tmp_path / "a"))
    assert found.failed == []
    (column,) = found.bounds[0].columns
    assert column.holds
    assert found.bounds[0].applies


def test_the_quick_spec_has_finite_terms_and_names_what_fails(tmp_path: Path) -> None:
    cut = ("rounds=2", "topology.clients=5", "model.hidden=[8]", "data.source.requests=800")
    found = assess(made(load_spec("osafl", cut), tmp_path / "a"), rounds=2)
    assert found.paper == "osafl"
    for column in found.bounds[0].columns:
        assert all(math.isfinite(term) for term in (*column.terms.values(), column.total))
    assert all(math.isfinite(row.value) for row in found.constants)
    assert found.failed
    text = shown(assessment_view(found), width=140)
    for condition in found.failed:
        assert condition.name in text
        assert f"{condition.value:.4g}" in text


@pytest.mark.parametrize(
    ("overrides", "path"),
    [
        (("algorithm={kind: osafl, never_seen: literal}",), "algorithm.never_seen"),
        (("algorithm={kind: afa_cd, buffer: none}",), "algorithm:"),
        (("algorithm=osafl", "schedule=inverse"), "schedule"),
        (("algorithm=osafl", "rule.lr_per_step=true"), "rule.lr_per_step"),
    ],
)
def test_what_is_not_covered(tiny: Maker, tmp_path: Path, overrides: tuple[str, ...], path: str) -> None:
    folder = made(tiny(*overrides, "rounds=1"), tmp_path / "a")
    with pytest.raises(SpecError, match="not covered by OSAFL's theorem") as caught:
        assess(folder, paper="osafl")
    assert str(caught.value).startswith(path)


def test_it_needs_replayed_rounds(tiny: Maker, tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="--replay"):
        assess(made(tiny("algorithm=osafl", "rounds=1"), tmp_path / "a"), rounds=0)
