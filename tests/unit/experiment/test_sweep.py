"""Grids of specs and their folders: what a command means, what is refused, what is made and what is left alone."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from fedradio.core.errors import DataError, SpecError, StoreError
from fedradio.core.files import locked, write_json
from fedradio.results.run import MARKER, open_runs
from fedradio.results.variants import variants
from fedradio.runs.folder import SUMMARY_FILE, read_summary
from fedradio.runs.run import run
from fedradio.spec.spec import Spec
from fedradio.spec.yaml import parse_axis
from fedradio.sweeps import sweep
from fedradio.sweeps.grid import LONGEST_STEM, parse_seeds, plan_sweep
from fedradio.sweeps.pool import Outcome, RunTask, settled_outcome

SAMPLED = "hops.0.policy={kind: sampling, clients: 3, steps: 3}"


@pytest.fixture
def source(tiny: Callable[..., Spec], tmp_path: Path) -> Path:
    path = tmp_path / "tiny.yaml"
    path.write_text(yaml.safe_dump(tiny().plain))
    return path


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Runs are made in this process; the list holds the names of the folders of those that were."""
    made: list[str] = []

    def batch(jobs: Sequence[RunTask], **_: Any) -> list[Outcome]:
        outcomes = []
        for job in jobs:
            found = settled_outcome(job)
            if found is None:
                run(job.spec, job.folder)
                made.append(job.folder.name)
                found = Outcome(job, "complete", None, fresh=True)
            outcomes.append(found)
        return outcomes

    monkeypatch.setattr(sweep, "run_batch", batch)
    return made


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("k=1,2.5,1e-3", [1, 2.5, 0.001]),
        ("k=[64,32],[128]", [[64, 32], [128]]),
        ("k=[64,32]", [[64, 32]]),
        ("k=fedavg,fedprox", ["fedavg", "fedprox"]),
        ("k={kind: fedprox, mu: 0.1},fedavg", [{"kind": "fedprox", "mu": 0.1}, "fedavg"]),
        ("k={kind: a, b: [1, 2]}, {kind: c}", [{"kind": "a", "b": [1, 2]}, {"kind": "c"}]),
        ("k='a, b',\"c, d\"", ["a, b", "c, d"]),
        ("k='it''s, so', it's", ["it's, so", "it's"]),
        ("k=null,true", [None, True]),
        ("k=7,", [7]),
        ("k=", []),
        (" k = a=b , c ", ["a=b", "c"]),
    ],
)
def test_commas_separate_values_outside_of_brackets_and_quotes(text: str, values: list[Any]) -> None:
    assert parse_axis(text) == ("k", values)


@pytest.mark.parametrize("text", ["k=1,,2", "k=[1,2", "k=1]", "k='a,b", "k={a: 1", "k=a],[b", "=1", "k"])
def test_values_that_are_not_yaml_are_refused(text: str) -> None:
    with pytest.raises(SpecError):
        parse_axis(text)


@pytest.mark.parametrize(("text", "seeds"), [("3", (1, 2, 3)), ("1,2,7", (1, 2, 7)), ("7,", (7,)), (" 4, 0 ", (4, 0))])
def test_seeds(text: str, seeds: tuple[int, ...]) -> None:
    assert parse_seeds(text) == seeds


@pytest.mark.parametrize("text", ["0", "-3", "a", "", "1,1", "1,-2", "1;2", "1,2.5", "20000", str(2**63) + ","])
def test_wrong_seeds(text: str) -> None:
    with pytest.raises(SpecError, match="--seeds"):
        parse_seeds(text)


@pytest.mark.parametrize("seeds", [(), (1, 1), (-1,)])
def test_wrong_seeds_in_python(source: Path, seeds: tuple[int, ...]) -> None:
    with pytest.raises(SpecError, match="--seeds"):
        plan_sweep(source, seeds=seeds)


def test_a_plan_is_the_product_of_axes_on_the_same_seeds(source: Path) -> None:
    changes = ["algorithm={kind: fedprox, mu: 0.5},fedavg", "model.hidden=[8],[4,4]", "rule.lr=0.2"]
    plan = plan_sweep(source, changes, seeds=(5, 1), rounds=4)
    assert plan.runs == 8
    assert [variant.stem for variant in plan.variants] == [
        "algorithm-fedprox-mu-0.5_model.hidden-8",
        "algorithm-fedprox-mu-0.5_model.hidden-4-4",
        "algorithm-fedavg_model.hidden-8",
        "algorithm-fedavg_model.hidden-4-4",
    ]
    assert plan.variants[1].label == "model.hidden=[4, 4], algorithm=fedprox"
    spec = plan.variants[1].at(5)
    assert (spec.name, spec.seed, spec.rounds) == ("tiny", 5, 4)
    assert spec.plain["algorithm"]["mu"] == 0.5
    assert spec.plain["model"]["hidden"] == [4, 4]
    assert {variant.spec.plain["rule"]["lr"] for variant in plan.variants} == {0.2}
    assert {variant.seeds for variant in plan.variants} == {(5, 1)}


