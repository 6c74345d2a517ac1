"""``fedradio plan``: shows one planned edge round of a spec, without learning."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from fedradio.cli.app import Overrides, PartFiles, SpecArgument, one_command, out
from fedradio.core.errors import Problem, SpecError
from fedradio.papers.studies import air
from fedradio.report.figures.axes import save
from fedradio.report.figures.network import network_map
from fedradio.report.terminal import slot_plan as plan_report
from fedradio.report.terminal.air import error_table, shares_table
from fedradio.report.terminal.console import say
from fedradio.rounds.planning import Planned, plan_slots
from fedradio.rounds.round import begin
from fedradio.rounds.simulation import Simulation
from fedradio.spec.build import build
from fedradio.spec.spec import Spec, load_spec

app = one_command()


@app.command()
def plan(
    spec: SpecArgument,
    overrides: Overrides = None,
    slot: Annotated[int, typer.Option(min=0, help="which edge round to show, from 0")] = 0,
    compare: Annotated[str | None, typer.Option(help="modes of the policy, such as paper,optimal")] = None,
    parts: PartFiles = None,
    figure: Annotated[Path | None, typer.Option(help="also draw the map into this PNG or PDF")] = None,
) -> None:
    """Show one slot of the network without learning: map, who is eligible and why not, steps, CPU, power, joules."""
    if figure is not None and (figure.suffix.lower() not in (".png", ".pdf") or not figure.parent.is_dir()):
        raise SpecError(
            Problem("--figure", "not a file that can be drawn", "a .png or .pdf in a folder that exists", figure.name)
        )
    checked = load_spec(spec, overrides or ())
    policy = checked.plain["hops"][0]["policy"]
    kind = policy["kind"]
    if compare is not None and "mode" not in policy:
        raise SpecError(Problem("--compare", f"policy {kind} has no modes", "add hops.0.policy=joint", kind))
    edge_rounds = checked.rounds * checked.edge_rounds
    if slot >= edge_rounds:
        raise SpecError(Problem("--slot", f"the run has {edge_rounds} edge rounds", f"0 to {edge_rounds - 1}", slot))
    if compare is not None:
        specs = {
            mode: load_spec(spec, [*(overrides or ()), f"hops.0.policy.mode={mode}"]) for mode in compare.split(",")
        }
        out.print(plan_report.compare_table({mode: _planned(by_mode, slot) for mode, by_mode in specs.items()}))
        return
    sim, planned, _ = _planned(checked, slot)
    say(out, (checked.name, "bold"), f"  edge round {slot}, policy {kind}")
    out.print(plan_report.map_text(sim.topology, planned))
    out.print(plan_report.cells_table(sim, planned))
    out.print(plan_report.clients_table(sim, planned))
    if air.is_air(sim) and (reason := air.unforeseen(sim, planned)):
        say(out, f"shares and error of the air are in the records of a run; {reason} they are not known before it")
    elif air.is_air(sim):
        out.print(shares_table(sim, planned))
        out.print(error_table(sim, planned))
    if figure is not None:
        try:
            save(network_map(sim.topology, plan_report.placement(planned)), figure)
        except (OSError, ValueError) as error:
            raise SpecError(Problem("--figure", f"cannot be drawn: {error}", "a PNG or PDF", figure.name)) from None
        say(out, f"map: {figure}")


def _planned(spec: Spec, slot: int) -> tuple[Simulation, Planned, float]:
    """The simulation, its planned edge round ``slot``, and the milliseconds that planning took."""
    sim = build(spec)
    slots = plan_slots(sim, begin(sim), slot // sim.edge_rounds + 1)
    for _ in range(slot):
        next(slots)
    began = time.perf_counter()
    planned = next(slots)
    return sim, planned, 1e3 * (time.perf_counter() - began)
