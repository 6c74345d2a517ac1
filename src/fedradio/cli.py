"""The command line: thin. Exit codes: 0 done; 1 unexpected; 2 wrong input; 3 diverged; 4 data missing; 5 folder;
130 interrupted."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Sequence
from math import prod
from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import Progress, SpinnerColumn, TextColumn
from rich.table import Table

import fedradio
from fedradio.core.errors import DataError, FedradioError, Problem, SpecError
from fedradio.core.registry import FAMILIES, load_plugins, parts
from fedradio.data import fetch as fetching
from fedradio.experiment.build import build
from fedradio.experiment.problems import suggest
from fedradio.experiment.read import shipped, shipped_text
from fedradio.experiment.resume import resume as resume_run
from fedradio.experiment.run import Observer, Summary
from fedradio.experiment.run import run as run_spec
from fedradio.experiment.spec import Spec, load_spec
from fedradio.experiment.store import new_folder
from fedradio.experiment.theory import SYMBOLS, assess
from fedradio.report import air
from fedradio.report import plan as plan_report
from fedradio.report.figures import network_map, save
from fedradio.report.progress import RunProgress
from fedradio.report.tables import parameters_table, parts_table, problems_table, summary_table
from fedradio.report.theory import LateProgress, assessment_view
from fedradio.rounds.planning import Plan, plan_slots
from fedradio.rounds.simulation import Simulation
from fedradio.rounds.step import begin

EXIT_CODES = """Exit codes: 0 done; 1 unexpected error; 2 wrong input (all problems are listed); 3 the run diverged;
4 a data set is missing or damaged; 5 a run folder cannot be used; 130 interrupted (what was done is kept)."""

app = typer.Typer(
    help="Federated learning over wireless edge networks: accuracy, simulated seconds, joules and bits.",
    epilog=EXIT_CODES,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
data_app = typer.Typer(help="Data sets: list, fetch, locate.", no_args_is_help=True)
app.add_typer(data_app, name="data")

PIPED_COLUMNS = 160
"""Width of the output where there is no terminal to fill."""


def _console(*, stderr: bool) -> Console:
    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() or "COLUMNS" in os.environ else PIPED_COLUMNS
    return Console(stderr=stderr, width=width)


out = _console(stderr=False)
err = _console(stderr=True)

SpecArgument = Annotated[str, typer.Argument(help="a YAML file, or a shipped spec (see `fedradio ls spec`)")]
Overrides = Annotated[list[str] | None, typer.Argument(help="key=value, such as rule.lr=0.05 or data.source=mnist")]


def _version(wanted: bool) -> None:
    if wanted:
        out.print(f"fedradio {fedradio.__version__}", highlight=False)
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="print the version and stop")
    ] = False,
) -> None:
    for failure in load_plugins():
        err.print(f"[yellow]warning[/] {escape(failure)}", highlight=False)


@app.command("ls")
def list_parts(
    family: Annotated[str | None, typer.Argument(help="one family of parts, or `spec` for the shipped specs")] = None,
) -> None:
    """List every registered part, with one line each; `ls spec` lists the shipped specs."""
    if family == "spec":
        out.print(_specs_table())
        return
    if family is not None and family not in FAMILIES:
        known = [*FAMILIES, "spec"]
        raise SpecError(Problem(family, "no such family", suggest(family, known) or f"one of: {', '.join(known)}"))
    out.print(parts_table(parts(family)))


@app.command()
def show(kind: Annotated[str, typer.Argument(help="kind of a part, such as fedprox, or family/kind")]) -> None:
    """Show a part's parameters with units, bounds and defaults, and the paper it follows."""
    family, _, name = kind.rpartition("/")
    found = [part for part in parts() if part.kind == name and family in ("", part.family)]
    if not found:
        raise SpecError(Problem(kind, "no such part", _elsewhere(kind)))
    for part in found:
        out.print(f"[bold]{part.family}/{part.kind}[/]", highlight=False)
        out.print(part.doc.replace("``", ""), markup=False, highlight=False)
        if part.paper:
            out.print(f"[dim]paper:[/] {escape(part.paper)}", highlight=False)
        out.print(parameters_table(part) if part.parameters() else "[dim]no parameters[/]")
        out.print()


def _elsewhere(name: str) -> str:
    """Where something that is no part may be found."""
    if name in FAMILIES:
        return f"it is a family: fedradio ls {name}"
    if name in shipped():
        return f"it is a shipped spec: fedradio cp {name} mine.yaml"
    return suggest(name, [part.kind for part in parts()]) or "fedradio ls lists them all"


