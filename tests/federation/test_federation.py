"""One real federation: a server and three devices as processes, TLS and keys, and everything that goes wrong with them.

Client 0 is well, client 1 dies and is started again with its state, client 2 is late and sends garbage. Meanwhile come
a device with a wrong key, one with a wrong certificate, and twice twenty strange requests.
"""

from __future__ import annotations

import json
import secrets
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
import torch
from safetensors.torch import load_file
from support.patience import PATIENCE_S
from support.started import Started

from fedradio.core.contracts import ExchangeRecord, SimState
from fedradio.remote.flower.state import read_state
from fedradio.rounds.commit import Writes
from fedradio.rounds.evaluation import final_model
from fedradio.rounds.planning import Planned
from fedradio.rounds.round import begin, run_round
from fedradio.rounds.simulation import Simulation
from fedradio.rounds.tiers import Tier
from fedradio.rounds.work import SIMULATED, Updates
from fedradio.runs.records import read_records
from fedradio.spec.build import build
from fedradio.spec.spec import stored_spec

pytestmark = pytest.mark.federation

ROUNDS = 12
SPEC: dict[str, Any] = {
    "name": "federation",
    "seed": 1,
    "rounds": ROUNDS,
    "topology": {"kind": "flat", "clients": 3},
    "model": {"kind": "mlp", "hidden": [16]},
    "rule": {"kind": "sgd", "lr": 0.1, "batch": 16},
    "algorithm": {"kind": "scaffold"},
    "hops": [
        {
            "policy": {"kind": "fixed", "steps": 3},
            "channel": {"kind": "urban_macro"},
            "link": {"kind": "digital"},
            "fleet": {"kind": "cellular"},
            "deadline_s": 60.0,
        }
    ],
}
GARBAGE = {"1": "nan", "2": "shape", "3": "replay", "4": "noise", "5": "large", "7": "late"}
"""What client 2 does in which round."""


class Absent:
    """Clients of a simulation of whom those do not arrive that did not in the records of a run."""

    def __init__(self, records: list[ExchangeRecord]) -> None:
        self.records = records

    def __call__(self, sim: Simulation, state: SimState, tier: Tier, planned: Planned) -> tuple[Updates, Writes]:
        arrived = planned.airtime.arrived.clone()
        record = self.records[planned.x.clock.t]
        arrived[torch.tensor(record.ids)] &= torch.tensor(record.arrived)
        absent = replace(planned, airtime=replace(planned.airtime, arrived=arrived))
        return type(SIMULATED).work(SIMULATED, sim, state, tier, absent)


def simulated(
    folder: Path, records: list[ExchangeRecord], monkeypatch: pytest.MonkeyPatch
) -> tuple[Simulation, SimState]:
    """The same run as a simulation in which just those are missing who were missing."""
    sim = build(stored_spec(folder / "spec.yaml"), workers=1)
    monkeypatch.setattr(SIMULATED, "work", Absent(records))
    state = begin(sim)
    for _ in range(ROUNDS):
        state, _, _ = run_round(sim, state, evaluate=False)
    return sim, state


def strange_requests(started: Started) -> list[int]:
    """Twenty requests of somebody who has the authority's certificate and no key; their answers' status."""
    protobuf, fleet = {"content-type": "application/protobuf"}, "/v1/fleet/"
    paths = ["pull-messages", "push-messages", "activate-node", "register-node", "push-object", "get-run"]
    asked: list[tuple[str, bytes]] = [(fleet + path, secrets.token_bytes(64)) for path in paths]
    asked += [(fleet + path, b"") for path in paths]
    asked += [(fleet + "push-object", bytes(4_000_000)), (fleet + "../control/start-run", b"")]
    others = ["/v1/control/start-run", "/v1/control/register-node", "/v1/runtime/acquire-task", "/docs", "/", "/health"]
    asked += [(path, b"x") for path in others]
    assert len(asked) == 20
    with httpx.Client(verify=str(started.folder / "keys" / "ca.crt"), trust_env=False, timeout=PATIENCE_S) as client:
        url = f"https://127.0.0.1:{started.port}"
        return [client.post(url + path, content=body, headers=protobuf).status_code for path, body in asked]


def test_a_federation_with_everything_that_goes_wrong(started: Started, monkeypatch: pytest.MonkeyPatch) -> None:
    started.keys(4)
    assert (
        started.command("keys", "others", "--host", "localhost", "--nodes", "1", log="others.log").wait(PATIENCE_S) == 0
    )
    clients = started.folder / "keys" / "clients.json"
    listed = json.loads(clients.read_text())
    clients.write_text(json.dumps({number: listed[number] for number in "012"}))  # the server does not know key 3
    server = started.serve(SPEC, "--deadline", "30")
    started.wait_for("serve.log", "0 of 3 clients are connected")
    started.join(0)
    wrong_key = started.join(2, key="keys/node-3.key", log="wrong-key.log", state="state-x")
    wrong_ca = started.join(2, ca="others/ca.crt", log="wrong-ca.log", state="state-y")
    claimed = started.join(1, key="keys/node-2.key", log="claimed.log", state="state-z")  # with the key of client 2
    assert all(400 <= status < 500 for status in strange_requests(started))
    assert claimed.wait(PATIENCE_S) == 2
    assert "client 1: this device has the key of client 2" in started.text("claimed.log")
    assert "client 1: this device has the key of client 2" in started.text("serve.log")
    dying = started.misbehave(1, json.dumps({"6": "die"}))
    assert (wrong_key.wait(PATIENCE_S), wrong_ca.wait(PATIENCE_S)) == (1, 1)
    assert "does not know this device's key" in started.text("wrong-key.log")
    assert "certificate is not signed by --ca" in started.text("wrong-ca.log")
    started.wait_for("serve.log", "2 of 3 clients are connected")
    started.misbehave(2, json.dumps(GARBAGE))
    assert dying.wait(PATIENCE_S) == 9
    started.join(1, log="again.log")
    assert all(400 <= status < 500 for status in strange_requests(started))
    assert server.wait(PATIENCE_S) == 0, started.text("serve.log")

    records = list(read_records(started.folder / "run", ExchangeRecord))
    assert [record.t for record in records] == list(range(ROUNDS))
    assert [record.why[0] for record in records] == ["none"] * ROUNDS
    assert [record.why[2] for record in records[:6]] == ["none", *["crashed"] * 5]
    assert records[7].why[2] == "deadline"
    missing = [record.t for record in records if not record.arrived[1]]
    assert missing[0] == 6
    assert missing[-1] < ROUNDS - 1, "client 1 came back"
    assert "state_lost" not in records[-1].notes
    assert all(record.measured_s[0] > 0 for record in records if record.measured_s is not None)
    assert records[7].measured_s is not None
    assert records[7].measured_s[2] is None

    sim, state = simulated(started.folder / "run", records, monkeypatch)
    model = load_file(started.folder / "run" / "model.safetensors")
    assert all(torch.equal(vector, model[name]) for name, vector in final_model(sim, state).items())
    kept = [read_state(started.folder / f"state-{client}") for client in range(3)]
    c = torch.stack([pending.counted["c"] for pending in kept if pending is not None])
    server_c = state.memory.shared["c"]
    assert float((c.mean(dim=0) - server_c).norm() / server_c.norm()) < 1e-6
