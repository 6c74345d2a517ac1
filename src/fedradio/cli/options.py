"""Arguments and options that several commands share, each declared once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from fedradio.cli.app import load_given
from fedradio.core.errors import Problem, SpecError

Place = Literal["local", "ray"]
"""Where runs are made, or trained: on this machine, or on a Ray cluster."""

RAY_HELP = "ray: the cluster at RAY_ADDRESS, or Ray on this machine if that is not set"

# ---- what a command is about

SpecArgument = Annotated[str, typer.Argument(help="a YAML file, or a shipped spec (see `fedradio ls spec`)")]
Overrides = Annotated[
    list[str] | None,
    typer.Argument(help="override spec values with key=value, such as rule.lr=0.05 or data.source=mnist"),
]
RunArgument = Annotated[Path, typer.Argument(metavar="RUN", help="run folder")]
FolderArgument = Annotated[Path, typer.Argument(metavar="RUN|SWEEP", help="run folder or sweep folder")]
FolderArguments = Annotated[list[Path], typer.Argument(metavar="RUN|SWEEP", help="run folders and sweep folders")]

# ---- what is run

Seed = Annotated[int | None, typer.Option(help="override the spec's seed")]
Rounds = Annotated[int | None, typer.Option(help="override the spec's number of rounds")]
PartFiles = Annotated[
    list[Path] | None,
    typer.Option(
        "--parts",
        metavar="FILE",
        is_eager=True,
        callback=load_given,
        help="a Python file that registers your own parts; the file is executed. Can be repeated; "
        "FEDRADIO_PARTS=FILE loads it in every command",
    ),
]
RunOut = Annotated[Path | None, typer.Option("--out", help="run folder; default: runs/NAME-seedN")]

# ---- where and how it is run

Device = Annotated[Literal["cpu", "cuda"], typer.Option(help="device to train on")]
Workers = Annotated[int | None, typer.Option(min=1, help="number of threads; does not affect results")]
WorkersPerRun = Annotated[int | None, typer.Option(min=1, help="threads per run; default: all cores, shared")]
TrainOn = Annotated[Place, typer.Option("--on", help=f"where to train (does not affect results); {RAY_HELP}")]
Actors = Annotated[
    int | None,
    typer.Option(
        min=1, max=4096, help="with --on ray: number of processes that train and evaluate; default: one per CPU"
    ),
]
Jobs = Annotated[
    int | None,
    typer.Option(
        min=1,
        max=10_000,
        help="number of runs at a time; does not affect results; default: 1, or as many as fit on a cluster",
    ),
]


Insecure = Annotated[bool, typer.Option("--insecure", help="no TLS and no keys; only if all is on one machine")]

# ---- what is printed and drawn


def json_option(what: str = "everything") -> Any:
    """The option ``--json``, with which a command prints plain data in place of text."""
    return typer.Option("--json", help=f"print {what} as JSON")


def figure_option(what: str) -> Any:
    """The option ``--figure`` for a file with a drawing of ``what``."""
    return typer.Option("--figure", callback=_image_file, help=f"also draw {what} to this PDF or PNG file")


def _image_file(figure: Path | None) -> Path | None:
    """Refuse a file that cannot be drawn, before the command begins."""
    if figure is not None and (figure.suffix.lower() not in (".pdf", ".png") or not figure.parent.is_dir()):
        remedy = "a .pdf or .png file in an existing folder"
        raise SpecError(Problem("--figure", "not a supported image file", remedy, str(figure)))
    return figure


def seeds_option(owner: str) -> Any:
    """The option ``--seeds``; without it, the seeds are those of ``owner``."""
    return typer.Option(help=f"5 means seeds 1 to 5, 1,2,7 means exactly these; default: the {owner}'s own")


def quiet_option(rest: str = "errors") -> Any:
    """The option ``--quiet``, with which a command prints only ``rest``."""
    return typer.Option("--quiet", "-q", help=f"print only {rest}")


def changes(overrides: list[str] | None, seed: int | None, rounds: int | None) -> list[str]:
    """The overrides, including those given as options."""
    options = {"seed": seed, "rounds": rounds}
    return [*(overrides or ()), *(f"{key}={value}" for key, value in options.items() if value is not None)]
