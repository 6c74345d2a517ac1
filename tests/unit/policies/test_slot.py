"""The slot problem as it is read from a view."""

from support.slots import rawhfl_view

from fedradio.core.contracts import Fleet
from fedradio.policies.slot import slot_of


def test_the_fleet_of_a_slot_is_the_hops() -> None:
    v = rawhfl_view(0)
    assert isinstance(v.fleet, Fleet)
    assert slot_of(v).fleet is v.fleet
