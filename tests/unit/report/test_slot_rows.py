"""A planned edge round as flat rows."""

from __future__ import annotations

import pytest
import torch

from fedradio.report.slot_rows import cell_rows, client_rows, mode_row, objective_points, placement
from fedradio.rounds.accounts import planned_j
from fedradio.rounds.planning import plan_slots
from fedradio.rounds.round import begin
from fedradio.spec.build import build
from fedradio.spec.spec import load_spec


def test_rows_of_clients_and_cells_are_in_si_units() -> None:
    sim = build(load_spec("rawhfl", ["hops.0.policy.mode=paper"]))
    planned = next(plan_slots(sim, begin(sim), 1))
    rows = client_rows(sim, planned)
    fleet, joules = sim.hops[0].fleet, planned_j(planned)
    assert fleet is not None
    assert joules is not None
    assert [row["place"] for row in rows] == placement(planned)
    on = next(row for row in rows if row["place"] == "selected")
    assert on["cpu_hz"] == float(fleet.f_max_hz[on["client"]])  # the mode runs everybody at full speed
    assert on["power_w"] == float(fleet.p_max_w[on["client"]])
    assert on["joules"] == float(joules[on["client"]])
    assert on["reason"] is None
    out = next(row for row in rows if row["place"] == "out")
    assert (out["reason"], out["steps"], out["joules"]) == ("energy", None, None)
    cells = cell_rows(sim, planned)
    assert [cell["selected"] for cell in cells] == [4, 4, 4, 4]
    assert sum(cell["clients"] for cell in cells) == 48


def test_a_row_of_a_mode_has_objectives_beside_their_optima() -> None:
    sim = build(load_spec("osafl", ["hops.0.policy.mode=paper"]))
    planned = next(plan_slots(sim, begin(sim), 1))
    points = objective_points(sim, planned, epsilon=0.25)
    row = mode_row("paper", planned, 3.0, points)
    assert row["(5) at epsilon 0.25"] < row["(5) at epsilon 0.25, optimum"]
    assert row["joules"] == pytest.approx(float(planned_j(planned).sum()))  # type: ignore[union-attr]
    assert "(5) Mbit/J" not in row


def test_the_optimum_keeps_who_was_selected_before() -> None:
    sim = build(load_spec("rawhfl"))
    slots = plan_slots(sim, begin(sim), 1)
    first, second = next(slots), next(slots)
    right = objective_points(sim, second, first.x.alloc.active)
    wrong = objective_points(sim, second, torch.zeros(48, dtype=torch.bool))
    assert right[0].quantities == pytest.approx(right[1].quantities)
    assert wrong[1].quantities["(29)"] <= right[1].quantities["(29)"]  # type: ignore[operator]