@app.command()
def validate(spec: SpecArgument, overrides: Overrides = None) -> None:
    """Check a spec: all problems at once, with path, value and remedy. Nothing is run."""
    checked = load_spec(spec, overrides or ())
    sim = build(checked)
    for warning in sim.warnings:
        out.print(f"[yellow]warning[/] {escape(warning)}", highlight=False)
    out.print(f"{checked.name}: valid (sha256 {checked.sha256()[:12]})", highlight=False)


@app.command("cp")
def copy(
    spec: Annotated[str, typer.Argument(help="name of a shipped spec")],
    file: Annotated[Path, typer.Argument(help="where to put it")],
) -> None:
    """Copy a shipped spec as a starting point."""
    if spec not in shipped():
        raise SpecError(Problem(spec, "no shipped spec of that name", f"one of: {', '.join(shipped())}"))
    target = file / f"{Path(spec).name}.yaml" if file.is_dir() else file
    if target.exists():
        raise SpecError(Problem(str(target), "exists already", "choose another name"))
    try:
        target.write_text(shipped_text(spec), encoding="utf-8")
    except OSError as error:
        raise SpecError(Problem(str(target), f"cannot be written: {error.strerror}")) from None
    out.print(f"{target}: edit it, then `fedradio run {target}`", highlight=False)


@app.command()
def run(
    spec: SpecArgument,
    overrides: Overrides = None,
    out_dir: Annotated[Path | None, typer.Option("--out", help="run folder; default runs/NAME-seedN")] = None,
    seed: Annotated[int | None, typer.Option(help="replaces the spec's seed")] = None,
    rounds: Annotated[int | None, typer.Option(help="replaces the spec's rounds")] = None,
    device: Annotated[Literal["cpu", "cuda"], typer.Option(help="where to train")] = "cpu",
    workers: Annotated[int | None, typer.Option(min=1, help="threads; results do not depend on it")] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="print nothing but errors and the run folder")] = False,
) -> None:
    """Run a spec and write its run folder."""
    extra = [f"{key}={value}" for key, value in (("seed", seed), ("rounds", rounds)) if value is not None]
    checked = load_spec(spec, [*(overrides or ()), *extra])
    folder = out_dir or new_folder(checked.name, checked.seed)
    changes = [*(overrides or ()), *extra]
    _shown(
        lambda watch: run_spec(checked, folder, device=device, workers=workers, observer=watch), folder, quiet, changes
    )


@app.command()
def resume(
    run_dir: Annotated[Path, typer.Argument(metavar="RUN", help="run folder")],
    rounds: Annotated[int | None, typer.Option(help="another end; makes a finished run longer")] = None,
    workers: Annotated[int | None, typer.Option(min=1, help="threads; results do not depend on it")] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="print nothing but errors and the run folder")] = False,
) -> None:
    """Go on with a run that was interrupted or killed; the result equals that of a run in one go."""
    _shown(lambda watch: resume_run(run_dir, rounds=rounds, workers=workers, observer=watch), run_dir, quiet)


def _shown(do: Callable[[Observer | None], Summary], folder: Path, quiet: bool, changes: Sequence[str] = ()) -> None:
    """Run with progress and a table, or quietly."""
    try:
        if quiet:
            do(None)
            out.print(str(folder), highlight=False, soft_wrap=True)
            return
        with RunProgress(out, changes) as progress:
            summary = do(progress)
    except KeyboardInterrupt:
        if folder.is_dir():
            words = f"interrupted; what was done is in {folder}; go on with: fedradio resume {folder}"
            err.print(words, highlight=False, soft_wrap=True)
        raise
    out.print(summary_table(summary))
    out.print(f"run folder: {folder}", highlight=False, soft_wrap=True)


@app.command()
def theory(
    run_dir: Annotated[Path, typer.Argument(metavar="RUN", help="run folder")],
    paper: Annotated[str, typer.Option(help="whose theorem")] = "rawhfl",
    replay: Annotated[int, typer.Option(help="rounds to run again for estimates and measurements")] = 3,
    smoothness: Annotated[float | None, typer.Option(help="beta; like all below, estimated where not given")] = None,
    variance: Annotated[float | None, typer.Option(help="sigma^2 of a mini-batch gradient")] = None,
    client_divergence: Annotated[float | None, typer.Option(help="eps_0^2, clients from their edge")] = None,
    edge_divergence: Annotated[float | None, typer.Option(help="eps_1^2, edges from the global mean")] = None,
    gap: Annotated[float | None, typer.Option(help="f(w0) - f_inf, for the whole run")] = None,
) -> None:
    """Evaluate a paper's convergence bound on a run, beside what the run did."""
    values = (smoothness, variance, client_divergence, edge_divergence, gap)
    given = {name: value for name, value in zip(SYMBOLS, values, strict=True) if value is not None}
    with LateProgress(err) as progress:
        found = assess(run_dir, paper=paper, rounds=replay, given=given, tell=progress)
    out.print(assessment_view(found))


