"""The header of a run before it starts and its summary at the end, for the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.table import Table

from fedradio.core.units import show, show_seconds
from fedradio.runs.summary import Summary
from fedradio.spec.spec import Spec

if TYPE_CHECKING:
    from fedradio.rounds.simulation import Simulation


def simulation_lines(sim: Simulation, spec: Spec) -> list[str]:
    """Network, model and learning of a run, one line each."""
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
"""Names of reference metrics."""


def _metric(name: str, value: float) -> str:
    """A metric's value: losses and variates as numbers, all others in percent."""
    plain = name.endswith("loss") or name.startswith("variate")
    return f"{value:.4g}" if plain else _percent(value)


def _overhead(summary: Summary) -> str:
    """The share of the wall time that went into checkpoints."""
    if summary.checkpoint_s is None or summary.wall_s <= 0:
        return ""
    return f" ({100 * summary.checkpoint_s / summary.wall_s:.2g} % of it for checkpoints)"


def _clients(summary: Summary) -> str:
    """Mean clients of an edge round."""
    if summary.clients is None:
        return "-"
    text = f"{summary.clients:.3g} an edge round"
    if summary.arrived is not None and summary.arrived < summary.clients:
        text += f", {summary.arrived:.3g} arrived"
    return text if summary.eligible is None else f"{text}, {summary.eligible:.3g} eligible"


def _uplink(summary: Summary) -> str:
    """Bits of the uplink by hop, or channel uses."""
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
