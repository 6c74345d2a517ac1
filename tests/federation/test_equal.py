"""More real federations: one whose server is interrupted and killed, some that must equal the simulation bit for bit,
and one on samples of the devices' own."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.federations import spec_of
from support.patience import PATIENCE_S
from support.started import Started

from fedradio.core.contracts import EvaluationRecord, ExchangeRecord
from fedradio.core.rng import Rng
from fedradio.runs.records import read_records
from fedradio.runs.run import run
from fedradio.spec.spec import load_spec

pytestmark = pytest.mark.federation

SCAFFOLD = {"kind": "scaffold"}
SPECS: dict[str, dict[str, Any]] = {
    "fedavg": {},
    "kept momentum": {"rule": {"kind": "sgd", "lr": 0.05, "batch": 16, "momentum": 0.9, "keep_state": True}},
    "shared norms": {"model": {"kind": "cnn_batchnorm", "width": 4, "norms": "shared"}},
    "a small client": {
        "algorithm": SCAFFOLD,
        "rule": {"kind": "sgd", "lr": 0.1, "batch": 64},
        "data": {"source": {"kind": "synthetic_images", "samples": 30}},
    },
    "coded": {
        "algorithm": SCAFFOLD,
        "hops": [{"policy": {"kind": "fixed", "steps": 3}, "transforms": ["feedback", "top_k", "quantise"]}],
    },
}


@pytest.mark.parametrize("name", SPECS)
def test_a_real_federation_equals_the_simulation(name: str, started: Started) -> None:
    started.keys(3)
    server = started.serve(spec_of(**SPECS[name]).plain, "--deadline", "600")
    devices = [started.join(client) for client in range(3)]
    assert server.wait(PATIENCE_S) == 0, started.text("serve.log")
    assert [device.wait(PATIENCE_S) for device in devices] == [0, 0, 0]
    run(load_spec(started.folder / "spec.yaml", ["grouping=single"]), started.folder / "plain", workers=1)
    models = [(started.folder / run / "model.safetensors").read_bytes() for run in ("run", "plain")]
    assert models[0] == models[1]
    scores = [
        [record.metrics["loss"] for record in read_records(started.folder / run, EvaluationRecord)]
        for run in ("run", "plain")
    ]
    assert scores[0] == scores[1]


def test_a_server_that_is_interrupted_and_then_killed_goes_on(started: Started) -> None:
    """Ctrl-C after some rounds, --resume, kill -9, --resume: the model is that of a simulation in one go.

    Devices end with the server that is interrupted and are started again; they wait for the one that is killed.
    """
    started.keys(3)
    plain = spec_of(algorithm=SCAFFOLD, rounds=16).plain
    server, devices = started.serve(plain, "--deadline", "600"), [started.join(client) for client in range(3)]
    checkpoints = started.folder / "run" / "checkpoints"  # which holds the last two
    started.wait_until(lambda: any(path.stem >= "round-000003" for path in checkpoints.glob("*.json")))
    server.send_signal(signal.SIGINT)
    assert server.wait(PATIENCE_S) == 130
    assert "--resume" in started.text("serve.log")
    assert [device.wait(PATIENCE_S) for device in devices] == [0, 0, 0]
    server = started.serve(plain, "--deadline", "600", "--resume")
    devices = [started.join(client) for client in range(3)]
    started.wait_until(lambda: any(path.stem >= "round-000008" for path in checkpoints.glob("*.json")))
    server.kill()
    server.wait(PATIENCE_S)
    server = started.serve(plain, "--deadline", "600", "--resume")
    assert server.wait(PATIENCE_S) == 0, started.text("serve.log")
    assert [device.wait(PATIENCE_S) for device in devices] == [0, 0, 0]
    records = list(read_records(started.folder / "run", ExchangeRecord))
    assert [record.t for record in records] == list(range(16))
    assert all(record.arrived == [True] * 3 for record in records)
    run(load_spec(started.folder / "spec.yaml", ["grouping=single"]), started.folder / "plain", workers=1)
    models = [(started.folder / run / "model.safetensors").read_bytes() for run in ("run", "plain")]
    assert models[0] == models[1]


def arrays(folder: Path, number: int, classes: list[int]) -> None:
    """Samples of a device: noisy templates of some of ten classes."""
    draw = Rng(number).numpy()
    templates = Rng(99).numpy().normal(size=(10, 1, 8, 8))
    folder.mkdir()
    for name, size in (("train", 60), ("test", 30)):
        y = draw.choice(classes, size)
        x = templates[y % 10] + 0.5 * draw.normal(size=(size, 1, 8, 8))
        np.savez(folder / f"{name}.npz", x=x.astype(np.float32), y=y)


def test_devices_with_samples_of_their_own(started: Started) -> None:
    started.keys(3)
    for number, classes in enumerate(([0, 1, 2, 3], [3, 4, 5, 6], [6, 7, 8, 9])):
        arrays(started.folder / f"data-{number}", number, classes)
    arrays(started.folder / "wrong", 5, [0, 12])
    data = {"source": {"kind": "own", "shape": [1, 8, 8], "classes": 10}}
    server = started.serve(spec_of(data=data, rounds=15).plain, "--deadline", "600")
    given = ["--ca", "keys/ca.crt"]
    where = ["join", started.address]
    bad = started.command(*where, "--client", "0", "--key", "keys/node-0.key", *given, "--data", "wrong", log="bad.log")
    assert bad.wait(PATIENCE_S) == 4
    assert "label 12 on this device" in started.text("bad.log")
    for number in range(3):
        own = ["--client", str(number), "--key", f"keys/node-{number}.key", "--data", f"data-{number}"]
        started.command(*where, *given, *own, log=f"join-{number}.log")
    assert server.wait(PATIENCE_S) == 0, started.text("serve.log")
    scores = [record.metrics["accuracy"] for record in read_records(started.folder / "run", EvaluationRecord)]
    assert scores[-1] > 0.8
    assert all(record.arrived == [True] * 3 for record in read_records(started.folder / "run", ExchangeRecord))
