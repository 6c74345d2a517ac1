"""``fedradio plan``: plan one edge round of a spec without training."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fedradio.cli.app import one_command, out
from fedradio.cli.options import Overrides, PartFiles, SpecArgument, figure_option, json_option, quiet_option
from fedradio.core.errors import Problem, SpecError
from fedradio.report.lengths import length_unit
from fedradio.report.terminal import slot_plan as plan_report
from fedradio.report.terminal.console import say
from fedradio.spec.spec import Spec, check_spec, load_spec

app = one_command()


if TYPE_CHECKING:
    from fedradio.policies.objectives import Point
    from fedradio.rounds.planning import Planned
    from fedradio.rounds.simulation import Simulation

    Slotted = tuple[Simulation, Planned, list[Point], float]
    """A simulation, its planned edge round, the objectives of its problem, and the planning time in milliseconds."""

FLEET_VALUES = (
    "cycles_per_bit is the spec's, if a fleet has this keyword; all other values, also the energy budget, are the "
    "defaults of each fleet, or the spec's own for the fleet that it names"
)
"""Which values hold for the fleets of ``--fleet``."""


@app.command()
def plan(
    spec: SpecArgument,
    overrides: Overrides = None,
    slot: Annotated[int, typer.Option(min=0, help="edge round to plan, starting at 0")] = 0,
    compare: Annotated[
        str | None, typer.Option(help="compare these modes of the policy, such as paper,optimal")
    ] = None,
    fleet: Annotated[
        str | None,
        typer.Option(
            help="compare these fleets on hop 0, such as handset,cellular; cycles_per_bit is the spec's on all of "
            "them, everything else, also the energy budget, is the default of each fleet"
        ),
    ] = None,
    parts: PartFiles = None,
    epsilon: Annotated[
        float, typer.Option(min=0, max=1, help="weight in OSAFL's objective (5); the paper does not state its value")
    ] = 0.5,
    figure: Annotated[
        Path | None,
        figure_option("the map of the network"),
    ] = None,
    as_json: Annotated[bool, json_option("everything, in SI units,")] = False,
    quiet: Annotated[bool, quiet_option("cells and objectives")] = False,
) -> None:
    """Plan one slot without training: which clients are eligible and why, local steps, CPU, power, energy.

    For the policies joint (RawHFL) and per_client (OSAFL), the objective of the paper's optimisation problem is also
    shown, at the plan and at the exact optimum.
    """
    from fedradio.report import slot_rows

    if compare is not None and fleet is not None:
        raise SpecError(Problem("--fleet", "--compare and --fleet cannot be combined", "use one of them", fleet))
    checked = load_spec(spec, overrides or ())
    policy = checked.plain["hops"][0]["policy"]
    if compare is not None and "mode" not in policy:
        raise SpecError(
            Problem("--compare", f"policy {policy['kind']} has no modes", "add hops.0.policy=joint", policy["kind"])
        )
    edge_rounds = checked.rounds * checked.edge_rounds
    if slot >= edge_rounds:
        raise SpecError(Problem("--slot", f"the run has {edge_rounds} edge rounds", f"0 to {edge_rounds - 1}", slot))
    if compare is not None:
        modes = compare.split(",")
        specs = {mode: _with_mode(checked, mode) for mode in modes}
        rows = [_mode_row(mode, _planned(by_mode, slot, epsilon)) for mode, by_mode in specs.items()]
        _print_columns("mode", slot, rows, as_json)
        return
    if fleet is not None:
        specs = {kind: _with_fleet(checked, kind) for kind in fleet.split(",")}
        rows = [slot_rows.fleet_row(kind, _planned(each, slot, epsilon)[1]) for kind, each in specs.items()]
        _print_columns("fleet", slot, rows, as_json)
        if not (quiet or as_json):
            say(out, FLEET_VALUES)
        return
    found = _planned(checked, slot, epsilon)
    if as_json:
        typer.echo(_json(_document(checked, slot, found)), nl=False)
    else:
        _show(checked, slot, found, quiet)
    if figure is not None:
        _draw(checked, found, figure, quiet or as_json)


def _print_columns(what: str, slot: int, rows: list[dict[str, Any]], as_json: bool) -> None:
    """Print the modes or fleets that are compared, one column each."""
    if as_json:
        typer.echo(_json({"slot": slot, f"{what}s": rows}), nl=False)
    else:
        out.print(plan_report.columns_table(what, {row.pop(what): row for row in rows}))


def _show(spec: Spec, slot: int, found: Slotted, quiet: bool) -> None:
    """Print an edge round in readable form."""
    from fedradio.papers.studies import air
    from fedradio.report import slot_rows
    from fedradio.report.terminal.air import error_table, shares_table

    sim, planned, points, _ = found
    if not quiet:
        say(out, (spec.name, "bold"), f"  edge round {slot}, policy {spec.plain['hops'][0]['policy']['kind']}")
    out.print(plan_report.rows_table(slot_rows.cell_rows(sim, planned)))
    if not quiet:
        out.print(plan_report.rows_table(slot_rows.client_rows(sim, planned)))
    if points:
        out.print(plan_report.columns_table("objective", {point.name: point.quantities for point in points}))
    if quiet:
        return
    if air.is_air(sim) and (reason := air.unforeseen(sim, planned)):
        say(out, f"shares and over-the-air errors are in the records of a run; {reason} they are not known before it")
    elif air.is_air(sim):
        out.print(shares_table(sim, planned))
        out.print(error_table(sim, planned))


def _draw(spec: Spec, found: Slotted, figure: Path, quiet: bool) -> None:
    """Draw the map to a file."""
    from fedradio.report import slot_rows
    from fedradio.report.figures.axes import save_figure
    from fedradio.report.figures.network import network_map

    sim, planned, _, _ = found
    try:
        save_figure(network_map(sim.topology, slot_rows.placement(planned), length_unit(spec)), figure)
    except (OSError, ValueError) as error:
        raise SpecError(Problem("--figure", f"cannot be drawn: {error}", "a PNG or PDF", figure.name)) from None
    if not quiet:
        say(out, f"map: {figure}")


def _document(spec: Spec, slot: int, found: Slotted) -> dict[str, Any]:
    """An edge round as plain data."""
    from fedradio.report import slot_rows

    sim, planned, points, milliseconds = found
    return {
        "spec": spec.name,
        "seed": spec.seed,
        "slot": slot,
        "policy": spec.plain["hops"][0]["policy"],
        "planning_ms": milliseconds,
        "cells": slot_rows.cell_rows(sim, planned),
        "clients": slot_rows.client_rows(sim, planned),
        "objectives": [{"point": point.name, **point.quantities} for point in points],
    }


def _json(document: dict[str, Any]) -> str:
    return json.dumps(document, indent=2, allow_nan=False) + "\n"


def _with_fleet(spec: Spec, kind: str) -> Spec:
    """The spec with a fleet on hop 0: its defaults, or the spec's own values if it is the fleet of the spec.

    ``cycles_per_bit`` is the work that the task asks for, so it stays as in the spec if the fleet has this keyword.
    """
    hop, *others = spec.plain["hops"]
    before = hop["fleet"] or {}
    if before.get("kind") == kind:
        return spec
    fresh = check_spec(spec.plain | {"hops": [hop | {"fleet": kind}, *others]})
    defaults = fresh.plain["hops"][0]["fleet"]
    work = {name: before[name] for name in ("cycles_per_bit",) if name in before and name in defaults}
    return check_spec(spec.plain | {"hops": [hop | {"fleet": defaults | work}, *others]})


def _with_mode(spec: Spec, mode: str) -> Spec:
    """The spec with another mode of the policy, without the settings of Algorithm 2 if they do not apply to it."""
    from fedradio.policies.joint import ALGORITHM_2

    hop, *others = spec.plain["hops"]
    apart = ALGORITHM_2 if hop["policy"]["kind"] == "joint" and mode != "dc" else ()
    policy = {name: value for name, value in hop["policy"].items() if name not in apart}
    return check_spec(spec.plain | {"hops": [hop | {"policy": policy | {"mode": mode}}, *others]})


def _mode_row(mode: str, found: Slotted) -> dict[str, Any]:
    from fedradio.report import slot_rows

    _, planned, points, milliseconds = found
    return slot_rows.mode_row(mode, planned, milliseconds, points)


def _planned(spec: Spec, slot: int, epsilon: float) -> Slotted:
    """The edge round ``slot`` of a spec's simulation."""
    from fedradio.report import slot_rows
    from fedradio.rounds.planning import plan_slots
    from fedradio.rounds.round import begin
    from fedradio.spec.build import build

    sim = build(spec)
    slots = plan_slots(sim, begin(sim), slot // sim.edge_rounds + 1)
    before = None
    for _ in range(slot):
        before = next(slots).x.alloc.active
    began = time.perf_counter()
    planned = next(slots)
    milliseconds = 1e3 * (time.perf_counter() - began)
    return sim, planned, slot_rows.objective_points(sim, planned, before, epsilon), milliseconds
