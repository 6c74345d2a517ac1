"""A federation that is interrupted or killed and served again: model and records equal those of one in one go."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.federations import Memory, federated, spec_of, trainers

from fedradio.core.contracts import RoundRecord, SimState
from fedradio.core.errors import StoreError
from fedradio.rounds.simulation import Simulation
from fedradio.runs.folder import RECORDS_FILE
from fedradio.runs.resume import resume
from fedradio.runs.run import Observer, run

SPEC = spec_of(algorithm={"kind": "scaffold"}, rounds=5)


class Stop(Observer):
    """Interrupts a run after round 2, as Ctrl-C does."""

    def advanced(self, state: SimState, record: RoundRecord) -> None:
        if state.t == 2:
            raise KeyboardInterrupt


def devices(folder: Path, **troubles: Any) -> Simulation:
    """The federation with devices that keep their state in a folder, started (again) now."""
    return federated(SPEC, Memory(trainers(SPEC, folder), **troubles))


def told(folder: Path) -> list[dict[str, Any]]:
    """The records without what is measured."""
    rows = [json.loads(line) for line in (folder / RECORDS_FILE).read_text().splitlines()]
    measured = ("wall_s", "measured_s", "train_s", "wire_bits")
    return [{key: value for key, value in row.items() if key not in measured} for row in rows]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run in one go, in which client 1 crashes in round 1: its upload does not count."""
    folder = tmp_path_factory.mktemp("whole")
    run(SPEC, folder / "run", simulation=devices(folder / "state", twists={(1, 2): lambda _: None}), keep=False)
    return folder / "run"


def same(folder: Path, whole: Path) -> None:
    assert (folder / "model.safetensors").read_bytes() == (whole / "model.safetensors").read_bytes()
    assert told(folder) == told(whole)


def test_an_interrupted_federation_goes_on(tmp_path: Path, whole: Path) -> None:
    sim = devices(tmp_path / "state", twists={(1, 2): lambda _: None})
    with pytest.raises(KeyboardInterrupt):
        run(SPEC, tmp_path / "run", simulation=sim, observer=Stop(), keep=False)
    sim.clients.close()  # type: ignore[union-attr]
    summary = resume(tmp_path / "run", simulation=devices(tmp_path / "state"), keep=False)
    assert (summary.status, summary.rounds) == ("complete", 5)
    same(tmp_path / "run", whole)


def test_a_federation_whose_server_dies_in_mid_round_goes_on(tmp_path: Path, whole: Path) -> None:
    """All devices have trained in round 3 when the server is killed: they do so again, and nothing counts twice."""

    def killed(_: bytes) -> bytes:
        raise SystemExit(9)

    sim = devices(tmp_path / "state", twists={(1, 2): lambda _: None, (2, 4): killed})
    with pytest.raises(SystemExit):
        run(SPEC, tmp_path / "run", simulation=sim, keep=False)
    resume(tmp_path / "run", simulation=devices(tmp_path / "state"), keep=False)
    same(tmp_path / "run", whole)


def test_only_its_own_devices_can_go_on_with_it(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        run(SPEC, tmp_path / "run", simulation=devices(tmp_path / "state"), observer=Stop(), keep=False)
    with pytest.raises(StoreError, match=r"real devices.*fedradio serve SPEC --out .* --resume"):
        resume(tmp_path / "run")
    other = devices(tmp_path / "other")
    other = replace(other, clients=replace(other.clients, run="another"))  # type: ignore[type-var]
    with pytest.raises(StoreError, match="not made with these devices"):
        resume(tmp_path / "run", simulation=other)
