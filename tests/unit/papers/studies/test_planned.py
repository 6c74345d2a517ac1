"""Edge rounds as they would be planned, for any number of rounds."""

from collections.abc import Callable

from fedradio.papers.studies import planned
from fedradio.papers.studies.planned import for_rounds, planned_rounds, planned_slots
from fedradio.spec.build import build
from fedradio.spec.spec import Spec, load_spec


def test_growing_requests_last_for_the_rounds() -> None:
    """Requests of a growing stream: those of the start, a slot's for every edge round, and one to predict."""
    spec = load_spec("rawhfl")
    stream, edge_rounds = spec.plain["data"]["stream"], spec.plain["hops"][0]["period"]
    longer = for_rounds(spec, 1000)
    assert longer.rounds == 1000
    wanted = stream["history"] + 1000 * edge_rounds * stream["slots"] + 1
    assert longer.plain["data"]["source"]["requests"] == wanted > spec.plain["data"]["source"]["requests"]
    assert for_rounds(spec, 1).plain["data"] == spec.plain["data"]


def test_other_data_stay_as_they_are(tiny: Callable[..., Spec]) -> None:
    longer = for_rounds(tiny(), 1000)
    assert longer.plain == tiny("rounds=1000").plain
    assert tiny().rounds == 2


def test_every_edge_round_is_planned_and_told(cells: Callable[..., Spec]) -> None:
    told: list[float] = []
    found = [(one.x.clock.t, one.x.clock.e) for one in planned_slots(build(cells()), 3, told.append)]
    assert found == [(t, e) for t in range(3) for e in range(2)]
    assert told == [n / 6 for n in range(1, 7)]


def test_the_plan_asked_for_last_is_kept(cells: Callable[..., Spec]) -> None:
    told: list[float] = []
    first = planned_rounds(cells(), 2, told.append)
    assert planned_rounds(cells("name=other"), 2, told.append) is first  # a name changes nothing
    assert len(told) == 4 + 2
    assert len(planned_rounds(cells(), 3, told.append)) == 6
    assert planned_rounds(cells("seed=9"), 2, told.append) is not first
    assert len(planned._last) == 1
