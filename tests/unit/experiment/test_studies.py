"""Studies against runs of the same spec, and against known numbers."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from fedradio.core.errors import SpecError
from fedradio.core.rng import Rng
from fedradio.network.power_law import power_law
from fedradio.papers.studies import STUDIES
from fedradio.papers.studies.planned import ROUNDS, Finding
from fedradio.results.run import open_run
from fedradio.runs.run import run
from fedradio.spec.build import build
from fedradio.spec.spec import Spec, load_spec
from fedradio.theory.whfl import Printed, figure_4, loss_33

RAW = [
    "topology.edges=2",
    "topology.clients_per_edge=4",
    "hops.0.period=2",
    "hops.0.fleet.energy_j=[0.004, 0.03]",
    "hops.0.policy={kind: joint, clients: 2, max_steps: 3, mode: paper}",
    "data.source.test_requests=20",
    "model.hidden=[8]",
    "rounds=3",
]
BUFFERS = [
    "topology.clients=12",
    "hops.0.policy.mode=paper",
    "data.source.test_requests=20",
    "rule.batch=4",
    "rounds=4",
]


def study(name: str, spec: Spec) -> Finding:
    """What a study found, which must be plain JSON, after telling that all is done."""
    told: list[float] = []
    found = STUDIES[name](spec, told.append)
    assert told == sorted(told)
    assert told[-1] == 1.0
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    return found


def test_energy_is_that_of_a_run(tmp_path: Path) -> None:
    spec = load_spec("rawhfl", RAW)
    run(spec, tmp_path / "run")
    joules = open_run(tmp_path / "run").participation.joules
    assert joules is not None
    found = study("energy", spec)
    assert len(found["samples"]) == ROUNDS * 2
    assert found["samples"][:6] == pytest.approx(joules.sum(axis=1).tolist())
    assert found["total_j"] == pytest.approx(sum(found["samples"]))
    assert found["at_50_j"] == pytest.approx(sum(found["samples"][:100]))
    assert found["median_j"] == pytest.approx(np.median(found["samples"]))
    clients = study("client_energy", spec)
    assert clients["samples"][: int((joules > 0).sum())] == pytest.approx(joules[joules > 0].tolist())
    assert sum(clients["samples"]) == pytest.approx(found["total_j"])


def test_eligibility_is_that_of_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever is left out for its energy or the deadline was not eligible."""
    monkeypatch.setattr("fedradio.papers.studies.network.ROUNDS", 3)
    spec = load_spec("rawhfl", RAW)
    run(spec, tmp_path / "run")
    took = open_run(tmp_path / "run").participation
    eligible = [sum(took.reason[t][client] in (0, 1) for t in range(6)) for client in range(8)]
    found = study("eligibility", spec)
    assert found["edge_rounds"] == 6
    assert found["eligible"] == eligible
    assert found["selected"] == [sum(took.active[t][client] for t in range(6)) for client in range(8)]
    assert found["least_eligible"] == min(eligible) < 6
    assert found["most_selected"] == max(found["selected"])
    assert found["eligible_share"] == pytest.approx(sum(eligible) / (8 * 6))


def test_joules_of_everybody_are_those_of_forty_draws() -> None:
    """14991 +- 1044 J in 40 draws."""
    assert study("energy", load_spec("rawhfl/quick/ub"))["total_j"] == pytest.approx(14_991, abs=3 * 1044)


def test_joules_of_four_clients_a_cell() -> None:
    """About 2750 J at full power, with any overlap."""
    found = study("energy", load_spec("rawhfl/paper/z4", ["hops.0.policy.mode=paper", "hops.0.policy.overlap=4"]))
    assert found["total_j"] == pytest.approx(2_750, rel=0.15)
    assert len(found["samples"]) == 400


