"""Published tables and figures that can be made again: what there is, what it costs, what a call would make."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from rich.console import Group
from rich.table import Table
from rich.text import Text

from fedradio.papers.items import Item, Scale
from fedradio.papers.make import Trouble
from fedradio.papers.plan import Cost, Reproduction, Unit
from fedradio.papers.published import PAPERS

SCALES: tuple[Scale, ...] = ("quick", "paper")


def list_view(listed: Sequence[tuple[Item, Mapping[Scale, Cost]]], out: Path) -> Group:
    """Every item with seeds, expected wall time and what is there, at both scales."""
    table = plain_table(("paper", "item", "what it shows", "quick", "", "paper scale", ""))
    last = ""
    for item, costs in listed:
        texts = [text for scale in SCALES for text in _cost_words(item, scale, costs[scale])]
        table.add_row(*map(Text, (PAPERS[item.paper] if item.paper != last else "", item.name, item.title, *texts)))
        last = item.paper
    words = f"wall time on two cores, what is there in {out}/; make one: fedradio reproduce PAPER ITEM [--scale paper]"
    return Group(table, Text(words))


def _cost_words(item: Item, scale: Scale, cost: Cost) -> tuple[str, str]:
    """What a scale takes, and what is there of it."""
    if not cost.units:
        return "-", "not run"
    takes = f"{rough(cost.total_s)}, {count(item.size(scale).seeds, 'seed')}"
    if cost.done == cost.units:
        return takes, "done"
    return takes, f"{cost.done} of {cost.units}, {rough(cost.left_s)} left" if cost.done else ""


def rough(seconds: float) -> str:
    """An expected duration: nobody knows the seconds of an hour."""
    for limit, unit, word in ((90, 1, "s"), (90 * 60, 60, "min"), (72 * 3600, 3600, "h")):
        if seconds < limit:
            return f"{max(1, round(seconds / unit))} {word}"
    return f"{round(seconds / 86400)} days"


def plan_view(plan: Reproduction, wall_s: Mapping[Path, float], blocked: Mapping[Path, Trouble]) -> Group:
    """What a call would make, without making it."""
    table = plain_table(("run or study", "state", "expected"))
    for unit in plan.units:
        state = blocked[unit.path].why if unit.path in blocked else _state(unit)
        table.add_row(Text(unit.label), Text(state), "-" if unit.path in blocked else rough(wall_s[unit.path]))
    skipped = [
        Text(f"{line.row.label}: not run at {plan.scale}: {line.source.skip}")
        for line in plan.lines
        if line.source.skip
    ]
    left = [wall_s[unit.path] for unit in plan.units if not unit.settled() and unit.path not in blocked]
    total = f"{len(left)} to be made, about {rough(sum(left))}" if left else "nothing to be made"
    whole = [table] if plan.units else []
    return Group(heading(plan.item), *whole, *skipped, Text(f"{total}; folder {plan.folder}"))


def _state(unit: Unit) -> str:
    stored = unit.stored()
    if stored is None:
        return "to be made"
    return "there" if stored.status == "complete" else stored.status


def heading(item: Item) -> Text:
    return Text.assemble((f"{PAPERS[item.paper]} {item.name}", "bold"), f"  {item.title}")


def plain_table(header: Sequence[str]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in header:
        table.add_column(name, overflow="fold")
    return table


def count(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"
