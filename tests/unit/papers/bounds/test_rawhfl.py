"""RawHFL's theorem on runs: estimates on the run's own world, the bound beside what the run did."""

import math
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from support.terminal import shown

from fedradio.core.errors import SpecError
from fedradio.papers.bounds.assess import assess
from fedradio.papers.bounds.assessment import Assessment
from fedradio.papers.bounds.participation import participation
from fedradio.papers.bounds.rawhfl import TERMS
from fedradio.papers.bounds.replay import StoredRun, replayed_run
from fedradio.report.terminal.bound import assessment_view
from fedradio.rounds.round import begin, run_round
from fedradio.runs.run import run
from fedradio.spec.build import build
from fedradio.spec.spec import Spec, load_spec

Maker = Callable[..., Spec]

LOST = TERMS["arrival"]


CONVEX = ("model=logistic", "hops.0.policy.steps=2", "rule.lr=0.002", "algorithm.weighting=equal")


RADIO = (
    "hops.0.link={kind: digital, erasure: 0.3}",
    "hops.0.channel=urban_macro",
    "algorithm={kind: fedavg, weighting: equal, normalise: inverse}",
)


def made(spec: Spec, folder: Path) -> Path:
    run(spec, folder)
    return folder


def constant(found: Assessment, name: str) -> float:
    return next(row.value for row in found.constants if row.name == name)


def exact_smoothness(run_: StoredRun) -> float:
    """Softmax regression: at most half the largest eigenvalue of a client's mean of x x', with the bias's 1."""
    stream, everyone = run_.sim.stream, torch.arange(run_.sim.topology.clients)
    held = stream.draw(stream.start(), everyone, torch.ones_like(everyone), 10_000, run_.sim.rng)
    largest = 0.0
    for index, count in zip(held.labelled.index[:, 0], held.labelled.count[:, 0], strict=True):
        x, _ = held.fetch(index[: int(count)])
        design = torch.cat([x.flatten(1), torch.ones(len(x), 1)], 1).double()
        largest = max(largest, 0.5 * float(torch.linalg.eigvalsh(design.T @ design / len(x))[-1]))
    return largest


def test_a_convex_run_in_two_cells_stays_below_its_bound(cells: Maker, tmp_path: Path) -> None:
    """Logistic regression on digits, labels dealt out unevenly, equal steps, a rate below every limit."""
    spec = cells(*CONVEX, "rounds=15", "data.partition={kind: dirichlet, alpha: 0.5}")
    folder = made(spec, tmp_path / "a")
    smoothness = exact_smoothness(replayed_run(folder))
    found = assess(folder, rounds=15, given={"smoothness": smoothness})
    (column,) = found.bounds[0].columns
    assert found.failed == []
    assert column.rounds == 15
    assert column.holds
    assert column.measured is not None
    assert 0.05 * column.total < column.measured < column.total
    assert column.terms[LOST] == 0.0
    assert found.notes == []
    estimated = assess(folder, rounds=2)
    assert 0.1 * smoothness < constant(estimated, "smoothness") <= smoothness
    assert [c.title for c in estimated.bounds[0].columns] == ["replayed", "whole run"]


def test_one_full_step_moves_along_the_gradient(cells: Maker, tiny: Maker, tmp_path: Path) -> None:
    """With one step on all data w^1 = w^0 - eta grad f(w^0): this fixes the weights, whatever the sizes."""
    one = ("rule.batch=2000", "hops.0.policy.steps=1", "data.partition={kind: dirichlet, alpha: 0.3}", "rounds=1")
    sampled = "hops.0.policy={kind: sampling, clients: 2, steps: 1}"
    specs = [
        tiny(*one),
        cells(*one, "hops.0.period=1"),
        cells(*one, "hops.0.period=1", "algorithm.weighting=equal"),
        cells(*one, "hops.0.period=1", sampled),
        cells(*one, "hops.0.period=1", sampled, "algorithm.normalise=selected"),
    ]
    for number, spec in enumerate(specs):
        folder, sim = made(spec, tmp_path / str(number)), build(spec)
        (column,) = assess(folder).bounds[0].columns
        before = begin(sim)
        after, _, _ = run_round(sim, before, evaluate=False)
        moved = (after.memory.shared["w"] - before.memory.shared["w"]) / sim.rule.lr
        assert column.measured == pytest.approx(float(moved.square().sum()), rel=1e-3)


