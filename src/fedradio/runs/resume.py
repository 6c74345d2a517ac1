"""Resumes a run from its last good checkpoint; a complete one whose files are damaged is made anew."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from fedradio.core.errors import Problem, SpecError, StoreError
from fedradio.rounds.round import begin
from fedradio.rounds.simulation import GIVEN_VALUES, Simulation
from fedradio.runs.cache_summary import stored_cache
from fedradio.runs.checkpoint import Checkpoint, Checkpointer, form, last_good
from fedradio.runs.checkpoint_files import accept, checkpoint_damage, checkpoint_path, checkpoint_rounds, prune
from fedradio.runs.composed import same_composition
from fedradio.runs.folder import (
    CHECKPOINT_FOLDER,
    DESCRIPTION_FILE,
    ENVIRONMENT_FILE,
    MODEL_FILE,
    RECORDS_FILE,
    SPEC_FILE,
    SUMMARY_FILE,
    RunFolder,
    checkpoint_round,
    plain_environment,
)
from fedradio.runs.manifest import Damage, checksum
from fedradio.runs.own_parts import other_part_file, part_checksums
from fedradio.runs.run import BackendOf, Observer, Session, carry_on, plain_header, start_files
from fedradio.runs.stored import read_environment, read_summary
from fedradio.runs.summary import RunningSummary, Summary
from fedradio.runs.verify import Verdict, check_run
from fedradio.spec.build import build
from fedradio.spec.spec import COMPOSED, Spec, check_spec


def resume(
    path: Path | str,
    *,
    simulation: Simulation | None = None,
    rounds: int | None = None,
    workers: int | None = None,
    observer: Observer | None = None,
    keep: bool = True,
    changed_parts: bool = False,
    backend: BackendOf | None = None,
) -> Summary:
    """Resume a run from the last good checkpoint of its folder, else from the start; ``rounds`` is a new total.

    Records beyond the checkpoint are cut and made again: records and final model equal, bit for bit, those of a run
    without interruption. A run that is complete is left as it is, unless files of it are damaged: these are set aside,
    and it is made again from the last checkpoint that is whole. ``keep``: see :func:`fedradio.runs.run.run`. Files of
    the user's own that its parts came from must be loaded, and be the same, unless ``changed_parts`` are taken. A run
    that was composed in Python needs the ``simulation`` that it was made with, composed once more, and a federation the
    one whose clients are its devices.
    ``backend`` makes what trains and evaluates; it need not be the one that the run began with.
    """
    observer = observer or Observer()
    with RunFolder(Path(path), resumed=True) as folder:
        verdict = check_run(folder.path, thorough=_is_complete(folder.path))
        complete = _complete(verdict)
        if complete is not None and not verdict.damage and rounds in (None, complete.rounds):
            return _nothing_to_do(folder, complete, observer)
        _refuse_other_parts(folder.path, verdict, changed_parts)
        spec = _with_rounds(_proven_spec(folder.path, verdict), rounds, 0 if complete is None else complete.rounds)
        done = None if complete is None or complete.rounds != spec.rounds else complete
        before = {} if ENVIRONMENT_FILE in _names(verdict.damage) else _environment(folder.path)
        _refuse_other_clients(folder.path, before, simulation)
        if simulation is not None and simulation.clients is not None:
            sim = simulation
        elif simulation is not None or COMPOSED in spec.plain:
            sim = same_composition(spec, simulation, folder.path)
        else:
            sim = build(spec, before.get("device", "cpu"), workers)
        sim = sim if backend is None else replace(sim, backend=backend(spec))
        refuse_other_files(before.get("files", {}), sim.files)
        if done is not None and _mended(folder, verdict, start_files(spec, sim, before), observer):
            return _nothing_to_do(folder, done, observer)
        checkpoint, refused = last_good(folder.path, spec, form(begin(sim)))
        _with_rounds(spec, None, 0 if checkpoint is None else checkpoint.state.t)
        older = [each for each in checkpoint_damage(folder.path, spec, tensors=True)[1] if each.file != RECORDS_FILE]
        damaged = {each.file: each for each in (*older, *verdict.damage, *refused)}
        for damage in damaged.values():
            _set_aside(folder, damage, observer)
        _prune_lost(folder, set(damaged))
        return carry_on(_session(folder, spec, sim, checkpoint, before, observer, keep))


def _refuse_other_parts(folder: Path, verdict: Verdict, changed: bool) -> None:
    """Refuse to go on where a file of the user's own is not loaded; unless ``changed``, also with another text."""
    if DESCRIPTION_FILE in _names(verdict.damage):
        return
    other = other_part_file(folder)
    if other is None:
        return
    if other.instead is None:
        command = shlex.join(["fedradio", "resume", str(folder), "--parts", other.option])
        raise StoreError(f"parts of this run came from {other.name}; load it: {command}")
    if not changed:
        remedy = "restore it, or accept the change with --changed-parts"
        raise StoreError(f"{other.instead} is not the file that this run was made with; {remedy}")


