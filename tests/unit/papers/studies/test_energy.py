"""Joules as planned, against runs and known numbers."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from support.studies import RAW, study

from fedradio.core.errors import SpecError
from fedradio.papers.studies.planned import ROUNDS
from fedradio.results.run import open_run
from fedradio.runs.run import run
from fedradio.spec.spec import Spec, load_spec


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


@pytest.mark.wide
def test_joules_of_everybody_are_those_of_forty_draws() -> None:
    """14991 +- 1044 J in 40 draws."""
    assert study("energy", load_spec("rawhfl/quick/ub"))["total_j"] == pytest.approx(14_991, abs=3 * 1044)


@pytest.mark.wide
def test_joules_of_four_clients_a_cell() -> None:
    """About 2750 J at full power, with any overlap."""
    found = study("energy", load_spec("rawhfl/paper/z4", ["hops.0.policy.mode=paper", "hops.0.policy.overlap=4"]))
    assert found["total_j"] == pytest.approx(2_750, rel=0.15)
    assert len(found["samples"]) == 400


def test_energy_with_the_optional_path_loss(monkeypatch: pytest.MonkeyPatch, tiny: Callable[..., Spec]) -> None:
    """That of a spec with nlos=optional: fewer joules, losses are smaller beyond 100 m; other channels have none."""
    monkeypatch.setattr("fedradio.papers.studies.energy.ROUNDS", 2)
    spec = load_spec("rawhfl/paper/ub")
    optional = study("energy_optional", spec)
    assert optional == study(
        "energy", load_spec("rawhfl/paper/ub", ["hops.0.channel={kind: urban_macro, nlos: optional}"])
    )
    assert optional["total_j"] < study("energy", spec)["total_j"]
    with pytest.raises(SpecError, match="optional path loss"):
        study("energy_optional", tiny())


def test_quick_joules_are_those_of_the_paper(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fedradio.papers.studies.energy.ROUNDS", 2)
    quick, paper = (study("energy", load_spec(f"rawhfl/{scale}/z4"))["samples"] for scale in ("quick", "paper"))
    assert quick == pytest.approx(paper, rel=1e-9)


def test_joules_need_a_fleet_and_a_rate(tiny: Callable[..., Spec]) -> None:
    for spec in (tiny(), load_spec("whfl")):
        with pytest.raises(SpecError, match="energy can be planned only"):
            study("energy", spec)
