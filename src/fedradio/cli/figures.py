"""``fedradio figures``: draw publication-ready figures of runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fedradio.cli.app import err, one_command, out
from fedradio.cli.options import FolderArguments, quiet_option
from fedradio.cli.reading import print_drawings, read_runs
from fedradio.core.errors import Problem, SpecError, suggest
from fedradio.report.terminal.console import say
from fedradio.report.terminal.progress import LateProgress
from fedradio.results.figure_options import FORMATS

if TYPE_CHECKING:
    from fedradio.results.run import LeftOut, Run

app = one_command()


@app.command()
def figures(
    folders: FolderArguments,
    out_dir: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="output folder; default: figures/ in the run or sweep")
    ] = None,
    formats: Annotated[str, typer.Option("--format", help="file formats: pdf, png, or pdf,png")] = ",".join(FORMATS),
    only: Annotated[
        str,
        typer.Option(metavar="NAMES", help="draw only these figures, such as accuracy-joules"),
    ] = "",
    metric: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="draw only the curves of this metric, such as loss"),
    ] = None,
    against: Annotated[str, typer.Option(metavar="AXES", help="x axes: rounds, seconds, joules, bits, uses")] = "",
    target: Annotated[
        float | None,
        typer.Option(help="draw a dotted line at this value of the metric, such as 0.9"),
    ] = None,
    order: Annotated[
        str,
        typer.Option(metavar="VARIANTS", help="variants to list first in the legend, such as scaffold,fedavg"),
    ] = "",
    without: Annotated[str, typer.Option(metavar="VARIANTS", help="variants to leave out")] = "",
    label: Annotated[
        list[str] | None,
        typer.Option(
            metavar="VARIANT=NAME",
            help='rename a variant in the legend, such as fedprox="FedProx ($\\mu=0.01$)"; can be repeated',
        ),
    ] = None,
    quiet: Annotated[bool, quiet_option("errors and the files")] = False,
) -> None:
    """Draw every figure that these runs allow, or only those you choose, at column width.

    Learning curves, and the distributions of energy and accuracy over clients; for a single run also its map and its
    participation.
    """
    from fedradio.report.figures.choice import chosen_drawings, chosen_variants, drawable, names_of, split_labels
    from fedradio.report.figures.gallery import write
    from fedradio.results.variants import variants

    endings = _formats(formats)
    if out_dir is None and len(folders) > 1:
        raise SpecError(Problem("--out", "is required with several folders", "such as --out figures"))
    with LateProgress(err) as progress:
        runs, left_out = read_runs(folders, progress, exchanges=True)
        drawn = drawable(runs)
        chosen = chosen_variants(variants(drawn), _words(order), _words(without))
        names = names_of(chosen, split_labels(label or (), chosen))
        found = chosen_drawings(chosen, metric, _words(against), _words(only), target, names)
        files = write(found, out_dir or folders[0] / "figures", endings, progress)
    for note in _notes(runs, drawn, left_out):
        say(err, (f"note: {note}", "yellow"))
    if not quiet:
        print_drawings(files, found)
        return
    for file in files:
        say(out, str(file))


def _notes(runs: Sequence[Run], drawn: Sequence[Run], left_out: Sequence[LeftOut]) -> list[str]:
    """Notes about incomplete runs."""
    unfinished = [run for run in runs if run.status != "complete"]
    notes = [
        f"{'drawn up to where it stopped' if run in drawn else 'left out'}, {run.trouble}: {run.folder}"
        for run in unfinished
    ]
    return notes + [f"left out, {run.status}: {run.folder}" for run in left_out]


def _words(given: str) -> list[str]:
    """Split a list of names at commas, or at semicolons if it has any, so that names may contain commas."""
    return [word.strip() for word in given.split(";" if ";" in given else ",") if word.strip()]


def _formats(given: str) -> list[str]:
    """The file formats without duplicates; all unknown ones are reported together."""

    endings = list(dict.fromkeys(ending.strip().lower() for ending in given.split(",") if ending.strip()))
    remedy = f"one or more of: {', '.join(FORMATS)}"
    unknown = [ending for ending in endings if ending not in FORMATS]
    if unknown or not endings:
        problems = [
            Problem("--format", "unknown file format", suggest(ending, FORMATS) or remedy, ending) for ending in unknown
        ]
        raise SpecError(problems or Problem("--format", "names no file format", remedy, given))
    return endings
