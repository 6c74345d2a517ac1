"""Sparse records of every shipped family are, made dense, the rows of all senders."""

from typing import Any

import pytest
import torch
from torch import Tensor

from fedradio import begin, build, load_spec, run_round
from fedradio.core.contracts import ExchangeRecord, Reason
from fedradio.rounds import accounts
from fedradio.rounds.merge import MergeResult
from fedradio.rounds.planning import Planned
from fedradio.rounds.simulation import Simulation
from fedradio.rounds.work import Updates

Row = dict[str, Any]


def dense_row(planned: Planned, merged: MergeResult) -> Row:
    """The row of an exchange with a value for every sender, straight from the tensors."""
    alloc, airtime = planned.x.alloc, planned.airtime

    def of_all(values: Tensor | None) -> list[float] | None:
        return None if values is None else torch.where(alloc.active, values.double(), 0.0).tolist()

    reason = torch.where(alloc.active, airtime.reason, alloc.reason)
    return {
        "active": alloc.active.tolist(),
        "arrived": airtime.arrived.tolist(),
        "reason": [Reason(number).name.lower() for number in reason.tolist()],
        "steps": alloc.steps.tolist(),
        "cpu_hz": of_all(alloc.cpu_hz),
        "power_w": of_all(alloc.power_w),
        "seconds": of_all(airtime.done_s),
        "effective": merged.effective,
    }


FAMILIES = {
    "demo": (["rule.batch=16"], {"all"}),
    "rawhfl": (["hops.0.policy.max_steps=1", "hops.0.fleet.energy_j=[0.0, 0.05]"], {"some"}),
    "rawhfl/quick/m1": (["hops.0.policy.max_steps=1"], {"none"}),
    "osafl": (["topology.clients=12", "hops.0.policy.max_steps=1", "hops.0.fleet.energy_j=[0.0, 0.02]"], {"some"}),
    "whfl": (["hops.0.policy.steps=1"], {"all"}),
    "fedcpsl": ([], {"some"}),
}
"""Specs, what makes them quick, and who must have been active in some exchange for the test to be worth anything."""


@pytest.mark.parametrize("name", FAMILIES)
def test_dense_records_are_the_rows_of_all_senders(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    real, seen = accounts.exchange_record, list[tuple[ExchangeRecord, Row]]()

    def spied(
        sim: Simulation, planned: Planned, updates: Updates, merged: MergeResult, times: Tensor | None
    ) -> ExchangeRecord:
        record = real(sim, planned, updates, merged, times)
        seen.append((record, dense_row(planned, merged)))
        return record

    monkeypatch.setattr(accounts, "exchange_record", spied)
    changes, wanted = FAMILIES[name]
    sim = build(load_spec(name, changes))
    state = begin(sim)
    for _ in range(2):
        state, _, _ = run_round(sim, state, evaluate=False)
    found = set()
    for record, row in seen:
        senders = sim.topology.senders(record.hop)
        dense = record.dense(senders)
        assert {key: getattr(dense, key) for key in row} == row
        if record.hop == 0:
            found.add("none" if not record.ids else "all" if len(record.ids) == senders else "some")
        assert len(record.ids) + sum(map(len, record.idle.values())) <= senders
    assert wanted <= found


def test_several_reasons_at_once() -> None:
    """Clients without energy beside clients that were not chosen: one reason is named once, the other lists its own."""
    sim = build(load_spec("rawhfl", ["hops.0.policy.max_steps=1", "hops.0.fleet.energy_j=[0.0, 0.05]"]))
    _, _, exchanges = run_round(sim, begin(sim), evaluate=False)
    reasons = [{record.rest, *record.idle} for record in exchanges if record.hop == 0]
    assert any(len(each) > 1 for each in reasons)