def test_quick_joules_are_those_of_the_paper(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fedradio.papers.studies.energy.ROUNDS", 2)
    quick, paper = (study("energy", load_spec(f"rawhfl/{scale}/z4"))["samples"] for scale in ("quick", "paper"))
    assert quick == pytest.approx(paper, rel=1e-9)


def test_joules_need_a_fleet_and_a_rate(tiny: Callable[..., Spec]) -> None:
    for spec in (tiny(), load_spec("whfl")):
        with pytest.raises(SpecError, match="joules are known beforehand"):
            study("energy", spec)


def test_stragglers_of_a_run(tmp_path: Path) -> None:
    spec = load_spec("osafl", BUFFERS)
    run(spec, tmp_path / "run")
    active = open_run(tmp_path / "run").participation.active
    found = study("stragglers", spec)
    out = [[not active[t][client] for t in range(4)] for client in range(12)]
    assert found["share"] == pytest.approx(sum(sum(one) >= 2 for one in out) / 12)
    assert found["samples"] == [sum(one[t] for one in out) for t in range(4)]
    assert found["median_share"] == pytest.approx(float(np.median(found["samples"])) / 12)


def test_stragglers_of_the_large_network() -> None:
    """Expected .68 to .70 of the clients with the FCN, 72 % published."""
    assert study("stragglers", load_spec("osafl/paper/fcn_k1/osafl"))["share"] == pytest.approx(0.70, abs=0.06)


@pytest.mark.parametrize(
    ("model", "parameters"), [("squeezenet", 773_796), ("cnn", 1_026_772), ("lstm", 1_378_532), ("fcn", 1_936_484)]
)
def test_payload(model: str, parameters: int) -> None:
    found = study("payload", load_spec(f"osafl/paper/{model}_k1/osafl", ["topology.clients=2"]))
    assert found == {"parameters": parameters, "bits": 33 * parameters, "mbit": pytest.approx(33e-6 * parameters)}


def test_payload_of_the_air_has_no_bits() -> None:
    assert study("payload", load_spec("whfl"))["bits"] is None


def test_bits_of_a_sample() -> None:
    few = ["topology.clients=2"]
    features = study("sample_bits", load_spec("osafl/paper/fcn_k1/osafl", few))
    assert features == {"features": 3168, "bits": 101_376, "input": 3168, "input_bits": 101_376}
    history = study("sample_bits", load_spec("osafl/paper/lstm_k1/osafl", few))
    assert history == {"features": 1, "bits": 7, "input": 10, "input_bits": 70}


def test_reference_accuracies(tmp_path: Path, tiny: Callable[..., Spec]) -> None:
    """Those that a run reports; with v = .7 nobody can do better than .70."""
    spec = load_spec("rawhfl", RAW)
    metrics = run(spec, tmp_path / "run").metrics
    assert study("reference", spec) == {name: metrics[name] for name in ("bayes", "top_popular")}
    assert study("reference", load_spec("rawhfl/paper/z4", ["data.source.similarity=0.7"]))["bayes"] == pytest.approx(
        0.70, abs=0.02
    )
    assert study("reference", tiny()) == {"bayes": None, "top_popular": None}


def test_labels_are_those_of_a_run(tmp_path: Path) -> None:
    spec = load_spec("osafl", BUFFERS)
    run(spec, tmp_path / "run")
    last = list(open_run(tmp_path / "run").records("exchange"))[-1]["notes"]
    found = study("labels", spec)
    assert found["at"] == [1, 2, 3, 4]
    assert [sum(row) for row in found["shares"]] == pytest.approx([1.0] * 4)
    assert found["shares"][0] == sorted(found["shares"][0], reverse=True)
    assert found["top_start"] == pytest.approx(sum(found["shares"][0][:2]))
    assert found["top_end"] == pytest.approx(last["top_labels"][0])
    assert found["least_end"] == pytest.approx(last["least_labels"][0])
    assert found["shift"] == pytest.approx(np.mean(last["label_shift"]))


def test_labels_of_static_data_stay(tiny: Callable[..., Spec]) -> None:
    found = study("labels", tiny("rounds=9"))
    assert found["at"] == [1, 3, 4, 6, 7, 9]
    assert found["shift"] == 0.0
    assert found["top_start"] == found["top_end"]


def test_network_is_that_of_a_run(tmp_path: Path, cells: Callable[..., Spec]) -> None:
    run(cells(), tmp_path / "run")
    assert study("network", cells())["network"] == open_run(tmp_path / "run").network


def test_bound_without_errors_by_hand() -> None:
    """``L/2 (X d + Y)`` from ``d = 1000`` with eta = .05: X = .95, Y = .0025."""
    found = study("bound", load_spec("whfl/mnist/iid/ideal", ["rounds=3", "data.source=digits"]))
    assert found["x"] == [0, 1, 2, 3]
    assert found["y"][:2] == pytest.approx([5000.0, 5 * (0.95 * 1000 + 0.0025)])
    assert found["last"] == found["y"][-1]


def test_bound_over_two_hops_of_air() -> None:
    spec = load_spec("whfl/mnist/iid/i4", ["rounds=5", "data.source=digits"])
    found = study("bound", spec)
    assert found["x"] == [0, 4, 8, 12, 16, 20]
    topology = build(spec).topology
    (clients, edges, server), (parent, above) = topology.positions, topology.parents
    near = power_law().realise(edges, clients, parent, Rng(0)).gain
    far = power_law().realise(server, edges, above, Rng(0)).gain[0]
    eta, amplitude, edge = figure_4(5)
    printed = loss_33(Printed(near, far, iterations=4, d=650), eta, amplitude, edge)
    assert torch.tensor(found["y"]).double().allclose(printed)


def test_no_bound_of_one_hop_of_air() -> None:
    with pytest.raises(SpecError, match="two hops of air"):
        study("bound", load_spec("whfl/mnist/iid/flat", ["data.source=digits"]))
