"""``fedradio reproduce``: makes published tables and figures again, beside the published numbers."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from fedradio.cli.app import err, one_command, out
from fedradio.core.errors import DivergenceError
from fedradio.core.files import write_json, write_text
from fedradio.core.progress import Progress
from fedradio.papers.collect import Result, collect, plain_result
from fedradio.papers.form import Scale
from fedradio.papers.judge import judge, plain_claims
from fedradio.papers.known import SCALES, known_claims
from fedradio.papers.make import Trouble, blocked, load_specs, make_folder, make_runs, make_studies
from fedradio.papers.plan import OUT, Reproduction, cost, expected, plan_reproduction, reproduce_command
from fedradio.papers.published import items, matching
from fedradio.papers.series import picture
from fedradio.report.terminal.claims import known_view
from fedradio.report.terminal.console import say
from fedradio.report.terminal.progress import LateProgress
from fedradio.report.terminal.reproduction import list_view, reproduction_view, result_markdown, result_view
from fedradio.report.terminal.sweep import BatchProgress
from fedradio.report.terminal.words import rough
from fedradio.sweeps.grid import parse_seeds

LINE_EVERY_S = 10.0

LONG_S = 60.0
"""An item that is expected to take longer says so before it starts."""


app = one_command()


@app.command()
def reproduce(
    paper: Annotated[
        str | None, typer.Argument(metavar="PAPER", help="rawhfl, osafl, whfl or fedcpsl; without it all are listed")
    ] = None,
    name: Annotated[
        str | None,
        typer.Argument(metavar="ITEM", help="such as table4, or fig9 for all its panels; without it they are listed"),
    ] = None,
    scale: Annotated[Scale, typer.Option(help="minutes on a laptop, or as published")] = "quick",
    seeds: Annotated[
        str | None, typer.Option(help="5 is the seeds 1 to 5; 1,2,7 are these seeds; default: the item's")
    ] = None,
    world_seed: Annotated[
        int | None,
        typer.Option(min=0, max=2**63 - 1, help="all runs in the world of this seed; default: the specs' own worlds"),
    ] = None,
    jobs: Annotated[int, typer.Option(min=1, help="runs at a time")] = 1,
    out_dir: Annotated[Path, typer.Option("--out", help="where runs and results go")] = OUT,
    claims: Annotated[
        bool, typer.Option("--claims", help="list the papers' claims with what is known so far; runs nothing")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="list what would be run and how long it takes")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="print nothing but errors and the result files")] = False,
) -> None:
    """Make a table or figure of one of the four papers again, beside its published numbers, and judge its claims.

    Runs that are there already are used, also those of the paper's other tables and figures; the rest is run. After
    Ctrl-C the same command goes on.
    """
    chosen = None if seeds is None else parse_seeds(seeds)
    if claims:
        listed = items(paper) if paper is None or name is None else matching(paper, name)
        out.print(known_view(known_claims(listed, out_dir, chosen, world_seed)))
        return
    if paper is None or name is None:
        costs = [
            (item, {size: cost(plan_reproduction(item, size, chosen, out_dir, world_seed)) for size in SCALES})
            for item in items(paper)
        ]
        out.print(list_view(costs, out_dir))
        return
    trouble: dict[Path, Trouble] = {}
    for number, item in enumerate(matching(paper, name)):
        reproduction = plan_reproduction(item, scale, chosen, out_dir, world_seed)
        if number and not quiet:
            out.print()
        if dry_run:
            without_data = blocked(reproduction, load_specs(reproduction.units))
            out.print(reproduction_view(reproduction, expected(reproduction), without_data))
        else:
            trouble |= _reproduce(reproduction, name, jobs, quiet)
    if code := _exit_code(trouble):
        raise typer.Exit(code)


def _reproduce(reproduction: Reproduction, name: str, jobs: int, quiet: bool) -> dict[Path, Trouble]:
    """Make, show and write one item; returns what went wrong."""
    trouble = _make(reproduction, name, jobs, quiet)
    result = collect(reproduction, trouble)
    files = _write(result)
    if not quiet:
        out.print(result_view(result, files))
        return trouble
    for file in files:
        say(out, str(file))
    return trouble


def _make(reproduction: Reproduction, name: str, jobs: int, quiet: bool) -> dict[Path, Trouble]:
    """Make what is missing, with progress; ``name`` is the item as it was asked for, for the command that resumes."""
    specs = load_specs(reproduction.units)
    left = cost(reproduction)
    if left.left_s > LONG_S and not quiet:
        say(err, f"about {rough(left.left_s)} for {left.units - left.done} runs and studies")
    make_folder(reproduction.folder)
    trouble = blocked(reproduction, specs)
    try:
        with LateProgress(err) as bar:
            trouble |= make_studies(reproduction, specs, _progress(bar, quiet))
        with BatchProgress(err) as observer:
            trouble |= make_runs(reproduction, specs, parallel=jobs, observer=None if quiet else observer)
    except KeyboardInterrupt:
        command = reproduce_command(reproduction, name, jobs)
        say(err, f"interrupted; what was done is in {reproduction.folder}; go on with: {command}")
        raise
    return trouble


def _exit_code(trouble: Mapping[Path, Trouble]) -> int:
    """3 if a run has diverged, else that of the first failure; 0 if all went well."""
    codes = [failure.exit_code for failure in trouble.values()]
    return DivergenceError.exit_code if DivergenceError.exit_code in codes else next(iter(codes), 0)


def _progress(bar: LateProgress, quiet: bool) -> Progress:
    """Progress of studies: the bar on a terminal, a line from time to time elsewhere."""
    due = time.monotonic()

    def line(what: str, share: float | None) -> None:
        nonlocal due
        if not quiet and time.monotonic() >= due:
            due = time.monotonic() + LINE_EVERY_S
            say(err, f"{what}: {100 * (share or 0.0):.0f} %")

    return bar if err.is_terminal and not quiet else line


def _write(result: Result) -> list[Path]:
    """Write ``<item>.md``, ``.json``, and ``.pdf`` and ``.png`` of figures; returns the files."""
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
