"""A planned slot on a terminal."""

from collections.abc import Callable

from support.terminal import shown

from fedradio.report.terminal.slot_plan import cells_table, clients_table, compare_table, map_text, placement
from fedradio.rounds.planning import plan_slots
from fedradio.rounds.round import begin
from fedradio.spec.build import build
from fedradio.spec.spec import Spec, load_spec


def test_a_slot_for_people(cells: Callable[..., Spec]) -> None:
    """RawHFL's slot fits 80 columns, a network without radio shows dashes."""
    sim = build(load_spec("rawhfl", ["hops.0.policy.mode=paper"]))
    plan = next(plan_slots(sim, begin(sim), 1))
    text = shown(map_text(sim.topology, plan), clients_table(sim, plan), cells_table(sim, plan), width=80)
    lines = text.splitlines()
    assert max(map(len, lines)) <= 80
    places = placement(plan)
    drawn = "\n".join(lines[: next(i for i, line in enumerate(lines) if "selected" in line)])
    assert places.count("selected") == 16
    assert drawn.count("▲") == 4
    assert 0 < drawn.count("●") <= 16
    assert text.count("energy") == places.count("out")
    assert "…" not in text
    plain = build(cells())
    bare = shown(clients_table(plain, next(plan_slots(plain, begin(plain), 1))))
    assert " - " in bare
    table = shown(compare_table({"paper": (sim, plan, 1.0)}))
    assert "paper" in table
