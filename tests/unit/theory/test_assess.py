"""The theorem on runs: weights from records, estimates on the run's own world, the bound beside what the run did."""

import io
import json
import math
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from rich.console import Console

from fedradio.core.errors import SpecError, StoreError
from fedradio.papers.bounds.assess import Assessment, assess
from fedradio.papers.bounds.replay import StoredRun, participation, replayed_run
from fedradio.report.terminal import bound as report
from fedradio.report.terminal import progress
from fedradio.rounds.round import begin, run_round
from fedradio.runs.folder import RECORDS_FILE, SPEC_FILE
from fedradio.runs.run import run
from fedradio.spec.build import build
from fedradio.spec.spec import Spec

Maker = Callable[..., Spec]
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
    (column,) = found.columns
    assert found.rates["rate of the run"] < found.rates["limit in the proof of Lemma 2"]
    assert column.rounds == 15
    assert column.holds
    assert column.measured is not None
    assert 0.05 * column.bound.total < column.measured < column.bound.total
    assert column.bound.arrival == 0.0
    assert found.notes == []
    estimated = assess(folder, rounds=2)
    assert 0.1 * smoothness < constant(estimated, "smoothness") <= smoothness
    assert [c.title for c in estimated.columns] == ["replayed", "whole run"]


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
        (column,) = assess(folder).columns
        before = begin(sim)
        after, _, _ = run_round(sim, before, evaluate=False)
        moved = (after.memory.shared["w"] - before.memory.shared["w"]) / sim.rule.lr
        assert column.measured == pytest.approx(float(moved.square().sum()), rel=1e-3)


def test_weights_are_those_of_the_records(cells: Maker, tmp_path: Path) -> None:
    spec = cells("hops.0.policy={kind: sampling, clients: 2, steps: [1, 4]}", "rule.updates_per_step=3")
    opened = replayed_run(made(spec, tmp_path / "a"))
    part, busy = participation(opened, opened.sim.algorithm)  # type: ignore[arg-type]
    assert busy == [0, 1]
    assert (part.rounds, part.edge_rounds) == (2, 2)
    rows = [row for rows in opened.exchanges for row in rows if row["hop"] == 0]
    for alpha, steps, row in zip(part.alpha_u.flatten(0, 1), part.steps.flatten(0, 1), rows, strict=True):
        squares = [float(alpha[part.edge == b].square().sum()) for b in range(2)]
        assert [1 / square for square in squares] == pytest.approx(row["effective"])
        assert steps.tolist() == [3 * n for n in row["steps"]]
    assert part.alpha_b.sum(1).tolist() == pytest.approx([1.0, 1.0])
    assert part.omega.tolist() == pytest.approx((part.alpha * part.steps).sum((1, 2)).tolist())


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
    assert all(column.bound.arrival > 0 for column in found.columns)
    opened = replayed_run(folder)
    part, _ = participation(opened, opened.sim.algorithm)  # type: ignore[arg-type]
    rows = [row for rows in opened.exchanges for row in rows if row["hop"] == 0]
    wanted = [sum(row["arrived"][u] for row in rows) / len(rows) for u in range(6)]
    assert part.p_sc[0, 0].tolist() == pytest.approx(wanted)
    assert any("p_sc" in note for note in found.notes)
    other = made(cells(*RADIO, "rounds=6", "algorithm.normalise=arrived"), tmp_path / "b")
    found = assess(other, rounds=1)
    assert found.columns[0].bound.arrival == 0.0
    assert any("count as the selected" in note for note in found.notes)
    shrunk = made(cells(*RADIO, "rounds=6", "algorithm.normalise=selected"), tmp_path / "c")
    with pytest.raises(SpecError, match="do not make up for it"):
        assess(shrunk)


@pytest.mark.parametrize(
    ("override", "path"),
    [
        ("algorithm=scaffold", "algorithm:"),
        ("algorithm=fednova", "algorithm:"),
        ("algorithm=fedprox", "algorithm.mu"),
        ("algorithm.server_lr=2", "algorithm.server_lr"),
        ("rule.momentum=0.9", "rule.momentum"),
        ("rule={kind: adam, lr: 0.001}", "rule:"),
        ("schedule=inverse", "schedule"),
    ],
)
def test_what_the_theorem_does_not_cover_is_refused(tiny: Maker, tmp_path: Path, override: str, path: str) -> None:
    folder = made(tiny(override, "rounds=1"), tmp_path / "a")
    with pytest.raises(SpecError, match="not covered by RawHFL's theorem") as caught:
        assess(folder)
    assert str(caught.value).startswith(path)


def test_all_reasons_at_once(tiny: Maker, tmp_path: Path) -> None:
    folder = made(tiny("algorithm.server_lr=2", "rule.momentum=0.5", "rounds=1"), tmp_path / "a")
    with pytest.raises(SpecError) as caught:
        assess(folder)
    assert len(caught.value.problems) == 2


def test_central_training_is_one_client(tiny: Maker, tmp_path: Path) -> None:
    found = assess(made(tiny("algorithm={kind: central, steps: 4}"), tmp_path / "a"), rounds=1)
    assert constant(found, "client_divergence") == pytest.approx(0.0, abs=1e-9)


