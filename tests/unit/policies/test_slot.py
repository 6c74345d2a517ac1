"""The slot problem as it is read from a view, and offers at given frequencies and powers."""

from dataclasses import replace

import pytest
from support.slots import one_client, rawhfl_view

from fedradio.core.contracts import Fleet, Reason
from fedradio.policies.slot import full_power_offer, slot_of


def test_the_fleet_of_a_slot_is_the_hops() -> None:
    v = rawhfl_view(0)
    assert isinstance(v.fleet, Fleet)
    assert slot_of(v).fleet is v.fleet


@pytest.mark.parametrize(
    ("deadline_s", "budget_j", "steps", "reason"),
    [
        (30.5, 9.0, 20, Reason.NONE),
        (30.5, 4.05, 10, Reason.NONE),
        (90.5, 9.0, 50, Reason.NONE),
        (10.5, 9.0, 0, Reason.DEADLINE),
        (30.5, 3.05, 0, Reason.ENERGY),
        (10.5, 3.05, 0, Reason.DEADLINE),
    ],
)
def test_the_most_steps_by_hand(deadline_s: float, budget_j: float, steps: int, reason: Reason) -> None:
    """The upload takes 10 s and 3 J, a step 1 s and .1 J: 30.5 s leave time for 20 steps, and 4.05 J energy for 10; at
    most 50 are allowed. Without time or energy for one step, the reason is the one that is short, time first."""
    slot = replace(slot_of(one_client(budget_j)), deadline_s=deadline_s)
    offer = full_power_offer(slot, 50)
    assert offer.steps.tolist() == [steps]
    assert offer.eligible.tolist() == [steps > 0]
    assert offer.reason.tolist() == [reason]
    assert offer.energy_j.tolist() == pytest.approx([3.0 + 0.1 * steps])
