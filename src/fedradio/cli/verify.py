"""``fedradio verify``: check that the files of runs and sweeps are unchanged."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fedradio.cli.app import err, one_command, out
from fedradio.cli.options import FolderArguments, json_option, quiet_option
from fedradio.core.errors import FormatError, StoreError
from fedradio.core.progress import Progress
from fedradio.report.terminal.console import say
from fedradio.report.terminal.progress import LateProgress
from fedradio.runs.folder import SPEC_FILE, is_run
from fedradio.runs.manifest import Damage

if TYPE_CHECKING:
    from fedradio.results.sweep_file import ListedRun
    from fedradio.runs.verify import Verdict

app = one_command()


WRONG = ("damaged", "no run", "other format")
"""Findings that make the command fail, after all folders have been checked."""


@dataclass(frozen=True)
class Finding:
    """The status of a folder (``whole``, ``unfinished``, ``not begun``, ``damaged``, ``no run`` or ``other format``),
    and a description in words."""

    folder: str
    status: str
    words: str
    damage: list[Damage]


@app.command()
def verify(
    folders: FolderArguments,
    as_json: Annotated[bool, json_option("the findings")] = False,
    quiet: Annotated[bool, quiet_option("errors and damaged folders")] = False,
) -> None:
    """Check that the files of runs and sweeps are unchanged; checksums cover every byte."""
    with LateProgress(err) as progress:
        findings = list(_findings(folders, progress))
    damaged = any(finding.status in WRONG for finding in findings)
    if as_json:
        typer.echo(json.dumps([asdict(finding) for finding in findings], indent=2))
    else:
        for finding in findings:
            if finding.status == "no run":
                say(err, ("error", "red"), f" {finding.folder} is {finding.words}")
            elif finding.status == "other format":
                say(err, ("error", "red"), f" {finding.words}")
            elif finding.status == "damaged" or not quiet:
                style = "red" if finding.status == "damaged" else ""
                say(out, f"{finding.folder}: ", (finding.words, style))
    if damaged:
        raise typer.Exit(StoreError.exit_code)


def _findings(folders: Sequence[Path], progress: Progress) -> Iterator[Finding]:
    """The findings about every folder, and about every run that a sweep lists."""
    from fedradio.results.sweep_file import is_sweep, listed_runs

    for folder in folders:
        if not is_sweep(folder):
            progress(f"checking {folder}", None)
            yield _run(folder)
            continue
        try:
            listed = listed_runs(folder)
        except StoreError as error:
            status = "other format" if isinstance(error, FormatError) else "damaged"
            yield Finding(str(folder), status, str(error), [])
            continue
        for number, entry in enumerate(listed):
            progress(f"checking {entry.folder}", number / len(listed))
            yield _run(entry.folder, entry)


def _run(folder: Path, listed: ListedRun | None = None) -> Finding:
    """The finding about a run; if a sweep lists it, it must have the spec that the sweep lists."""
    from fedradio.results.run import why_no_run
    from fedradio.runs.verify import check_run

    if not is_run(folder):
        found = "no run" if listed is None else "not begun"
        return Finding(str(folder), found, why_no_run(folder) if listed is None else found, [])
    try:
        verdict = check_run(folder, thorough=True)
    except FormatError as error:
        return Finding(str(folder), "other format", str(error), [])
    damage = list(verdict.damage)
    if listed is not None and verdict.spec is not None and verdict.spec.sha256() != listed.spec.sha256():
        damage.append(Damage(SPEC_FILE, "is not the spec that the sweep lists for this run"))
    if damage:
        return Finding(str(folder), "damaged", f"damaged: {'; '.join(map(str, damage))}", damage)
    return Finding(str(folder), *_words(verdict), [])


def _words(verdict: Verdict) -> tuple[str, str]:
    """The status of an undamaged run, and what it is based on."""
    if verdict.summary is not None:
        return "whole", f"intact ({verdict.summary['status']})"
    if verdict.rounds is None:
        return "unfinished", "unfinished, without a checkpoint; only the format could be checked"
    return "unfinished", f"unfinished, intact up to its checkpoint after {verdict.rounds} rounds"
