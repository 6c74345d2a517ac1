"""Measured gains in whole runs: the file's checksum is on record, and a run goes on with the same file only."""

import json
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import pytest
from support.batches import made

from fedradio import resume, run
from fedradio.core.contracts import RoundRecord, SimState
from fedradio.core.errors import FedradioError
from fedradio.runs.run import Observer
from fedradio.spec.spec import Spec


class StopAfterTwo(Observer):
    """Interrupts a run after two rounds."""

    def advanced(self, state: SimState, record: RoundRecord) -> None:
        if state.t == 2:
            raise KeyboardInterrupt


def test_a_run_with_measured_gains(tiny: Callable[..., Spec], tmp_path: Path) -> None:
    file = tmp_path / "gains.csv"
    rows = [f"{t},0,{client},{-90 - client - t}" for t in (0, 2) for client in range(6)]
    file.write_text("\n".join(["time_s,receiver,sender,gain_db", *rows, ""]))
    radio = {"link": "digital", "channel": {"kind": "trace", "path": str(file), "interval_s": 1}, "fleet": "cellular"}
    spec = tiny(f"hops=[{json.dumps(radio)}]", "rounds=4")
    run(spec, tmp_path / "whole")
    with pytest.raises(KeyboardInterrupt):
        run(spec, tmp_path / "cut", observer=StopAfterTwo())
    stored = (tmp_path / "cut" / "environment.json").read_text()
    assert json.loads(stored)["files"] == {str(file): sha256(file.read_bytes()).hexdigest()}
    text = file.read_text()
    file.write_text(text.replace("2,0,3,-95", "2,0,3,-94"))
    with pytest.raises(FedradioError, match="is not the file that this run was made with"):
        resume(tmp_path / "cut")
    file.write_text(text)
    resume(tmp_path / "cut")
    assert made(tmp_path / "cut") == made(tmp_path / "whole")
