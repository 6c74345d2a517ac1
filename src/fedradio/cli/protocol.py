"""``fedradio protocol``: run the privacy protocol of RawHFL's Fig. 2 with real cryptography."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fedradio.cli.app import Overrides, PartFiles, err, one_command, out
from fedradio.core.errors import Problem, SpecError
from fedradio.papers.studies.tags import SIZES, TYPICAL, Named, RequestWorld, size_leaks, tag_attacks
from fedradio.privacy.library import require_cryptography
from fedradio.privacy.padding import PADDINGS
from fedradio.privacy.steps import ACCESS, BACKHAUL
from fedradio.report.figures.axes import save
from fedradio.report.figures.sequence import sequence_figure
from fedradio.report.terminal import protocol as view
from fedradio.report.terminal.console import say
from fedradio.report.terminal.progress import LateProgress
from fedradio.report.terminal.words import count
from fedradio.spec.spec import Spec, load_spec

if TYPE_CHECKING:
    from fedradio.papers.studies.protocol import Demonstration, Setting

app = one_command()

SPEC = "a YAML file or a shipped spec whose data source has requests, such as rawhfl or osafl"
FIGURES = (".pdf", ".png", ".svg")


@app.command()
def protocol(
    spec: Annotated[str, typer.Argument(help=SPEC)] = "rawhfl",
    overrides: Overrides = None,
    requests: Annotated[
        int, typer.Option(min=1, max=100_000, help="number of requests to make; the first one is shown")
    ] = 1,
    content: Annotated[int | None, typer.Option(help="request this content; default: what the clients request")] = None,
    tags_only: Annotated[
        bool,
        typer.Option("--tags-only", help="send tags in the clear instead of sealed, which is one reading of the paper"),
    ] = False,
    suite: Annotated[
        str, typer.Option(help="x25519, or hybrid: with ML-KEM-768 on top, against quantum computers")
    ] = "x25519",
    padding: Annotated[
        str, typer.Option(help=f"padding of payloads and fetched files: {', '.join(PADDINGS)}")
    ] = "none",
    megabytes: Annotated[
        str | None,
        typer.Option(
            metavar="MB|LOW,HIGH",
            help="file size, or the range of log-uniform sizes; default: that of the spec's caches, or 1",
        ),
    ] = None,
    epoch: Annotated[
        int, typer.Option(min=0, help="change the key of the tags after this many requests; 0: never")
    ] = 0,
    attack: Annotated[bool, typer.Option("--attack", help="measure what tags and sizes still reveal")] = False,
    worlds: Annotated[
        int, typer.Option(min=1, max=1000, help="number of worlds for --attack, starting from the spec's seed")
    ] = 1,
    draws: Annotated[int, typer.Option(min=1, max=1000, help="number of epochs per world for --attack")] = 2,
    figure: Annotated[Path | None, typer.Option(help="also draw the chart to this PDF, PNG or SVG file")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="print everything as JSON")] = False,
    parts: PartFiles = None,
) -> None:
    """Run the privacy protocol of RawHFL's Fig. 2 with real cryptography: who sees what, what is refused, and attacks.

    Cells, clients and requests come from the spec. Prints the message sequence chart of a request, who saw which part
    of it, which attempts are refused, and the cost in bits and milliseconds; with --attack, it also measures what
    remains visible.
    """
    require_cryptography()
    from fedradio.papers.studies.protocol import Setting, caches_of, demonstrate

    given = _options(padding, megabytes, figure)
    checked = load_spec(spec, overrides or ())
    capacity, usual = caches_of(checked)
    sizes = usual if given is None else given
    chosen = next(each for each in PADDINGS if each == padding)
    setting = Setting(requests, content, tags_only, suite, chosen, sizes, epoch, capacity)
    with LateProgress(err) as progress:
        world = RequestWorld.of(checked)
        shown = demonstrate(world, setting, progress)
        named = tag_attacks(checked, SIZES, worlds, draws, progress) if attack else []
    if as_json:
        typer.echo(json.dumps(_document(checked, setting, shown, named), indent=2, allow_nan=False))
    else:
        _show(checked, world, setting, shown)
        if attack:
            out.print(view.attacks_table(named, worlds, draws))
            if sizes[0] == sizes[1]:
                out.print()
                out.print(view.leaks_table(size_leaks(world, TYPICAL), padding, TYPICAL))
    if figure is not None:
        save(sequence_figure(shown.first), figure, dpi=300)
        if not as_json:
            say(out, f"chart: {figure}")
    if any(not outcome.as_expected for outcome in shown.outcomes):
        raise typer.Exit(1)


def _options(padding: str, megabytes: str | None, figure: Path | None) -> tuple[float, float] | None:
    """Check the options that Typer cannot check; returns the range of sizes, if one is given."""
    problems = []
    if padding not in PADDINGS:
        problems.append(Problem("--padding", "unknown padding", f"one of: {', '.join(PADDINGS)}", padding))
    if figure is not None and (figure.suffix.lower() not in FIGURES or not figure.parent.is_dir()):
        remedy = "a .pdf, .png or .svg file in an existing folder"
        problems.append(Problem("--figure", "not a supported image file", remedy, str(figure)))
    sizes = None if megabytes is None else _range(megabytes)
    if megabytes is not None and sizes is None:
        remedy = "such as 1, or 5,50; at most 1000"
        problems.append(Problem("--megabytes", "not a size or a range of sizes", remedy, megabytes))
    if problems:
        raise SpecError(problems)
    return sizes


def _range(text: str) -> tuple[float, float] | None:
    """A number, or the lowest and the highest of a range; None for anything else."""
    try:
        sizes = [float(size) for size in text.split(",")]
    except ValueError:
        return None
    low, high = sizes[0], sizes[-1]
    return (low, high) if len(sizes) <= 2 and 1e-6 <= low <= high <= 1000 else None


def _show(spec: Spec, world: RequestWorld, setting: Setting, shown: Demonstration) -> None:
    from fedradio.privacy.disclosure import TITLES

    kind = "tags in the clear" if setting.tags_only else "sealed requests"
    cells = len(set(world.cell))
    about = (
        f"{len(world.cell)} clients in {count(cells, 'cell')}, {world.contents} contents; {kind}, suite {setting.suite}"
    )
    say(out, (spec.name, "bold"), f"  {about}")
    say(out, f"client {shown.client} in cell {shown.cell} requests content {shown.content}")
    tables = [
        view.chart(shown.first),
        view.seen_table(shown.seen, TITLES),
        view.refusals_table(shown.outcomes),
        view.costs_table(shown, setting.requests),
        view.leaks_table(shown.leaks, setting.padding, setting.megabytes),
    ]
    if shown.summed is not None:
        tables.append(view.sum_table(shown.summed))
    for table in tables:
        out.print()
        out.print(table)
    out.print()


def _document(spec: Spec, setting: Setting, shown: Demonstration, named: list[Named]) -> dict[str, Any]:
    """Everything as plain data, without message contents and keys."""
    return {
        "spec": spec.name,
        "seed": spec.seed,
        "setting": asdict(setting),
        "request": {"client": shown.client, "cell": shown.cell, "content": shown.content, "hit": shown.first.hit},
        "steps": [asdict(step) for step in shown.first.steps],
        "seen": {each.fact: list(each.parties) for each in shown.seen},
        "refusals": [
            {
                "attempt": each.trial.what,
                "by": each.trial.by,
                "refused_by": each.party,
                "why": None if each.refusal is None else each.refusal.name.lower(),
                "as_expected": each.as_expected,
            }
            for each in shown.outcomes
        ],
        "access_bits": shown.first.bits(ACCESS),
        "backhaul_bits": shown.first.bits(BACKHAUL),
        "key_bits": shown.key_bits,
        "hits": shown.hits,
        "epochs": shown.epochs,
        "ms": shown.ms,
        "sizes": [asdict(leak) for leak in shown.leaks],
        "summed": None if shown.summed is None else asdict(shown.summed),
        "attacks": [asdict(row) for row in named],
    }
