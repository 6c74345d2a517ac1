"""``fedradio reproduce``: published tables and figures, made again beside the published numbers."""

from __future__ import annotations

import shlex
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from fedradio.cli.app import err, one_command, out
from fedradio.core.errors import DivergenceError
from fedradio.core.files import write_json, write_text
from fedradio.papers.collect import Result, collect, plain_result
from fedradio.papers.items import Scale
from fedradio.papers.make import Trouble, blocked, load_specs, make_folder, make_runs, make_studies
from fedradio.papers.plan import OUT, Reproduction, Tell, cost, expected, make_plan
from fedradio.papers.published import items, matching
from fedradio.papers.series import picture
from fedradio.report.figures.published import save_picture
from fedradio.report.terminal.progress import LateProgress
from fedradio.report.terminal.reproducible import SCALES, list_view, plan_view, rough
from fedradio.report.terminal.reproduction import result_markdown, result_view
from fedradio.report.terminal.sweep import BatchProgress

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
    seeds: Annotated[int | None, typer.Option(min=1, max=1000, help="seeds 1 to N; default: the item's")] = None,
    jobs: Annotated[int, typer.Option(min=1, help="runs at a time")] = 1,
    out_dir: Annotated[Path, typer.Option("--out", help="where runs and results go")] = OUT,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="list what would be run and how long it takes")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="print nothing but errors and the result files")] = False,
) -> None:
    """Make a table or figure of one of the four papers again, beside its published numbers.

    Runs that are there already are used, also those of the paper's other tables and figures; the rest is run. After
    Ctrl-C the same command goes on.
    """
    if paper is None or name is None:
        listed = [(one, {size: cost(make_plan(one, size, None, out_dir)) for size in SCALES}) for one in items(paper)]
        out.print(list_view(listed, out_dir))
        return
    trouble: dict[Path, Trouble] = {}
    for number, one in enumerate(matching(paper, name)):
        plan = make_plan(one, scale, seeds, out_dir)
        if number and not quiet:
            out.print()
        if dry_run:
            out.print(plan_view(plan, expected(plan), blocked(plan, load_specs(plan.units))))
        else:
            trouble |= _reproduce(plan, name, jobs, quiet)
    if code := _exit_code(trouble):
        raise typer.Exit(code)


def _reproduce(plan: Reproduction, asked: str, jobs: int, quiet: bool) -> dict[Path, Trouble]:
    """Make, show and write one item; returns what went wrong."""
    trouble = _make(plan, asked, jobs, quiet)
    result = collect(plan, trouble)
    files = _write(result)
    if not quiet:
        out.print(result_view(result, files))
        return trouble
    for file in files:
        out.print(str(file), highlight=False, soft_wrap=True)
    return trouble


def _make(plan: Reproduction, asked: str, jobs: int, quiet: bool) -> dict[Path, Trouble]:
    """Make what is missing, with progress; after Ctrl-C the words that were ``asked`` for go on."""
    specs = load_specs(plan.units)
    left = cost(plan)
    if left.left_s > LONG_S and not quiet:
        err.print(f"about {rough(left.left_s)} for {left.units - left.done} runs and studies", highlight=False)
    make_folder(plan.folder)
    trouble = blocked(plan, specs)
    try:
        with LateProgress(err) as tell:
            trouble |= make_studies(plan, specs, _teller(tell, quiet))
        with BatchProgress(err) as watch:
            trouble |= make_runs(plan, specs, parallel=jobs, observer=None if quiet else watch)
    except KeyboardInterrupt:
        words = f"interrupted; what was done is in {plan.folder}; go on with: {_again(plan, asked, jobs)}"
        err.print(words, markup=False, highlight=False, soft_wrap=True)
        raise
    return trouble


def _exit_code(trouble: Mapping[Path, Trouble]) -> int:
    """3 where a run has diverged, else that of the first failure; 0 where all went well."""
    codes = [one.exit_code for one in trouble.values()]
    return DivergenceError.exit_code if DivergenceError.exit_code in codes else next(iter(codes), 0)


def _teller(bar: LateProgress, quiet: bool) -> Tell:
    """A bar on a terminal, a line from time to time elsewhere."""
    due = time.monotonic()

    def line(what: str, share: float) -> None:
        nonlocal due
        if not quiet and time.monotonic() >= due:
            due = time.monotonic() + LINE_EVERY_S
            err.print(f"{what}: {100 * share:.0f} %", markup=False, highlight=False, soft_wrap=True)

    return bar if err.is_terminal and not quiet else line


def _again(plan: Reproduction, asked: str, jobs: int) -> str:
    """The command that goes on."""
    words = ["fedradio", "reproduce", plan.item.paper, asked, "--scale", plan.scale]
    words += ["--seeds", str(len(plan.seeds))] if plan.changed_seeds else []
    words += ["--jobs", str(jobs)] if jobs > 1 else []
    place = plan.folder.parent.parent
    return shlex.join(words + (["--out", str(place)] if place != OUT else []))


def _write(result: Result) -> list[Path]:
    """``<item>.md``, ``.json``, and ``.pdf`` and ``.png`` of figures; returns those that were written."""
    stem = make_folder(result.plan.folder) / result.item.name
    drawn = picture(result)
    pictures = [] if drawn is None else save_picture(drawn, stem)
    page, plain = stem.with_suffix(".md"), stem.with_suffix(".json")
    write_text(page, result_markdown(result, pictures))
    write_json(plain, plain_result(result, drawn))
    return [*pictures, page, plain]
