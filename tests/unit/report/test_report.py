import io
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import pytest
from PIL import Image
from rich.console import Console

from fedradio.core.errors import Problem
from fedradio.core.registry import part
from fedradio.report.figures.axes import COLOURS, save
from fedradio.report.figures.lines import curves
from fedradio.report.figures.network import network_map
from fedradio.report.terminal import progress as progress_module
from fedradio.report.terminal.catalog import default_text, problems_table, type_name
from fedradio.report.terminal.run_progress import RunProgress
from fedradio.report.terminal.slot_plan import cells_table, clients_table, compare_table, map_text, placement
from fedradio.report.terminal.summary import summary_table
from fedradio.rounds.exchange import plan_slots
from fedradio.rounds.round import begin
from fedradio.runs import estimate
from fedradio.runs.run import run
from fedradio.spec.build import build
from fedradio.spec.spec import Spec, load_spec


def shown(*things: object, width: int = 120) -> str:
    console = Console(file=io.StringIO(), width=width)
    console.print(*things)
    text: str = console.file.getvalue()  # type: ignore[attr-defined]
    return text


def test_undefined_quantities_are_dashes(tiny: Callable[..., Spec], cells: Callable[..., Spec]) -> None:
    without, having = shown(summary_table(run(tiny()))), shown(summary_table(run(cells())))
    assert [line.split()[-1] for line in without.splitlines() if line.startswith(("simulated", "energy"))] == ["-", "-"]
    assert " s" in next(line for line in having.splitlines() if line.startswith("simulated"))
    assert "J" in next(line for line in having.splitlines() if line.startswith("energy"))


def test_types_and_defaults_for_people() -> None:
    assert type_name(int | tuple[int, int] | None) == "int | [int, int] | null"
    assert type_name(tuple[int, ...]) == "[int, ...]"
    assert type_name(Literal["a", "b"]) == "a | b"
    defaults = {p.name: default_text(p) for p in part("rule", "adam").parameters()}
    assert defaults["eps"] == "1e-07"
    assert defaults["keep_state"] == "true"
    assert {p.name: default_text(p) for p in part("schedule", "step").parameters()}["at"] == "required"


def test_problems_show_markup_as_it_is() -> None:
    text = shown(problems_table([Problem("a[0]", "[red]bad[/red]", "use [1, 2]", "x" * 200)]))
    assert "[red]bad[/red]" in text
    assert "use [1, 2]" in text
    assert "..." in text


def test_plain_lines_when_it_is_no_terminal(cells: Callable[..., Spec], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress_module, "estimate_s", lambda *_: 3700.0)
    console = Console(file=io.StringIO(), width=120)
    with RunProgress(console) as watch:
        run(cells("rounds=3", "hops.0.deadline_s=100"), observer=watch)
    text: str = console.file.getvalue()  # type: ignore[attr-defined]
    assert "\x1b" not in text
    for words in (
        "6 clients -> 2 edges -> 1 server",
        "round 3/3",
        "accuracy",
        "warning",
        "about 1 h 1 min for 3 rounds",
    ):
        assert words in text


def test_a_live_bar_on_a_terminal(tiny: Callable[..., Spec]) -> None:
    console = Console(file=io.StringIO(), width=120, force_terminal=True)
    with RunProgress(console) as watch:
        run(tiny(), observer=watch)
        assert watch.bar is not None
        assert watch.bar.tasks[0].completed == 2


def test_the_estimate_grows_with_the_work_and_changes_nothing(tiny: Callable[..., Spec]) -> None:
    sim = build(tiny("hops.0.policy.steps=50"))
    few, many = estimate.estimate_s(sim, 10, 1), estimate.estimate_s(sim, 1000, 1)
    assert 0 < few < many
    assert run(tiny(), simulation=build(tiny())).accuracy == run(tiny()).accuracy


def test_figures_are_pictures(tmp_path: Path) -> None:
    figure = curves({"fedavg": ([1, 2], [3, 4]), "other": ([1, 2], [2, 5])}, "x", "y", "title")
    assert figure.axes[0].lines[0].get_color() == COLOURS["fedavg"]
    assert [text.get_text() for text in figure.axes[0].get_legend().get_texts()] == ["fedavg", "other"]
    for ending in ("png", "pdf"):
        save(figure, tmp_path / "new" / f"a.{ending}")
        assert (tmp_path / "new" / f"a.{ending}").stat().st_size > 1000
    assert Image.open(tmp_path / "new" / "a.png").size[0] == round(3.5 * 1.6 * 200)


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
    figure = network_map(sim.topology, places)
    assert f"selected ({places.count('selected')})" in figure.axes[0].get_legend_handles_labels()[1]
