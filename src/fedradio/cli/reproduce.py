"""``fedradio reproduce``: reproduce published tables and figures next to the published numbers."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fedradio.cli.app import err, one_command, out
from fedradio.cli.options import RAY_HELP, Jobs, Place, quiet_option, seeds_option
from fedradio.cli.where import pool_on
from fedradio.core.errors import DivergenceError, Problem, SpecError
from fedradio.core.files import write_json, write_text
from fedradio.core.progress import Progress
from fedradio.papers.absence import Absence
from fedradio.papers.scales import OUT, SCALES, Scale
from fedradio.report.terminal.console import say
from fedradio.report.terminal.progress import LateProgress
from fedradio.report.terminal.words import count, rough
from fedradio.sweeps.tasks import Pool

if TYPE_CHECKING:
    from fedradio.papers.collect import Result
    from fedradio.papers.items import Item
    from fedradio.papers.order import Work
    from fedradio.papers.plan import Reproduction

LINE_EVERY_S = 10.0

CLUSTER_S = 8 * 3600.0
"""Items expected to take longer than this on this machine are named as work for a cluster."""

LONG_S = 60.0
"""Items expected to take longer than this print an estimate before they start."""


@dataclass(frozen=True)
class Where:
    """Where runs are made: a pool, how many at a time, and the name of the place."""

    pool: Pool
    jobs: int
    on: Place

    def cores(self, runs: int) -> int:
        """Cores that so many runs keep busy."""
        from fedradio.engine.threads import cores

        at_once, threads = self.pool.share(runs, None)
        return min(cores(), at_once * threads) if self.on == "local" else at_once * threads

    def command(self, text: str) -> str:
        """The command with the option that chooses this place."""
        return text if self.on == "local" else f"{text} --on {self.on}"


app = one_command()


@app.command()
def reproduce(
    paper: Annotated[
        str | None,
        typer.Argument(
            metavar="PAPER",
            help="rawhfl, osafl, whfl or fedcpsl; if omitted, all papers are listed",
        ),
    ] = None,
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="ITEM",
            help="one or more items, such as table4, or fig9 for all its panels; if omitted, they are listed",
        ),
    ] = None,
    scale: Annotated[Scale, typer.Option(help="quick: minutes on a laptop; paper: the published setting")] = "quick",
    seeds: Annotated[str | None, seeds_option("item")] = None,
    jobs: Jobs = None,
    on: Annotated[Place, typer.Option("--on", help=f"where to run (does not affect results); {RAY_HELP}")] = "local",
    out_dir: Annotated[Path, typer.Option("--out", help="folder for runs and results")] = OUT,
    claims: Annotated[
        bool,
        typer.Option("--claims", help="list the papers' claims and what is known about them so far; nothing is run"),
    ] = False,
    every: Annotated[
        bool,
        typer.Option(
            "--all", help="reproduce all items, or all items of a paper, cheapest first; shared runs are made once"
        ),
    ] = False,
    published_results: Annotated[
        bool, typer.Option("--published-results", help="print the shipped results; nothing is run")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="list what would be run and how long it would take")
    ] = False,
    quiet: Annotated[bool, quiet_option("errors and the result files")] = False,
) -> None:
    """Reproduce tables and figures of the four papers, next to the published numbers, and test their claims.

    Existing runs are reused, including those made for other tables and figures of the paper. After Ctrl-C, the same
    command resumes where it stopped.
    """
    from fedradio.papers.known import known_claims
    from fedradio.papers.plan import cost, plan_reproduction
    from fedradio.papers.published import items, matching
    from fedradio.report.terminal.claims import known_view
    from fedradio.report.terminal.reproduction import list_view
    from fedradio.sweeps.grid import parse_seeds
    from fedradio.sweeps.processes import LocalPool

    asked = tuple(names or ())
    _refuse_together({"--all": every, "--claims": claims, "--published-results": published_results}, asked)
    chosen = None if seeds is None else parse_seeds(seeds)
    listed = items(paper) if paper is None or not asked else matching(paper, *asked)
    if claims:
        out.print(known_view(known_claims(listed, out_dir, chosen)))
    elif published_results:
        _show_shipped(listed, bool(asked))
    elif not asked and not every:
        costs = [
            (item, {size: cost(plan_reproduction(item, size, chosen, out_dir)) for size in SCALES}) for item in listed
        ]
        out.print(list_view(costs, out_dir))
    else:
        plans = [plan_reproduction(item, scale, chosen, out_dir) for item in listed]
        if dry_run:
            _show_plans(plans, every, Where(LocalPool(jobs or 1), jobs or 1, "local"))
            return
        with pool_on(on, jobs) as pool:
            where = Where(pool, jobs or 1, on)
            failures = _reproduce_all(plans, paper, where, quiet) if every else _each(plans, asked, where, quiet)
        if code := _exit_code(failures):
            raise typer.Exit(code)


def _refuse_together(options: Mapping[str, bool], names: Sequence[str]) -> None:
    """Refuse options that cannot be combined."""
    given = [option for option, set_ in options.items() if set_]
    if len(given) > 1:
        raise SpecError(Problem(given[1], f"cannot be combined with {given[0]}", "use one of them"))
    if options["--all"] and names:
        raise SpecError(Problem("--all", "cannot be combined with an item", "leave out one of them", names[0]))


def _each(plans: Sequence[Reproduction], names: Sequence[str], where: Where, quiet: bool) -> dict[Path, Absence]:
    """Make some items in the order in which they were asked for; returns the failures."""
    from fedradio.papers.plan import reproduce_command

    def command(plan: Reproduction) -> str:
        return reproduce_command(plan, names, where.jobs)

    return _reproduce_many(plans, lambda rest: rest[0], command, where, quiet)


def _reproduce_all(plans: Sequence[Reproduction], paper: str | None, where: Where, quiet: bool) -> dict[Path, Absence]:
    """Make all items that can be made at this scale, cheapest first, after the totals; returns the failures."""
    from fedradio.papers.order import cheapest
    from fedradio.papers.plan import reproduce_all_command

    def command(plan: Reproduction) -> str:
        return reproduce_all_command(plan, paper, where.jobs)

    wanted = [plan for plan in plans if plan.units]
    for line in [] if quiet else _total_lines(wanted, where):
        say(err, line)
    return _reproduce_many(wanted, cheapest, command, where, quiet)


def _reproduce_many(
    plans: Sequence[Reproduction],
    choose: Callable[[Sequence[Reproduction]], Reproduction],
    command: Callable[[Reproduction], str],
    where: Where,
    quiet: bool,
) -> dict[Path, Absence]:
    """Make, show and write items, printing the time that the rest will take at the pace so far.

    ``choose`` picks the next item; ``command`` resumes all of them.
    """
    from fedradio.papers.order import Pace

    rest, pace, failures = list(plans), Pace(), dict[Path, Absence]()
    while rest:
        plan = choose(rest)
        if len(plans) > 1 and not quiet:
            at = f"item {len(plans) - len(rest) + 1} of {len(plans)}: {plan.item.paper} {plan.item.name}"
            say(err, f"{at}; about {rough(pace.factor * _wall_s(rest, where))} left in total")
        began, wanted_s = time.monotonic(), _wall_s([plan], where)
        failed = _reproduce(plan, where, where.command(command(plan)), quiet)
        pace = pace if failed else pace.after(wanted_s, time.monotonic() - began)
        failures |= failed
        rest.remove(plan)
        if rest and not quiet:
            out.print()
    return failures


def _wall_s(plans: Sequence[Reproduction], where: Where) -> float:
    """Expected wall seconds of what is left of some items."""
    from fedradio.papers.order import work_left

    runs = sum(unit.study is None and not unit.settled() for plan in plans for unit in plan.units)
    return work_left(plans).wall_s(where.cores(max(1, runs)))


def _show_plans(plans: Sequence[Reproduction], every: bool, where: Where) -> None:
    """Print what would be made, shared work where it is first needed; ``every``: cheapest first, with the totals."""
    from fedradio.papers.make import blocked, load_specs
    from fedradio.papers.plan import cost, expected
    from fedradio.report.terminal.reproduction import reproduction_view

    wanted = [plan for plan in plans if plan.units] if every else list(plans)
    ordered = sorted(wanted, key=lambda plan: cost(plan).left_s) if every else wanted
    counted: set[Path] = set()
    for number, plan in enumerate(ordered):
        if number:
            out.print()
        without_data = blocked(plan, load_specs(plan.units))
        out.print(reproduction_view(plan, expected(plan), without_data, frozenset(counted)))
        counted |= {unit.work.path for unit in plan.units if not unit.settled() and unit.path not in without_data}
    if every:
        out.print()
        for line in _total_lines(ordered, where):
            say(out, line)


def _total_lines(plans: Sequence[Reproduction], where: Where) -> list[str]:
    """CPU hours of all items, wall time on these cores, and of one machine the items that belong on a cluster."""
    from fedradio.papers.order import work_left

    work, busy = work_left(plans), where.cores(sum(len(plan.units) for plan in plans))
    total = f"{count(len(plans), 'item')}: {_cpu_hours(work)} CPU hours, about {rough(work.wall_s(busy))} of wall time"
    lines = [f"{total} on {count(busy, 'core')}; shared runs are made and counted once"]
    if where.on != "local":
        return lines
    each = [(plan.item, work_left([plan]).wall_s(busy)) for plan in plans]
    long = [f"{item.paper} {item.name} ({rough(wall_s)})" for item, wall_s in each if wall_s > CLUSTER_S]
    return lines + ([f"for a cluster (--on ray), each above {rough(CLUSTER_S)}: {', '.join(long)}"] if long else [])


def _cpu_hours(work: Work) -> str:
    """CPU hours with two digits, whole from ten on."""
    hours = work.cpu_s / 3600
    return f"{hours:.0f}" if hours >= 10 else f"{hours:.2g}"


def _show_shipped(listed: Sequence[Item], whole: bool) -> None:
    """Print the shipped results of some items: a list, or ``whole``, each next to the published numbers."""
    from fedradio.report.terminal.shipped import opened, shipped_list_view, shipped_view

    shown = opened(listed)
    for number, one in enumerate(shown if whole else []):
        if number:
            out.print()
        out.print(shipped_view(one))
    if not whole:
        out.print(shipped_list_view(shown))


def _reproduce(reproduction: Reproduction, where: Where, command: str, quiet: bool) -> dict[Path, Absence]:
    """Make, show and write one item; returns the failures. ``command`` resumes it."""
    from fedradio.papers.collect import collect
    from fedradio.report.terminal.reproduction import result_view

    failures = _make(reproduction, where, command, quiet)
    result = collect(reproduction, failures)
    files = _write(result)
    if not quiet:
        out.print(result_view(result, files))
        return failures
    for file in files:
        say(out, str(file))
    return failures


def _make(reproduction: Reproduction, where: Where, command: str, quiet: bool) -> dict[Path, Absence]:
    """Make what is missing, with progress; ``command`` resumes it."""
    from fedradio.papers.make import blocked, load_specs, make_folder, make_runs, make_studies
    from fedradio.papers.plan import cost
    from fedradio.report.terminal.sweep import BatchProgress

    specs = load_specs(reproduction.units)
    left, wall_s = cost(reproduction), _wall_s([reproduction], where)
    if wall_s > LONG_S and not quiet:
        say(err, f"this will take about {rough(wall_s)}: {left.units - left.done} runs and studies")
    make_folder(reproduction.folder)
    failures = blocked(reproduction, specs)
    try:
        with LateProgress(err) as bar:
            failures |= make_studies(reproduction, specs, _progress(bar, quiet))
        with BatchProgress(err) as observer:
            failures |= make_runs(reproduction, specs, pool=where.pool, observer=None if quiet else observer)
    except KeyboardInterrupt:
        say(err, f"interrupted; finished work is in {reproduction.folder}; resume with: {command}")
        raise
    return failures


def _exit_code(failures: Mapping[Path, Absence]) -> int:
    """3 if a run has diverged, else the exit code of the first failure; 0 if all went well."""
    codes = [failure.exit_code for failure in failures.values()]
    return DivergenceError.exit_code if DivergenceError.exit_code in codes else next(iter(codes), 0)


def _progress(bar: LateProgress, quiet: bool) -> Progress:
    """Progress of studies: a bar on a terminal, occasional lines elsewhere."""
    due = time.monotonic()

    def line(what: str, share: float | None) -> None:
        nonlocal due
        if not quiet and time.monotonic() >= due:
            due = time.monotonic() + LINE_EVERY_S
            say(err, f"{what}: {100 * (share or 0.0):.0f} %")

    return bar if err.is_terminal and not quiet else line


def _write(result: Result) -> list[Path]:
    """Write ``<item>.md``, ``.json``, and ``.pdf`` and ``.png`` of figures; returns the files."""
    from fedradio.papers.collect import plain_result
    from fedradio.papers.judge import judge, plain_claims
    from fedradio.papers.make import make_folder
    from fedradio.papers.series import picture
    from fedradio.report.terminal.reproduction import result_markdown

    stem = make_folder(result.reproduction.folder) / result.item.name
    drawn = picture(result)
    pictures = []
    if drawn is not None:
        from fedradio.report.figures.published import save_picture  # plotting is slow to import

        pictures = save_picture(drawn, stem)
    page, plain = stem.with_suffix(".md"), stem.with_suffix(".json")
    write_text(page, result_markdown(result, pictures))
    write_json(plain, plain_result(result, drawn) | {"claims": plain_claims(judge(result))})
    return [*pictures, page, plain]