def _refuse_other_clients(folder: Path, before: Mapping[str, Any], simulation: Simulation | None) -> None:
    """Refuse to resume a federation of real devices as a simulation, or with the devices of another one."""
    devices = None if simulation is None or simulation.clients is None else simulation.clients.describe()
    made = before.get("federation") or {}
    if made and devices is None:
        reason = f"{folder} is a federation of real devices, which a simulation cannot continue"
        if (folder / MODEL_FILE).exists():
            raise StoreError(f"{reason}; it is complete, and federations cannot be extended")
        raise StoreError(f"{reason}; resume it with: fedradio serve SPEC --out {shlex.quote(str(folder))} --resume")
    if devices is not None and devices["run"] != made.get("run"):
        raise StoreError(f"{folder} was not made with these devices")


def refuse_other_files(before: Mapping[str, str], now: Mapping[str, str]) -> None:
    """Refuse to go on with a file that is not the one that the run was made with."""
    for path, sha256 in before.items():
        if now.get(path, sha256) != sha256:
            if path == GIVEN_VALUES:
                reason = "the model starts from different values than this run (their checksum differs)"
                raise StoreError(f"{reason}; use the same values, or let wrap() redraw them from the seed")
            raise StoreError(f"{path} is not the file that this run was made with (its checksum differs); restore it")


def _session(
    folder: RunFolder,
    spec: Spec,
    sim: Simulation,
    checkpoint: Checkpoint | None,
    before: Mapping[str, Any],
    observer: Observer,
    keep: bool,
) -> Session:
    """The run at its checkpoint; records written after it are cut off.

    A process that is killed here leaves a run without summary, whose checkpoint accepts the old and the new files.
    """
    done = 0 if checkpoint is None else checkpoint.state.t
    now = plain_environment(str(before.get("device", "cpu")), sim.workers, sim.files | part_checksums(spec))
    _note_difference(before, now, observer)
    environment = {**(before or now), "resumed": [*before.get("resumed", []), {**now, "rounds": done}]}
    files = start_files(spec, sim, environment)
    if checkpoint is not None:
        accept(checkpoint_path(folder.path, done), {name: checksum(data) for name, data in files.items()})
    folder.remove(SUMMARY_FILE)
    folder.remove(MODEL_FILE)
    folder.open_records(0 if checkpoint is None else checkpoint.records.size)
    for name, data in files.items():
        folder.write(name, data)
    checkpointer = Checkpointer(folder, spec, checkpoint)
    if checkpoint is None:
        folder.append(plain_header(sim))
        observer.noted("there is no checkpoint to continue from: the run starts from the beginning")
        return Session(spec, sim, begin(sim), RunningSummary(), observer, folder, checkpointer, keep=keep)
    return Session(
        spec,
        sim,
        checkpoint.state,
        checkpoint.running,
        observer,
        folder,
        checkpointer,
        checkpoint.wall_s,
        keep=keep,
    )


