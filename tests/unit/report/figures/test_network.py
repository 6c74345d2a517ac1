"""Maps of networks."""

from fedradio.report.figures.network import network_map
from fedradio.report.slot_rows import placement
from fedradio.rounds.planning import plan_slots
from fedradio.rounds.round import begin
from fedradio.spec.build import build
from fedradio.spec.spec import load_spec


def test_the_map_names_the_selected_with_their_number() -> None:
    sim = build(load_spec("rawhfl", ["hops.0.policy.mode=paper"]))
    places = placement(next(plan_slots(sim, begin(sim), 1)))
    figure = network_map(sim.topology, places, "m")
    assert f"selected ({places.count('selected')})" in figure.axes[0].get_legend_handles_labels()[1]
    assert figure.axes[0].get_xlabel() == "x (m)"