def test_without_axes_it_is_one_variant_with_the_seed_of_the_spec(source: Path) -> None:
    plan = plan_sweep(source)
    assert [(variant.label, variant.folder(3)) for variant in plan.variants] == [("tiny", "tiny-seed3")]
    assert plan.seeds == (3,)
    assert plan_sweep(source, ["seed=8", "name=other"]).variants[0].folder(8) == "other-seed8"


def test_problems_of_all_variants_come_at_once_and_name_them(source: Path) -> None:
    with pytest.raises(SpecError) as found:
        plan_sweep(source, ["rule.lr=-1,0.1,0.2", "algorithm=fedavg,fedagv,fedprox", "modle=mlp"])
    problems = {problem.path: problem for problem in found.value.problems}
    assert set(problems) == {
        "modle",
        "rule.lr [rule.lr=-1, algorithm=fedavg and rule.lr=-1, algorithm=fedagv and 1 more]",
        "algorithm [rule.lr=-1, algorithm=fedagv and rule.lr=0.1, algorithm=fedagv and 1 more]",
    }
    assert problems["modle"].remedy == "did you mean 'model'?"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (["rule.lr=0.1,0.10"], "rule.lr=0.1: makes the same runs as rule.lr=0.1"),
        (["algorithm=fedavg,{kind: fedavg}"], "makes the same runs"),
        (["rule.lr=0.1", "rule.lr=0.2"], "rule.lr: stands twice"),
        (["hops.0.period=1", "hops[0].period=1,2"], "hops.0.period: stands twice"),
        (["seed=1,2"], "--seeds"),
        (["name=a,b"], "does not change a run"),
        (["hops.7.period=1,2"], "positions 0 to 0"),
        (["rule.lr.a=1,2"], "below a plain value"),
        (["rule.lr"], "neither an axis nor an override"),
        (
            [f"rule.lr={','.join(map(str, range(1, 200)))}", f"rule.batch={','.join(map(str, range(1, 200)))}"],
            "39601 runs",
        ),
    ],
)
def test_wrong_axes(source: Path, changes: list[str], words: str) -> None:
    with pytest.raises(SpecError) as found:
        plan_sweep(source, changes)
    assert words in str(found.value)


def test_problems_of_the_command_come_at_once(source: Path) -> None:
    with pytest.raises(SpecError) as found:
        plan_sweep(source, ["seed=4", "rule.lr", "rule.lr=1,,2", "rounds=3"], seeds=(1,), rounds=5)
    assert [problem.path for problem in found.value.problems] == ["seed", "rule.lr", "rule.lr", "rounds"]


def test_stems_are_short_safe_and_different(source: Path) -> None:
    long = [f"{{kind: mlp, hidden: {[n] * 40}}}" for n in (4, 5)]
    plan = plan_sweep(source, [f"model={','.join(long)}", "hops.0.link=ideal,{kind: ideal, bits_per_value: 16}"])
    stems = [variant.stem for variant in plan.variants]
    assert len({stem.casefold() for stem in stems}) == 4
    assert all(len(stem) <= LONGEST_STEM for stem in stems)
    assert all(character.isalnum() or character in "._+-" for stem in stems for character in stem)


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
        fields = ("active", "arrived", "steps", "cpu_hz", "seconds", "compute_j")
        worlds = [[[row[field] for field in fields] for row in run.records("exchange")] for run in pair]
        assert worlds[0] == worlds[1]
        first = [next(iter(run.rounds))["train_loss"] for run in pair]
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
    assert [(variant["label"], list(variant["runs"])) for variant in found["cells"]] == [
        ("rule.lr=0.1", ["1", "2"]),
        ("rule.lr=0.2", ["1", "2", "3"]),
        ("rule.lr=0.4", ["1", "3"]),
    ]
    at_once.clear()
    sweep.sweep(source, ["rule.lr=0.1,0.2", "rule.batch=8"], seeds=(1,), out=folder)
    assert at_once == ["rule.lr-0.1-2-seed1", "rule.lr-0.2-2-seed1"]  # other runs than those of these names
    rows = sweep.results(folder)
    assert [(row.label, row.complete, row.seeds) for row in rows] == [
        ("rule.lr=0.1, rule.batch=16", 2, 2),
        ("rule.lr=0.2, rule.batch=16", 3, 3),
        ("rule.lr=0.4, rule.batch=16", 2, 2),
        ("rule.lr=0.1, rule.batch=8", 1, 1),
        ("rule.lr=0.2, rule.batch=8", 1, 1),
    ]
    assert {variant.label for variant in variants(open_runs(folder))} == {row.label for row in rows}
    accuracies = [read_summary(folder / f"runs/rule.lr-0.2-seed{seed}")["accuracy"] for seed in (1, 2, 3)]
    assert rows[1].accuracy is not None
    assert rows[1].accuracy.mean == pytest.approx(sum(accuracies) / 3)
    assert rows[1].accuracy.half is not None
    assert rows[3].accuracy is not None
    assert rows[3].accuracy.half is None
    assert (rows[0].time_s, rows[0].energy_j) == (None, None)


