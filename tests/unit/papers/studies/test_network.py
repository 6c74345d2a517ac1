"""Eligibility, stragglers, payloads and places, against runs and known numbers."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from support.studies import BUFFERS, RAW, study

from fedradio.results.run import open_run
from fedradio.runs.run import run
from fedradio.spec.spec import Spec, load_spec


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


def test_stragglers_of_a_run(tmp_path: Path) -> None:
    spec = load_spec("osafl", BUFFERS)
    run(spec, tmp_path / "run")
    active = open_run(tmp_path / "run").participation.active
    found = study("stragglers", spec)
    out = [[not active[t][client] for t in range(4)] for client in range(12)]
    assert found["share"] == pytest.approx(sum(sum(one) >= 2 for one in out) / 12)
    assert found["samples"] == [sum(one[t] for one in out) for t in range(4)]
    assert found["median_share"] == pytest.approx(float(np.median(found["samples"])) / 12)


@pytest.mark.wide
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


def test_network_is_that_of_a_run(tmp_path: Path, cells: Callable[..., Spec]) -> None:
    run(cells(), tmp_path / "run")
    assert study("network", cells())["network"] == open_run(tmp_path / "run").network