def _proven_spec(folder: Path, verdict: Verdict) -> Spec:
    """The spec of a run; one that is not that of its summary is refused."""
    if verdict.spec is None:
        reason = next(str(each) for each in verdict.damage if each.file == SPEC_FILE)
        raise StoreError(f"{folder / reason}; restore {SPEC_FILE}")
    if verdict.summary is not None and verdict.spec.sha256() != verdict.summary["spec_sha256"]:
        remedy = "restore it, or run it into another folder"
        raise StoreError(f"{folder / SPEC_FILE} is not the spec of this run (its fingerprint differs); {remedy}")
    if COMPOSED in verdict.spec.plain:
        return verdict.spec
    try:
        return check_spec(verdict.spec.plain)
    except SpecError as error:
        raise StoreError(f"{folder / SPEC_FILE} cannot be run: {'; '.join(map(str, error.problems))}") from None


def _with_rounds(spec: Spec, rounds: int | None, done: int) -> Spec:
    """The spec, with another number of rounds if one is given; not fewer than are done."""
    if rounds is None and spec.rounds < done:
        raise StoreError(f"{SPEC_FILE} has {spec.rounds} rounds, but {done} are already done; restore it")
    if rounds is not None and rounds < done:
        raise SpecError(Problem("--rounds", f"{done} rounds are already done", f"use at least {done}", rounds))
    if rounds is None:
        return spec
    longer = spec.plain | {"rounds": rounds}
    return Spec(longer) if COMPOSED in longer else check_spec(longer)


def _is_complete(folder: Path) -> bool:
    """Whether the summary says so; whether it can be believed is another matter."""
    try:
        return bool(read_summary(folder)["status"] == "complete")
    except StoreError:
        return False


def _complete(verdict: Verdict) -> Summary | None:
    """The summary of a complete run, else None."""
    stored = verdict.summary
    if stored is None or stored["status"] != "complete":
        return None
    told = {field.name: stored[field.name] for field in fields(Summary) if field.name in stored}
    return Summary(**told | {"cache": stored_cache(stored.get("cache"))})


def _environment(folder: Path) -> dict[str, Any]:
    """Versions and machine that the run began with; empty if they cannot be read, or were not written yet."""
    try:
        return read_environment(folder)
    except StoreError:
        return {}


def _mended(folder: RunFolder, verdict: Verdict, start: Mapping[str, bytes], observer: Observer) -> bool:
    """Whether a complete run is whole again without a round being made: it does without checkpoints, and what was
    written before its first round can be written once more, if that gives the same bytes."""
    again = {name: data for name, data in start.items() if verdict.manifest.get(name) == checksum(data)}
    damaged = _names(verdict.damage)
    if any(name not in again and Path(name).parts[0] != CHECKPOINT_FOLDER for name in damaged):
        return False
    for damage in verdict.damage:
        _set_aside(folder, damage, observer)
    for name in damaged & again.keys():
        folder.write(name, again[name])
    _prune_lost(folder, damaged)
    return True


def _prune_lost(folder: RunFolder, damaged: set[str]) -> None:
    """Remove what is left of checkpoints of which a file was damaged."""
    lost = {checkpoint_round(Path(name).name) for name in damaged}
    prune(folder.path, {t for t in checkpoint_rounds(folder.path) if t not in lost})


def _nothing_to_do(folder: RunFolder, complete: Summary, observer: Observer) -> Summary:
    more = "" if _environment(folder.path).get("federation") else "; use `--rounds N` to extend it"
    observer.noted(f"{folder.path} is complete: there is nothing left to do{more}")
    return complete


def _set_aside(folder: RunFolder, damage: Damage, observer: Observer) -> None:
    """Move a damaged file out of the way, and say so."""
    where = folder.set_aside(damage.file) if os.path.lexists(folder.path / damage.file) else None
    observer.noted(
        f"{folder.path / damage.file}: {damage.reason}" + ("" if where is None else f"; set aside as {where}")
    )


def _names(damage: Iterable[Damage]) -> set[str]:
    return {each.file for each in damage}


def _note_difference(before: Mapping[str, Any], now: Mapping[str, Any], observer: Observer) -> None:
    """Tell the observer of other versions or machines, which may round differently from an uninterrupted run."""
    keys = ("fedradio", "packages", "machine", "vector_instructions")
    other = [key.replace("_", " ") for key in keys if (before.get(key) or now[key]) != now[key]]
    if other:
        observer.noted(
            f"{', '.join(other)} differ from the start of the run: results may differ from an uninterrupted run"
        )