def test_results_leave_out_what_is_not_complete(source: Path, tmp_path: Path, at_once: list[str]) -> None:
    folder = tmp_path / "s"
    sweep.sweep(source, ["rule.lr=0.1,0.2"], seeds=(1, 2), out=folder)
    diverged = folder / "runs/rule.lr-0.1-seed1"
    write_json(diverged / SUMMARY_FILE, read_summary(diverged) | {"status": "diverged", "accuracy": None})
    for seed in (1, 2):
        (folder / f"runs/rule.lr-0.2-seed{seed}" / SUMMARY_FILE).unlink()
    one, other = sweep.results(folder)
    assert (one.complete, one.seeds) == (1, 2)
    assert one.accuracy is not None
    assert one.accuracy.n == 1
    assert (other.complete, other.accuracy, other.bits) == (0, None, None)


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
    with pytest.raises(StoreError, match="not empty and not a sweep"):
        sweep.run_sweep(plan, foreign / "thesis.tex")
    (tmp_path / "mine/runs/precious").mkdir(parents=True)
    with pytest.raises(StoreError, match="not empty and not a sweep"):
        sweep.run_sweep(plan, tmp_path / "mine")
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["runs"]
    folder = tmp_path / "s"
    (folder / "runs").mkdir(parents=True)  # as left by a process that was killed before it wrote the marker
    sweep.run_sweep(plan, folder)
    source.write_text(source.read_text().replace("lr: 0.1", "lr: 0.3"))
    with pytest.raises(StoreError, match="a sweep of another spec"):
        sweep.run_sweep(plan_sweep(source), folder)
    with locked(folder), pytest.raises(StoreError, match="in use"):
        sweep.run_sweep(plan, folder)
    found = json.loads((folder / MARKER).read_text())
    write_json(folder / MARKER, found | {"format": 99})
    with pytest.raises(StoreError, match="format 99"):
        sweep.run_sweep(plan, folder)
    (folder / MARKER).write_text("{")
    with pytest.raises(StoreError, match="not a sweep"):
        sweep.results(folder)


@pytest.mark.parametrize(
    "change",
    [
        {"stem": "../../escaped"},
        {"stem": "/escaped"},
        {"stem": ".."},
        {"stem": "a\\b"},
        {"stem": ""},
        {"runs": {"one": "x"}},
        {"runs": None},
        {"set": 3},
        {"spec": {}},
    ],
)
def test_damaged_variants_are_refused(source: Path, tmp_path: Path, at_once: list[str], change: dict[str, Any]) -> None:
    folder = sweep.sweep(source, out=tmp_path / "s").folder
    found = json.loads((folder / MARKER).read_text())
    write_json(folder / MARKER, found | {"cells": [found["cells"][0] | change]})
    with pytest.raises(StoreError, match="damaged"):
        sweep.results(folder)


def test_missing_keys_of_a_sweep_are_refused(source: Path, tmp_path: Path, at_once: list[str]) -> None:
    folder = sweep.sweep(source, out=tmp_path / "s").folder
    found = json.loads((folder / MARKER).read_text())
    variant = found["cells"][0]
    lacking = [{key: variant[key] for key in variant if key != left} for left in variant]
    documents = [found | {"cells": [one]} for one in lacking]
    documents += [{key: found[key] for key in found if key != left} for left in found]
    for document in documents:
        write_json(folder / MARKER, document)
        with pytest.raises(StoreError):
            sweep.results(folder)


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
    assert sweep.SweepResult(Path(), outcomes).exit_code == code