def test_a_flat_network_is_one_edge_and_equal_data_do_not_diverge(tiny: Maker, tmp_path: Path) -> None:
    found = assess(made(tiny(), tmp_path / "a"), rounds=1)
    assert constant(found, "edge_divergence") == pytest.approx(0.0, abs=1e-9)
    assert constant(found, "client_divergence") > 0
    alone = tiny("topology.clients=1", "rule.batch=4000")
    found = assess(made(alone, tmp_path / "b"), rounds=1)
    for name in ("client_divergence", "edge_divergence", "variance"):
        assert constant(found, name) == pytest.approx(0.0, abs=1e-9)


def test_losses_enter_with_their_frequency(cells: Maker, tmp_path: Path) -> None:
    folder = made(cells(*RADIO, "rounds=6", "model=logistic", "rule.lr=0.001"), tmp_path / "a")
    found = assess(folder, rounds=2)
    assert all(column.terms[LOST] > 0 for column in found.bounds[0].columns)
    opened = replayed_run(folder)
    part, _ = participation(opened, opened.sim.algorithm.averaging)  # type: ignore[arg-type]
    rows = [record.dense(6) for records in opened.exchanges for record in records if record.hop == 0]
    wanted = [sum(row.arrived[u] for row in rows) / len(rows) for u in range(6)]
    assert part.p_sc[0, 0].tolist() == pytest.approx(wanted)
    assert any("p_sc" in note for note in found.notes)
    other = made(cells(*RADIO, "rounds=6", "algorithm.normalise=arrived"), tmp_path / "b")
    found = assess(other, rounds=1)
    assert found.bounds[0].columns[0].terms[LOST] == 0.0
    assert any("treated as the selected" in note for note in found.notes)
    shrunk = made(cells(*RADIO, "rounds=6", "algorithm.normalise=selected"), tmp_path / "c")
    with pytest.raises(SpecError, match="do not compensate for it"):
        assess(shrunk)


def test_equal_steps_have_the_corollary_beside_the_theorem(cells: Maker, tmp_path: Path) -> None:
    """Omega is E L in all rounds, so that Corollary 1 is (21); (26) leaves lost payloads out."""
    found = assess(made(cells(*RADIO, "rounds=3", "model=logistic"), tmp_path / "a"), rounds=3)
    theorem, (corollary, without) = found.bounds[0].columns[0], found.bounds[1].columns
    assert (corollary.title, without.title) == ("Corollary 1", "(26)")
    assert corollary.terms == pytest.approx(theorem.terms)
    assert corollary.terms[LOST] > 0
    assert without.terms == pytest.approx(theorem.terms | {LOST: 0.0})
    unequal = cells("hops.0.policy={kind: sampling, clients: 2, steps: [1, 4]}")
    assert len(assess(made(unequal, tmp_path / "b"), rounds=2).bounds) == 1


def test_central_training_is_one_client(tiny: Maker, tmp_path: Path) -> None:
    found = assess(made(tiny("algorithm={kind: central, steps: 4}"), tmp_path / "a"), rounds=1)
    assert constant(found, "client_divergence") == pytest.approx(0.0, abs=1e-9)


def test_given_constants_and_no_replay(tiny: Maker, tmp_path: Path) -> None:
    folder = made(tiny("algorithm.weighting=equal"), tmp_path / "a")
    given = {"smoothness": 1.0, "variance": 2.0, "client_divergence": 3.0, "edge_divergence": 0.0, "gap": 2.3}
    found = assess(folder, rounds=0, given=given)
    assert [row.source for row in found.constants] == ["given"] * 5
    (column,) = found.bounds[0].columns
    assert (column.title, column.measured, column.holds) == ("whole run", None, None)
    assert column.terms["loss gap"] == pytest.approx(2 * 2.3 / (0.1 * 2 * 3))  # eta = .1, K = 2, Omega = L = 3
    with pytest.raises(SpecError, match="nothing can be estimated"):
        assess(folder, rounds=0, given={"gap": 2.3})


def test_the_quick_spec_has_finite_terms_and_names_what_fails(tmp_path: Path) -> None:
    cut = ("rounds=2", "topology.clients_per_edge=4", "hops.0.policy.clients=2", "model.hidden=[8]")
    found = assess(made(load_spec("rawhfl", cut), tmp_path / "a"), rounds=1)
    assert found.paper == "rawhfl"
    for column in found.bounds[0].columns:
        assert all(math.isfinite(term) for term in (*column.terms.values(), column.total))
    assert all(math.isfinite(row.value) for row in found.constants)
    assert len(found.failed) == 2
    text = shown(assessment_view(found), width=140)
    for condition in found.failed:
        assert condition.name in text
        assert f"{condition.limit:.4g}" in text
