"""A planned slot on a terminal."""

from collections.abc import Callable

from support.terminal import shown

from fedradio.report.slot_rows import cell_rows, client_rows, mode_row, objective_points, placement
from fedradio.report.terminal.slot_plan import columns_table, rows_table
from fedradio.rounds.planning import plan_slots
from fedradio.rounds.round import begin
from fedradio.spec.build import build
from fedradio.spec.spec import Spec, load_spec


def test_a_slot_for_people(cells: Callable[..., Spec]) -> None:
    """RawHFL's slot fits 80 columns, a network without radio shows dashes."""
    sim = build(load_spec("rawhfl", ["hops.0.policy.mode=paper"]))
    plan = next(plan_slots(sim, begin(sim), 1))
    text = shown(rows_table(client_rows(sim, plan)), rows_table(cell_rows(sim, plan)), width=80)
    lines = text.splitlines()
    assert max(map(len, lines)) <= 80
    places = placement(plan)
    assert places.count("selected") == 16
    for place, line in zip(places, lines[1 : 1 + len(places)], strict=True):
        words = {"selected": " selected", "eligible": " not selected", "out": " energy"}
        assert words[place] in line
        assert (place == "selected") == (len(line.split()) == 10)
    assert text.count("energy") == places.count("out")
    assert "…" not in text
    plain = build(cells())
    bare = shown(rows_table(client_rows(plain, next(plan_slots(plain, begin(plain), 1)))))
    assert " - " in bare


def test_every_quantity_has_one_unit_and_a_line_in_any_terminal() -> None:
    found = []
    for mode in ("paper", "optimal"):
        sim = build(load_spec("rawhfl", [f"hops.0.policy.mode={mode}"]))
        plan = next(plan_slots(sim, begin(sim), 1))
        found.append((sim, plan, objective_points(sim, plan)))
    rows = [mode_row(mode, plan, 1.0, points) for mode, (_, plan, points) in zip("po", found, strict=True)]
    head, *lines = shown(columns_table("mode", {row.pop("mode"): row for row in rows}), width=80).splitlines()
    assert head.split() == ["mode", "p", "o"]
    titles = [line.rsplit(maxsplit=2)[0].strip() for line in lines]  # two numbers alone stand behind them
    for title in ("CPU MHz", "power dBm", "J", "planning ms", "(28) 1/steps", "(29), optimum"):
        assert title in titles
    head, *lines = shown(
        columns_table("objective", {point.name: point.quantities for point in found[1][2]}), width=80
    ).splitlines()
    assert head.split(maxsplit=1)[1].split() == ["chosen", "optimum", "of", "(29)", "optimum", "of", "(28)"]
    assert [line.rsplit(maxsplit=3)[0].strip() for line in lines] == ["clients", "steps", "J", "(28) 1/steps", "(29)"]
    for line in lines:
        chosen, best, _ = line.split()[-3:]
        assert chosen == best  # mode optimal
    plain = build(load_spec("demo"))
    assert objective_points(plain, next(plan_slots(plain, begin(plain), 1))) == []