@app.command()
def plan(
    spec: SpecArgument,
    overrides: Overrides = None,
    slot: Annotated[int, typer.Option(min=0, help="which edge round to show, from 0")] = 0,
    compare: Annotated[str | None, typer.Option(help="modes of the policy, such as paper,optimal")] = None,
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
    edge_rounds = checked.rounds * prod(hop["period"] for hop in checked.plain["hops"])
    if slot >= edge_rounds:
        raise SpecError(Problem("--slot", f"the run has {edge_rounds} edge rounds", f"0 to {edge_rounds - 1}", slot))
    if compare is not None:
        specs = {
            mode: load_spec(spec, [*(overrides or ()), f"hops.0.policy.mode={mode}"]) for mode in compare.split(",")
        }
        out.print(plan_report.compare_table({mode: _planned(one, slot) for mode, one in specs.items()}))
        return
    sim, planned, _ = _planned(checked, slot)
    out.print(f"[bold]{checked.name}[/]  edge round {slot}, policy {kind}", highlight=False)
    out.print(plan_report.map_text(sim.topology, planned))
    out.print(plan_report.cells_table(sim, planned))
    out.print(plan_report.clients_table(sim, planned))
    if air.is_air(sim) and (reason := air.unforeseen(sim, planned)):
        out.print(f"shares and error of the air are in the records of a run; {reason} they are not known before it")
    elif air.is_air(sim):
        out.print(air.shares_table(sim, planned))
        out.print(air.error_table(sim, planned))
    if figure is not None:
        try:
            save(network_map(sim.topology, plan_report.standing(planned)), figure)
        except (OSError, ValueError) as error:
            raise SpecError(Problem("--figure", f"cannot be drawn: {error}", "a PNG or PDF", figure.name)) from None
        out.print(f"map: {figure}", highlight=False, soft_wrap=True)


def _planned(spec: Spec, slot: int) -> tuple[Simulation, Plan, float]:
    """The plan of that edge round, and the milliseconds it took."""
    sim = build(spec)
    edge_rounds = prod(hop.period for hop in sim.hops)
    plans = plan_slots(sim, begin(sim), slot // edge_rounds + 1)
    for _ in range(slot):
        next(plans)
    began = time.perf_counter()
    found = next(plans)
    return sim, found, 1e3 * (time.perf_counter() - began)


@data_app.command("ls")
def data_list() -> None:
    """List the data sets and whether they are here."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("name", "status", "samples", "shape", "licence"):
        table.add_column(column)
    for row in fetching.ls():
        table.add_row(row.name, row.status, row.samples, row.shape, row.licence)
    out.print(table)


@data_app.command("fetch")
def data_fetch(
    name: Annotated[str, typer.Argument(help="mnist, fashion_mnist or cifar10")],
    from_dir: Annotated[Path | None, typer.Option("--from", help="folder that holds the original files")] = None,
) -> None:
    """Fetch a data set, check it and keep it. Can be repeated and interrupted at any time."""
    columns = (SpinnerColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=err, transient=True) as bar:
        task = bar.add_task(f"fetching {name}")

        def tell(what: str, share: float | None) -> None:
            text = what if share is None else f"{what} {100 * share:.0f} %"
            bar.update(task, description=escape(text))

        found = fetching.fetch(name, from_dir, tell)
    out.print(f"{name}: {found}", highlight=False, soft_wrap=True)


@data_app.command("path")
def data_path(name: Annotated[str, typer.Argument(help="name of a fetched data set")]) -> None:
    """Print where a fetched data set lies."""
    entry = next((row for row in fetching.ls() if row.name == name), None)
    if entry is None or entry.path is None:
        known = ", ".join(row.name for row in fetching.ls())
        if entry is None:
            raise DataError(f"no data set is called {name!r}; known are {known}")
        if entry.status == "embedded":
            raise DataError(f"{name} is embedded: there is nothing to fetch and no folder")
        raise DataError(f"{name} is {entry.status}: run `fedradio data fetch {name}`")
    out.print(str(entry.path), highlight=False, soft_wrap=True)


def _specs_table() -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("spec")
    table.add_column("what it runs")
    for name in shipped():
        table.add_row(name, load_spec(name).plain["about"])
    return table


def main() -> None:
    """Entry point: errors meant for people are printed without a traceback, with their exit code."""
    try:
        app()
    except SpecError as error:
        err.print(f"[red]{len(error.problems)} problem(s)[/]")
        err.print(problems_table(error.problems))
        sys.exit(error.exit_code)
    except FedradioError as error:
        err.print(f"[red]error[/] {escape(str(error))}", highlight=False, soft_wrap=True)
        for note in getattr(error, "__notes__", ()):
            err.print(escape(note), highlight=False, soft_wrap=True)
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        sys.exit(130)
