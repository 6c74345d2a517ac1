"""Resumes a run from its last good checkpoint."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from fedradio.core.errors import Problem, SpecError, StoreError
from fedradio.core.files import read_json, write_json, write_text
from fedradio.rounds.round import begin
from fedradio.runs.checkpoint import Checkpoint, Checkpointer, last_good
from fedradio.runs.folder import (
    DESCRIPTION_FILE,
    ENVIRONMENT_FILE,
    NETWORK_FILE,
    SPEC_FILE,
    SUMMARY_FILE,
    RunFolder,
    plain_environment,
    plain_network,
    read_summary,
)
from fedradio.runs.run import Observer, Session, carry_on
from fedradio.runs.summary import RunningSummary, Summary
from fedradio.spec.build import build
from fedradio.spec.description import describe
from fedradio.spec.spec import Spec, check_spec, load_spec


def resume(
    path: Path | str,
    *,
    rounds: int | None = None,
    workers: int | None = None,
    observer: Observer | None = None,
) -> Summary:
    """Resume a run from the last good checkpoint of its folder, else from the start; ``rounds`` is a new total.

    Records beyond the checkpoint are cut and made again: records and final model equal, bit for bit, those of a run
    without interruption. A run that is complete is left as it is.
    """
    observer = observer or Observer()
    with RunFolder(Path(path), resumed=True) as folder:
        spec = load_spec(folder.path / SPEC_FILE)
        complete = _complete(folder.path, spec)
        if complete is not None and rounds in (None, complete.rounds):
            observer.noted(f"{folder.path} is complete: nothing is left to do; `--rounds N` would make it longer")
            return complete
        checkpoint, refused = last_good(folder, spec)
        done = max(0 if checkpoint is None else checkpoint.state.t, 0 if complete is None else complete.rounds)
        for reason in refused:
            observer.noted(reason)
        return carry_on(_session(folder, _with_rounds(spec, rounds, done), checkpoint, workers, observer))


def _session(
    folder: RunFolder, spec: Spec, checkpoint: Checkpoint | None, workers: int | None, observer: Observer
) -> Session:
    """The run at its checkpoint; records written after it are cut off."""
    before = read_json(folder.path / ENVIRONMENT_FILE)  # empty if the process was killed before it wrote this
    sim = build(spec, before.get("device", "cpu"), workers)
    now = plain_environment(str(before.get("device", "cpu")), sim.workers)
    _note_difference(before, now, observer)
    folder.rewind(0 if checkpoint is None else checkpoint.records.size)
    (folder.path / SUMMARY_FILE).unlink(missing_ok=True)
    write_text(folder.path / SPEC_FILE, spec.yaml())
    write_json(folder.path / DESCRIPTION_FILE, describe(spec))
    resumed = [*before.get("resumed", []), {"rounds": 0 if checkpoint is None else checkpoint.state.t, **now}]
    write_json(folder.path / ENVIRONMENT_FILE, (before or now) | {"resumed": resumed})
    write_json(folder.path / NETWORK_FILE, plain_network(sim.topology))
    checkpointer = Checkpointer(folder, spec, checkpoint)
    if checkpoint is None:
        observer.noted("there is no checkpoint to go on from: the run starts from the beginning")
        return Session(spec, sim, begin(sim), RunningSummary(), observer, folder, checkpointer)
    return Session(spec, sim, checkpoint.state, checkpoint.running, observer, folder, checkpointer, checkpoint.wall_s)


def _with_rounds(spec: Spec, rounds: int | None, done: int) -> Spec:
    """The spec with another number of rounds, not fewer than are done."""
    if rounds is None:
        return spec
    if rounds < done:
        raise SpecError(Problem("--rounds", f"{done} rounds are made already", f"at least {done}", rounds))
    return check_spec(spec.plain | {"rounds": rounds})


def _complete(folder: Path, spec: Spec) -> Summary | None:
    """The summary of a complete run, else None; one of another spec is refused."""
    try:
        stored = read_summary(folder)
    except StoreError:  # the process was killed before it wrote one
        return None
    if stored.get("status") != "complete":
        return None
    if stored["spec_sha256"] != spec.sha256():
        raise StoreError(f"{folder}: {SPEC_FILE} is not the spec of this run (its fingerprint differs)")
    return Summary(**{field.name: stored[field.name] for field in fields(Summary) if field.name in stored})


def _note_difference(before: Mapping[str, Any], now: Mapping[str, Any], observer: Observer) -> None:
    """Tell the observer of other versions or machines, which may round differently from an uninterrupted run."""
    other = [key for key in ("fedradio", "packages", "machine") if before.get(key, now[key]) != now[key]]
    if other:
        observer.noted(
            f"other {', '.join(other)} than at the start of the run: results may differ from a run in one go"
        )
