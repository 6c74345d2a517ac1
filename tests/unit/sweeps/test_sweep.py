"""Folders of sweeps: what is made, refused, left alone and found damaged."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from support.sealing import reseal

from fedradio.core.errors import DataError, SpecError, StoreError
from fedradio.core.files import locked, sealed
from fedradio.results.sweep_file import MARKER
from fedradio.runs.folder import SUMMARY_FILE
from fedradio.spec.spec import Spec
from fedradio.sweeps import sweep
from fedradio.sweeps.grid import plan_sweep
from fedradio.sweeps.pool import Outcome, RunTask


def test_variants_are_built_before_anything_runs(source: Path, tmp_path: Path) -> None:
    told: list[tuple[str, float]] = []
    plan = plan_sweep(source, ["hops.0.policy={kind: sampling, clients: 7},fixed", "rule.lr=0.1,0.2"])
    with pytest.raises(SpecError) as found:
        sweep.check_variants(plan, tmp_path / "new", progress=lambda what, share: told.append((what, share)))
    assert "hops.0.policy=sampling(clients=7), rule.lr=0.1" in found.value.problems[0].path
    assert [share for _, share in told] == [0.0, 0.25, 0.5, 0.75]
    assert not (tmp_path / "new").exists()
    with pytest.raises(SpecError, match="clients"):
        sweep.sweep(source, ["hops.0.policy={kind: sampling, clients: 7},fixed"], out=tmp_path / "new")


def test_missing_data_is_an_error_of_its_own(source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FEDRADIO_HOME", str(tmp_path / "no data"))
    with pytest.raises(DataError, match="mnist"):
        sweep.check_variants(plan_sweep(source, ["data.source=mnist,digits"]), tmp_path / "new")
    both = plan_sweep(
        source, ["data.source=mnist,digits", "topology.clients=6,2", "hops.0.policy={kind: sampling, clients: 3}"]
    )
    with pytest.raises(SpecError) as found:
        sweep.check_variants(both, tmp_path / "new")
    assert any(problem.path.startswith("data ") for problem in found.value.problems)
    assert any("clients=2" in problem.path for problem in found.value.problems)


def test_results_leave_out_what_is_not_complete(source: Path, tmp_path: Path, at_once: list[str]) -> None:
    folder = tmp_path / "s"
    sweep.sweep(source, ["rule.lr=0.1,0.2"], seeds=(1, 2), out=folder)
    diverged = folder / "runs/rule.lr-0.1-seed1"
    reseal(diverged, status="diverged", accuracy=None)
    for seed in (1, 2):
        (folder / f"runs/rule.lr-0.2-seed{seed}" / SUMMARY_FILE).unlink()
    one, other = sweep.sweep_results(folder)
    assert (one.complete, one.seeds) == (1, 2)
    assert one.accuracy is not None
    assert one.accuracy.n == 1
    assert (other.complete, other.accuracy, other.means["bits"]) == (0, None, None)


def test_the_default_folder(source: Path, at_once: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(source.parent)
    assert sweep.sweep(source, ["rule.lr=0.1,0.2"], seeds=(1, 2)).folder == Path("sweeps/tiny")
    assert sweep.sweep_folder(plan_sweep(source, ["rule.lr=0.1,0.2"], seeds=(1, 2))) == Path("sweeps/tiny")
    assert sweep.sweep_folder(plan_sweep(source, ["rule.lr=0.2,0.1"], seeds=(2,))) == Path("sweeps/tiny")
    assert sweep.sweep_folder(plan_sweep(source, ["rule.lr=0.1,0.3"], seeds=(1, 2))) == Path("sweeps/tiny-2")
    assert sweep.sweep_folder(plan_sweep(source, ["rule.lr=0.1,0.2"], seeds=(1, 2, 3))) == Path("sweeps/tiny-2")
    Path("sweeps/tiny-2").mkdir()
    assert sweep.sweep_folder(plan_sweep(source, ["rule.lr=0.1,0.3"])) == Path("sweeps/tiny-3")


def test_folders_that_are_refused(source: Path, tmp_path: Path, at_once: list[str]) -> None:
    plan = plan_sweep(source)
    foreign = tmp_path / "foreign"
    foreign.mkdir()
    (foreign / "thesis.tex").touch()
    with pytest.raises(StoreError, match="not empty and not a sweep"):
        sweep.run_sweep(plan, foreign)
    assert [path.name for path in foreign.iterdir()] == ["thesis.tex"]
    with pytest.raises(StoreError, match="is a file, but a folder is needed"):
        sweep.run_sweep(plan, foreign / "thesis.tex")
    (tmp_path / "mine/runs/precious").mkdir(parents=True)
    with pytest.raises(StoreError, match="not empty and not a sweep"):
        sweep.run_sweep(plan, tmp_path / "mine")
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["runs"]
    folder = tmp_path / "s"
    (folder / "runs").mkdir(parents=True)  # as left by a process that was killed before it wrote the marker
    sweep.run_sweep(plan, folder)
    source.write_text(source.read_text().replace("lr: 0.1", "lr: 0.3"))
    with pytest.raises(StoreError, match="a sweep of a different spec"):
        sweep.run_sweep(plan_sweep(source), folder)
    with locked(folder), pytest.raises(StoreError, match="in use"):
        sweep.run_sweep(plan, folder)
    found = json.loads((folder / MARKER).read_text())
    del found["sha256"]
    (folder / MARKER).write_bytes(sealed(found | {"format": 99}))
    with pytest.raises(StoreError, match="format 99"):
        sweep.run_sweep(plan, folder)
    (folder / MARKER).write_text("{")
    with pytest.raises(StoreError, match=r"sweep.json is damaged: line 1"):
        sweep.sweep_results(folder)


def test_no_sweep_inside_a_run_and_no_variant_is_built_for_it(
    source: Path, tmp_path: Path, at_once: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = plan_sweep(source, ["rule.lr=0.1,0.2"])
    sweep.run_sweep(plan, tmp_path / "s")
    monkeypatch.setattr(sweep, "build", lambda *_: pytest.fail("it was built"))
    inner = tmp_path / "s/runs/rule.lr-0.1-seed3/more"
    with pytest.raises(StoreError, match="is inside the run folder"):
        sweep.check_variants(plan, inner)
    with pytest.raises(StoreError, match="is inside the run folder"):
        sweep.run_sweep(plan, inner)
    assert not inner.exists()


@pytest.mark.parametrize(
    ("ends", "code"),
    [
        ([("complete", 0), ("complete", 0)], 0),
        ([("complete", 0), ("diverged", 3)], 3),
        ([("diverged", 3), ("failed", 5), ("failed", 4)], 5),
        ([("failed", 1), ("diverged", 3)], 1),
    ],
)
def test_exit_codes(tiny: Callable[..., Spec], ends: list[tuple[str, int]], code: int) -> None:
    job = RunTask(tiny(), Path(), "one")
    outcomes = [Outcome(job, status, None, fresh=True, exit_code=number) for status, number in ends]
    assert sweep.Sweep(Path(), outcomes).exit_code == code


def test_seeds_by_their_number(source: Path, tmp_path: Path, at_once: list[str]) -> None:
    done = sweep.sweep(source, seeds=2, out=tmp_path / "s")
    assert [outcome.task.spec.seed for outcome in done.outcomes] == [1, 2]
    with pytest.raises(SpecError, match="the number of seeds must be"):
        sweep.sweep(source, seeds=0, out=tmp_path / "t")
