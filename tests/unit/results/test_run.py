"""Reading runs back: folders, sweeps, curves, participation."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from support.past import written
from support.records import evaluation, round_
from support.sealing import list_runs, reseal, unfinish

from fedradio.core.contracts import Reason, Record
from fedradio.core.errors import StoreError
from fedradio.results.run import Participation, Run, ended_run, open_all, open_run, open_runs
from fedradio.runs.folder import DESCRIPTION_FILE, NETWORK_FILE, RECORDS_FILE, SPEC_FILE, SUMMARY_FILE
from fedradio.runs.run import run
from fedradio.spec.spec import Spec

Make = Callable[..., Spec]


def past(spec: Spec, name: str = "run", evaluations: tuple[dict[str, float], ...] = ()) -> Run:
    """A run that is only pretended."""
    found = Run(Path(name), spec, {"status": "complete"})
    found.__dict__["evaluations"] = [evaluation(done, **one) for done, one in enumerate(evaluations, 1)]
    return found


def test_a_run_is_read_back(cells_run: Run) -> None:
    assert (cells_run.status, cells_run.algorithm) == ("complete", "fedavg")
    assert len(cells_run.rounds) == len(cells_run.evaluations) == 2
    assert (cells_run.read(), cells_run.read(exchanges=True)) == (4, 8)
    assert cells_run.metrics() == ["accuracy", "loss"]
    assert cells_run.environment["python"].startswith("3.")
    assert [len(tier) for tier in cells_run.network["positions"]] == [6, 2, 1]


@pytest.fixture
def cells_run(cells: Make, tmp_path: Path) -> Run:
    run(cells("hops.0.policy={kind: sampling, clients: 2, steps: 3}"), tmp_path / "a")
    return open_run(tmp_path / "a")


def test_totals_add_up_to_the_summary(cells_run: Run) -> None:
    assert cells_run.summary is not None
    for against, key in (("rounds", "rounds"), ("seconds", "time_s"), ("joules", "energy_j"), ("bits", "bits")):
        totals = cells_run.totals(against)
        assert totals is not None
        assert totals[-1] == pytest.approx(cells_run.summary[key])
        assert (np.diff(totals) > 0).all()


def test_curves_stand_at_what_was_spent_by_each_evaluation(cells: Make, tmp_path: Path) -> None:
    run(cells("rounds=5", "eval_every=2"), tmp_path / "a")
    found = open_run(tmp_path / "a")
    rounds, joules = found.curve(), found.curve("loss", "joules")
    totals = found.totals("joules")
    assert rounds is not None
    assert joules is not None
    assert totals is not None
    assert rounds[0].tolist() == [2, 4, 5]
    assert rounds[1].tolist() == [record.metrics["accuracy"] for record in found.evaluations]
    assert joules[0].tolist() == totals[[1, 3, 4]].tolist()
    assert found.curve("nonsense") is None


def test_undefined_is_none(tiny: Make, tmp_path: Path) -> None:
    run(tiny(), tmp_path / "a")
    found = open_run(tmp_path / "a")
    assert found.totals("seconds") is None
    assert found.curve(against="joules") is None
    assert found.totals("bits") is not None
    assert found.participation.joules is None


def test_participation_has_a_row_per_edge_round(cells_run: Run) -> None:
    found = cells_run.participation
    assert found.active.shape == found.arrived.shape == found.reason.shape == found.steps.shape == (4, 6)
    assert found.active.sum(axis=1).tolist() == [4] * 4
    assert found.joules is not None
    assert found.joules.sum() == pytest.approx(sum(record.energy_j or 0.0 for record in cells_run.rounds))
    assert {name: counts.tolist() for name, counts in found.reasons().items()} == {"not selected": [2] * 4}


def test_reasons_by_hand() -> None:
    reason = np.array([[0, Reason.ENERGY, Reason.NO_DATA], [0, 0, Reason.ENERGY]], dtype=np.int8)
    none = np.zeros((2, 3))
    found = Participation(none.astype(bool), none.astype(bool), reason, none.astype(np.int32), None).reasons()
    assert {name: counts.tolist() for name, counts in found.items()} == {"energy": [1, 1], "no data": [1, 0]}


def test_metrics_are_those_of_every_evaluation(tiny: Make) -> None:
    rows = ({"accuracy": 0.5, "loss": 1.0}, {"accuracy": 0.6, "loss": 0.9, "late": 1.0})
    assert past(tiny(), evaluations=rows).metrics() == ["accuracy", "loss"]
    assert past(tiny()).metrics() == []


def test_a_killed_run_is_unfinished(tiny: Make, tmp_path: Path) -> None:
    run(tiny(), tmp_path / "a")
    unfinish(tmp_path / "a")
    (tmp_path / "a" / NETWORK_FILE).unlink()
    found = open_run(tmp_path / "a")
    assert (found.status, found.summary, found.network) == ("unfinished", None, {})


def test_all_folders_that_are_no_runs_are_named(tiny: Make, tmp_path: Path) -> None:
    run(tiny(), tmp_path / "many" / "a")
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError) as error:
        open_runs(tmp_path / "many", tmp_path / "many" / "a", tmp_path / "none", tmp_path / "file")
    lines = str(error.value).splitlines()
    assert len(lines) == 3
    assert "1 of the folders in it are" in lines[0]
    assert "does not exist" in lines[1]
    assert "is a file" in lines[2]
    with pytest.raises(StoreError, match="not a run folder"):
        open_run(tmp_path)


def test_a_run_of_parts_that_are_not_installed_is_read(tiny: Make, tmp_path: Path) -> None:
    run(tiny(), tmp_path / "a")
    spec = tmp_path / "a" / SPEC_FILE
    spec.write_text(spec.read_text().replace("kind: fedavg", "kind: elsewhere"))
    reseal(tmp_path / "a")
    (past,) = open_runs(tmp_path / "a")
    assert past.algorithm == "elsewhere"
    assert len(past.rounds) == 2
    assert "fedavg" in past.description["parts"]["algorithm"]  # as it was when the run was made


@pytest.mark.parametrize(
    ("change", "key"),
    [
        (("kind: fedavg", "sort: fedavg"), "algorithm"),
        (("seed: 3", "seed: three"), "seed"),
        (("hops:", "hop:"), "hops"),
        (("period: 1", "period: often"), "hops.0.period"),
        (("kind: digits", "kind: 7"), "data.source"),
    ],
)
def test_a_spec_that_is_not_whole_is_told_with_its_file(
    tiny: Make, tmp_path: Path, change: tuple[str, str], key: str
) -> None:
    run(tiny(), tmp_path / "a")
    spec = tmp_path / "a" / SPEC_FILE
    text = spec.read_text()
    assert change[0] in text
    spec.write_text(text.replace(*change))
    with pytest.raises(StoreError, match=f"a is damaged: spec.yaml: missing or damaged: {key}"):
        open_runs(tmp_path / "a")


def test_a_run_without_a_description_is_described_by_the_parts_that_are_here(tiny: Make, tmp_path: Path) -> None:
    run(tiny(), tmp_path / "a")
    (new,) = open_runs(tmp_path / "a")
    (tmp_path / "a" / DESCRIPTION_FILE).unlink()
    reseal(tmp_path / "a")
    (old,) = open_runs(tmp_path / "a")
    assert old.description == new.description


def test_sweeps_are_opened_and_every_run_once(tiny: Make, tmp_path: Path) -> None:
    for seed in (2, 1):
        run(tiny(f"seed={seed}"), tmp_path / "runs" / f"s-seed{seed}")
    (tmp_path / "runs" / "s-seed3").mkdir()
    list_runs(tmp_path, {"one": ("s", tiny(), [1, 2, 3])})
    found = open_runs(tmp_path / "runs" / "s-seed2", tmp_path)
    assert [one.spec.seed for one in found] == [2, 1]


def test_a_sweep_keeps_its_order_and_tells_what_it_lacks(tiny: Callable[..., Spec], tmp_path: Path) -> None:
    """Variant b is listed first; its run of seed 2 was never begun, the spec of seed 3 cannot be read, and what lies in
    the place of seed 4 is another run."""
    specs = {name: tiny("rounds=1", f"name={name}") for name in ("b", "a")}
    for name, seed in (("b", 1), ("b", 3), ("a", 1)):
        run(Spec(specs[name].plain | {"seed": seed}), tmp_path / "runs" / f"{name}-seed{seed}")
    run(specs["a"], tmp_path / "runs" / "b-seed4")
    (tmp_path / "runs" / "b-seed3" / SPEC_FILE).write_text("rounds: [")
    list_runs(tmp_path, {"second": ("b", specs["b"], [1, 2, 3, 4]), "first": ("a", specs["a"], [1])})
    runs, left_out = open_all(tmp_path, tmp_path / "runs" / "a-seed1")
    assert [(one.spec.name, one.status) for one in runs] == [("b", "complete"), ("a", "damaged"), ("a", "complete")]
    assert runs[1].trouble == "damaged: spec.yaml: is not the spec that sweep.json lists for this run"
    places = [str(tmp_path / "runs" / f"b-seed{seed}") for seed in (2, 3)]
    assert [(one.label, one.seed, one.folder) for one in left_out] == [
        ("second", seed, place) for seed, place in zip((2, 3), places, strict=True)
    ]
    assert left_out[0].status == "not begun"
    assert left_out[1].status.startswith("damaged: spec.yaml: not valid YAML")
    (tmp_path / "sweep.json").write_text('{"cells": [{}]}')
    with pytest.raises(StoreError, match=r"sweep.json is damaged"):
        open_runs(tmp_path)


def test_what_was_edited_by_hand_is_damaged(tiny: Make, tmp_path: Path) -> None:
    run(tiny(), tmp_path / "a")
    for name, old, new in (
        (SPEC_FILE, "lr: 0.1", "lr: 0.2"),
        (SUMMARY_FILE, '"accuracy": 0.', '"accuracy": 1.'),
        (RECORDS_FILE, '"accuracy": 0.', '"accuracy": 1.'),
        (NETWORK_FILE, "\n", "\n "),
    ):
        path = tmp_path / "a" / name
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new, 1))
        found = open_run(tmp_path / "a")
        assert (found.status, [each.file for each in found.damage]) == ("damaged", [name])
        path.write_text(text)
    assert open_run(tmp_path / "a").status == "complete"


def test_records_out_of_order_are_refused(tiny: Make, tmp_path: Path) -> None:
    """Of a run whose process was killed nothing tells but the records themselves."""
    one, other = evaluation(1, accuracy=0.5), evaluation(2, accuracy=0.5)
    orders: tuple[list[Record], ...] = (
        [round_(1)],
        [round_(0), round_(0)],
        [round_(0), other],
        [round_(0), round_(1), other, one],
        [round_(0), evaluation(1, loss=0.5)],
    )
    for number, records in enumerate(orders):
        found = written(tmp_path / str(number), tiny("topology.clients=2"), records)
        with pytest.raises(StoreError, match=r"records.jsonl: .*(order|neither accuracy nor RMSE)"):
            found.read()


def test_the_last_metrics_are_those_of_the_summary_else_of_the_records(tiny: Make) -> None:
    run = past(tiny(), evaluations=({"accuracy": 0.5}, {"accuracy": 0.6}))
    assert run.last == {"accuracy": 0.6}
    assert Run(run.folder, run.spec, {"status": "complete", "metrics": {"accuracy": 0.7}}).last == {"accuracy": 0.7}
    assert past(tiny()).last == {}


def test_a_run_that_has_just_ended_is_that_of_its_folder(tiny: Make, tmp_path: Path) -> None:
    found = ended_run(tmp_path / "a", run(tiny(), tmp_path / "a"))
    assert found == open_run(tmp_path / "a")


def test_one_pass_reads_rounds_and_evaluations_and_tallies_exchanges(cells_run: Run) -> None:
    assert {"rounds", "tallies"}.isdisjoint(vars(cells_run))
    exchanges = [record for record in cells_run.exchanges() if record.hop == 0]
    assert {"rounds", "evaluations", "tallies"} <= vars(cells_run).keys()
    assert cells_run.tallies["clients"] == [(record.t, len(record.ids)) for record in exchanges]
    assert open_run(cells_run.folder).tallies == cells_run.tallies