def test_given_constants_and_no_replay(tiny: Maker, tmp_path: Path) -> None:
    folder = made(tiny("algorithm.weighting=equal"), tmp_path / "a")
    given = {"smoothness": 1.0, "variance": 2.0, "client_divergence": 3.0, "edge_divergence": 0.0, "gap": 2.3}
    found = assess(folder, rounds=0, given=given)
    assert [row.source for row in found.constants] == ["given"] * 5
    (column,) = found.columns
    assert (column.title, column.measured, column.holds) == ("whole run", None, None)
    assert column.bound.gap == pytest.approx(2 * 2.3 / (0.1 * 2 * 3))  # eta = .1, K = 2, Omega = L = 3
    with pytest.raises(SpecError, match="nothing can be estimated"):
        assess(folder, rounds=0, given={"gap": 2.3})
    with pytest.raises(SpecError, match="--variance") as caught:
        assess(folder, rounds=-1, given={"variance": -1.0, "smoothness": math.nan})
    assert len(caught.value.problems) == 3
    with pytest.raises(SpecError, match="rawhfl"):
        assess(folder, paper="osafl")


def test_idle_rounds_and_empty_cells_are_told(cells: Maker, tmp_path: Path) -> None:
    opened = replayed_run(made(cells("rounds=3"), tmp_path / "a"))
    for row in opened.exchanges[1]:
        row["active"] = row["arrived"] = [False] * len(row["active"])
    for row in opened.exchanges[2][:1]:
        row["active"] = row["arrived"] = [True] * 3 + [False] * 3
    part, busy = participation(opened, opened.sim.algorithm)  # type: ignore[arg-type]
    assert busy == [0, 2]
    assert part.rounds == 2
    assert float(part.alpha_u[1, 0, 3:].sum()) == 0.0
    assert part.alpha_b[1, 0] > part.alpha_b[1, 1]
    from fedradio.papers.bounds.assess import _run_notes

    told = " ".join(_run_notes(opened, part, []))
    assert "1 round(s) in which nobody trained" in told
    assert "some edges had no client" in told


def test_a_changed_folder_is_refused(tiny: Maker, tmp_path: Path) -> None:
    folder = made(tiny(), tmp_path / "a")
    lines = (folder / RECORDS_FILE).read_text().splitlines()
    row = json.loads(lines[0])
    row["steps"] = [n + 1 for n in row["steps"]]
    (folder / RECORDS_FILE).write_text("\n".join([json.dumps(row), *lines[1:]]) + "\n")
    with pytest.raises(StoreError, match="another version"):
        assess(folder)
    (folder / RECORDS_FILE).write_text("")
    with pytest.raises(StoreError, match="before its first round"):
        assess(folder)
    text = (folder / SPEC_FILE).read_text()
    (folder / SPEC_FILE).write_text(text.replace("seed: 3", "seed: 4"))
    with pytest.raises(StoreError, match="fingerprint"):
        assess(folder)
    with pytest.raises(StoreError, match="summary"):
        assess(tmp_path / "nowhere")


def shown(found: Assessment) -> str:
    console = Console(file=io.StringIO(), width=140)
    console.print(report.assessment_view(found))
    text: str = console.file.getvalue()  # type: ignore[attr-defined]
    return text


def test_the_table_says_what_is_what(cells: Maker, tmp_path: Path) -> None:
    spec = cells("hops.0.policy={kind: sampling, clients: 2, steps: [1, 4]}", "rule.lr=0.5", "rounds=3")
    found = assess(made(spec, tmp_path / "a"), rounds=2, given={"variance": 4.0})
    text = shown(found)
    for words in (
        "replayed (2 rounds)",
        "whole run (3 rounds)",
        "given",
        "estimated: largest of 2",
        "claims nothing here",
    ):
        assert words in text
    assert "bias of unequal steps" in text
    low = replace(found, columns=[replace(found.columns[0], measured=math.inf)])
    assert "NO" in shown(replace(low, applies=True))
    assert "no claim at this rate" in text
    assert report.number(None) == "-"


def test_progress_comes_late(monkeypatch: pytest.MonkeyPatch) -> None:
    console = Console(file=io.StringIO(), width=80, force_terminal=True)
    with progress.LateProgress(console) as quick:
        quick("reading", 0.0)
        assert not quick.bar.tasks
    monkeypatch.setattr(progress, "LATE_S", 0.0)
    with progress.LateProgress(console) as slow:
        slow("replaying [1]", 0.5)
        assert slow.bar.tasks[0].completed == 0.5


def test_the_command(cells: Maker, tiny: Maker, tmp_path: Path) -> None:
    made(cells(), tmp_path / "a")
    made(tiny("rule.momentum=0.9", "rounds=1"), tmp_path / "b")

    def command(*arguments: str) -> subprocess.CompletedProcess[Any]:
        line = [sys.executable, "-c", "from fedradio.cli import main; main()", "theory", *arguments]
        env = os.environ | {"COLUMNS": "140"}
        return subprocess.run(line, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=120, check=False)

    done = command("a", "--replay", "1", "--smoothness", "8", "--gap", "2.5")
    assert done.returncode == 0, done.stderr
    for words in ("Theorem 1", "lost payloads", "bound holds", "best rate by (27)", "given"):
        assert words in done.stdout
    refused = command("b")
    assert refused.returncode == 2
    assert "momentum" in refused.stderr
    assert "Traceback" not in refused.stderr
    assert command("nowhere").returncode == 5
