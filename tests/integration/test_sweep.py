"""Whole sweeps: paired worlds, and sweeps that go on and grow."""

import json
from pathlib import Path

import pytest

from fedradio.core.contracts import ExchangeRecord
from fedradio.results.run import open_runs
from fedradio.results.sweep_file import MARKER
from fedradio.results.variants import variants
from fedradio.runs.stored import read_summary
from fedradio.sweeps import sweep

SAMPLED = "hops.0.policy={kind: sampling, clients: 3, steps: 3}"


def test_worlds_are_paired(source: Path, tmp_path: Path, at_once: list[str]) -> None:
    """Two algorithms on the same seed: same places, same devices, same sampled clients, same data in the same order."""
    changes = [
        "algorithm=fedavg,fedprox",
        SAMPLED,
        "hops.0.fleet=cellular",
        "data.partition={kind: dirichlet, alpha: 0.3}",
    ]
    result = sweep.sweep(source, [*changes, "algorithm.server_lr=0.5"], seeds=(1, 2), out=tmp_path / "s")
    assert result.exit_code == 0
    assert len(at_once) == 4
    one, other = variants(open_runs(result.folder))
    for seed in (1, 2):
        pair = (one.runs[seed], other.runs[seed])
        assert pair[0].network == pair[1].network
        fields = ("ids", "arrived", "steps", "cpu_hz", "seconds", "compute_j")
        worlds = [[[getattr(one, name) for name in fields] for one in run.records(ExchangeRecord)] for run in pair]
        assert worlds[0] == worlds[1]
        first = [run.rounds[0].train_loss for run in pair]
        assert first[0] == pytest.approx(
            first[1], rel=1e-3
        )  # same batches from the same start; the proximal term is small
    assert one.runs[1].network != one.runs[2].network
    assert one.runs[1].participation.active.tolist() != one.runs[2].participation.active.tolist()


def test_the_same_sweep_goes_on_and_a_larger_one_adds_to_it(source: Path, tmp_path: Path, at_once: list[str]) -> None:
    folder = tmp_path / "s"
    first = sweep.sweep(source, ["rule.lr=0.1,0.2"], seeds=(1, 2), out=folder)
    assert at_once == ["rule.lr-0.1-seed1", "rule.lr-0.2-seed1", "rule.lr-0.1-seed2", "rule.lr-0.2-seed2"]
    assert [one.fresh for one in first.outcomes] == [True] * 4
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    again = sweep.sweep(source, ["rule.lr=0.1,0.2"], seeds=(1, 2), out=folder)
    assert [(one.status, one.fresh) for one in again.outcomes] == [("complete", False)] * 4
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before
    at_once.clear()
    more = sweep.sweep(source, ["rule.lr=0.2,0.4"], seeds=(1, 3), out=folder)
    assert at_once == ["rule.lr-0.4-seed1", "rule.lr-0.2-seed3", "rule.lr-0.4-seed3"]
    assert len(more.outcomes) == 4
    found = json.loads((folder / MARKER).read_text())
    assert found["axes"] == {"rule.lr": [0.1, 0.2, 0.4]}
    assert found["seeds"] == [1, 2, 3]
    assert [(cell["label"], list(cell["runs"])) for cell in found["cells"]] == [
        ("rule.lr=0.1", ["1", "2"]),
        ("rule.lr=0.2", ["1", "2", "3"]),
        ("rule.lr=0.4", ["1", "3"]),
    ]
    at_once.clear()
    sweep.sweep(source, ["rule.lr=0.1,0.2", "rule.batch=8"], seeds=(1,), out=folder)
    assert at_once == ["rule.lr-0.1-2-seed1", "rule.lr-0.2-2-seed1"]  # other runs than those of these names
    rows = sweep.sweep_results(folder)
    assert [(row.label, row.complete, row.seeds) for row in rows] == [
        ("rule.lr=0.1, rule.batch=16", 2, 2),
        ("rule.lr=0.2, rule.batch=16", 3, 3),
        ("rule.lr=0.4, rule.batch=16", 2, 2),
        ("rule.lr=0.1, rule.batch=8", 1, 1),
        ("rule.lr=0.2, rule.batch=8", 1, 1),
    ]
    assert {cell.label for cell in variants(open_runs(folder))} == {row.label for row in rows}
    accuracies = [read_summary(folder / f"runs/rule.lr-0.2-seed{seed}")["accuracy"] for seed in (1, 2, 3)]
    assert rows[1].accuracy is not None
    assert rows[1].accuracy.mean == pytest.approx(sum(accuracies) / 3)
    assert rows[1].accuracy.half is not None
    assert rows[3].accuracy is not None
    assert rows[3].accuracy.half is None
    assert (rows[0].means["seconds"], rows[0].means["joules"]) == (None, None)
