"""Tables for the terminal."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any, Literal, get_args, get_origin

from rich.table import Table
from rich.text import Text

from fedradio.core.errors import Problem
from fedradio.core.registry import Parameter, Part
from fedradio.core.units import show, show_seconds
from fedradio.experiment.run import Summary
from fedradio.experiment.spec import Spec
from fedradio.rounds.simulation import Simulation


def parts_table(found: Sequence[Part]) -> Table:
    """Every part with one line."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("family", "kind", "what it is"):
        table.add_column(column, overflow="fold")
    last = ""
    for part in found:
        table.add_row(part.family if part.family != last else "", part.kind, Text(part.summary.replace("``", "")))
        last = part.family
    return table


def parameters_table(part: Part) -> Table:
    """A part's keywords: type, default, unit, bounds, meaning."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("keyword", "type", "default", "unit", "bounds", "meaning"):
        table.add_column(column, overflow="fold")
    for parameter in part.parameters():
        table.add_row(
            parameter.name,
            Text(type_name(parameter.annotation)),
            Text(default_text(parameter)),
            parameter.arg.unit or "",
            parameter.arg.bounds(),
            Text(parameter.arg.doc),
        )
    return table


def type_name(annotation: Any) -> str:
    """A type as people write it in a spec."""
    if get_origin(annotation) is Literal:
        return " | ".join(map(str, get_args(annotation)))
    if get_origin(annotation) is tuple:
        inner = [type_name(item) for item in get_args(annotation) if item is not Ellipsis]
        return f"[{inner[0]}, ...]" if Ellipsis in get_args(annotation) else f"[{', '.join(inner)}]"
    if get_args(annotation):
        return " | ".join(type_name(item) for item in get_args(annotation))
    if annotation is type(None):
        return "null"
    return annotation.__name__ if inspect.isclass(annotation) else str(annotation)


def default_text(parameter: Parameter) -> str:
    if parameter.required:
        return "required"
    value = parameter.default
    if value is None:
        return "null"
    if isinstance(value, tuple):
        return "[" + ", ".join(f"{item:g}" if isinstance(item, float) else str(item) for item in value) + "]"
    return f"{value:g}" if isinstance(value, float) else str(value).lower() if isinstance(value, bool) else str(value)


def problems_table(problems: Sequence[Problem]) -> Table:
    """What is wrong with a spec: one row a problem."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("where", "what is wrong", "given", "what would work"):
        table.add_column(column, overflow="fold")
    for problem in problems:
        given = "" if problem.value is None else repr(problem.value)
        given = given if len(given) <= 60 else given[:60] + "..."
        table.add_row(*map(Text, (problem.path, problem.reason, given, problem.remedy)))
    return table


def simulation_lines(sim: Simulation, spec: Spec) -> list[str]:
    """What is about to run, in three lines."""
    topology = sim.topology
    tiers = " -> ".join(
        f"{len(positions)} {name}" for positions, name in zip(topology.positions, _tier_names(sim), strict=True)
    )
    kinds = ", ".join(hop["link"]["kind"] for hop in spec.plain["hops"][: len(sim.hops)])
    periods = " x ".join(str(hop.period) for hop in reversed(sim.hops))
    network = f"{tiers}; links {kinds}; exchanges a round {periods}"
    return [
        f"network   {network if sim.algorithm.pooling is None else 'none: all data in one place'}",
        f"model     {sim.model.shared.size:,} shared parameters"
        + (f" and {sim.model.local.size + sim.model.buffers.size:,} local" if sim.model.local.size else ""),
        f"learning  {spec.plain['algorithm']['kind']}, {sim.rule.optimiser}, rate {sim.rule.lr:g}, "
        f"batch {sim.rule.batch}",
    ]


def summary_table(summary: Summary) -> Table:
    """The headline numbers of a run; a dash is a quantity that no part defines."""
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(style="bold")
    table.add_column()
    rows = {
        "accuracy": _percent(summary.accuracy),
        "best accuracy": f"{_percent(summary.best_accuracy)} (round {summary.best_round})",
        "test loss": "-" if summary.loss is None else f"{summary.loss:.4f}",
    }
    extra = {name: value for name, value in summary.metrics.items() if name not in ("accuracy", "loss")}
    rows |= {WORDS.get(name, name.replace("_", " ")): _metric(name, value) for name, value in extra.items()}
    each = None if summary.energy_j is None or not summary.rounds else summary.energy_j / summary.rounds
    rows |= {
        "rounds": str(summary.rounds),
        "clients": _clients(summary),
        "simulated time": show_seconds(summary.time_s),
        "energy": show(summary.energy_j, "J") + ("" if each is None else f" ({show(each, 'J')} a round)"),
        "uplink": _uplink(summary),
        "wall time": show_seconds(summary.wall_s) + _overhead(summary),
        "disk": show(summary.disk_bytes, "B"),
        "peak memory": show(summary.memory_bytes, "B"),
        "seed": str(summary.seed),
    }
    for name, value in rows.items():
        table.add_row(name, value)
    return table


WORDS = {"bayes": "Bayes ceiling, expected", "top_popular": "Top-Popular"}
"""Metrics that have a name of their own."""


def _metric(name: str, value: float) -> str:
    plain = name.endswith("loss") or name.startswith("variate")
    return f"{value:.4g}" if plain else _percent(value)


def _overhead(summary: Summary) -> str:
    """The share of the wall time that went into checkpoints."""
    if summary.checkpoint_s is None or summary.wall_s <= 0:
        return ""
    return f" ({100 * summary.checkpoint_s / summary.wall_s:.2g} % of it for checkpoints)"


def _clients(summary: Summary) -> str:
    if summary.clients is None:
        return "-"
    text = f"{summary.clients:.3g} an edge round"
    if summary.arrived is not None and summary.arrived < summary.clients:
        text += f", {summary.arrived:.3g} arrived"
    return text if summary.eligible is None else f"{text}, {summary.eligible:.3g} eligible"


def _uplink(summary: Summary) -> str:
    if summary.uses is not None:
        side = "" if summary.bits is None else f", {show(summary.bits, 'bit')} beside"
        return f"{summary.uses:,.0f} channel uses{side}"
    if len(summary.hop_bits) != 2:
        return show(summary.bits, "bit")
    access, backhaul = summary.hop_bits
    return f"{show(access, 'bit')} access, {show(backhaul, 'bit')} backhaul"


def _tier_names(sim: Simulation) -> list[str]:
    middle = len(sim.topology.positions) - 2
    between = ["edges"] if middle == 1 else [f"tier-{i + 1} nodes" for i in range(middle)]
    return ["clients", *between, "server"]


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.2f} %"
