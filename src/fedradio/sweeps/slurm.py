"""A sweep as an array of Slurm: a script whose tasks work on the sweep's folder together. Nothing is submitted here."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from fedradio.core.errors import Problem, SpecError
from fedradio.core.files import write_text

SCRIPT = "slurm.sh"

MOST_TASKS = 1000
"""Tasks of an array unless told otherwise: Slurm refuses more than 1001 where nobody has set another limit."""

STOP_BEFORE_S = 90
"""Seconds before its time limit when a task is told to end after its round, with a checkpoint."""


def slurm_script(
    folder: Path, tasks: int, *, name: str, options: str = "", cpus: int = 1, part_files: Sequence[Path] = ()
) -> str:
    """The script of an array of ``tasks`` tasks, each with so many processors, which work on the sweep in ``folder``.

    ``options`` are further ones of sbatch. The program replaces the shell, or signals would end with that.
    """
    try:
        given = shlex.split(options)
    except ValueError as error:
        raise SpecError(
            Problem("--sbatch", f"cannot be read: {error}", "write options as on a command line", options)
        ) from None
    whole = folder.absolute()
    heads = [
        f"--job-name=fedradio-{name}",
        f"--array=0-{tasks - 1}",
        f"--cpus-per-task={cpus}",
        f"--output={shlex.quote(str(whole).replace('%', '%%'))}/slurm-%A-%a.log",
        "--requeue",
        f"--signal=B:INT@{STOP_BEFORE_S}",
        *([shlex.join(given)] if given else []),
    ]
    words = [sys.executable, "-m", "fedradio", "work", str(whole), "--workers", str(cpus)]
    words += [word for path in part_files for word in ("--parts", str(path.absolute()))]
    directives = "".join(f"#SBATCH {head}\n" for head in heads)
    return f"#!/bin/bash\n{directives}exec {shlex.join(words)}\n"


def write_script(folder: Path, text: str) -> Path:
    """Write the script of a sweep into its folder; it can be run."""
    path = folder / SCRIPT
    write_text(path, text)
    os.chmod(path, 0o755)
    return path
