"""Go on with a run whose process has ended, as if it had not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from fedradio.core.errors import Problem, SpecError, StoreError
from fedradio.experiment import store
from fedradio.experiment.build import build
from fedradio.experiment.checkpoint import Checkpoint, Keeper, last_good
from fedradio.experiment.run import Observer, Session, Silent, Summary, carry_on
from fedradio.experiment.spec import Spec, check_spec, load_spec
from fedradio.experiment.tally import Tally
from fedradio.rounds.step import begin


def resume(
    path: Path | str,
    *,
    rounds: int | None = None,
    workers: int | None = None,
    observer: Observer | None = None,
) -> Summary:
    """Go on from the last good checkpoint of a run folder, else from the beginning; ``rounds`` is a new end.

    Records beyond the checkpoint are cut and made again: records and final model equal, bit for bit, those of a run
    without interruption. A run that is complete is left as it is.
    """
    watch = observer or Silent()
    with store.RunFolder(Path(path), again=True) as folder:
        spec = load_spec(folder.path / store.SPEC)
        complete = _complete(folder.path, spec)
        if complete is not None and rounds in (None, complete.rounds):
            watch.noted(f"{folder.path} is complete: nothing is left to do; `--rounds N` would make it longer")
            return complete
        found, refused = last_good(folder, spec)
        done = max(0 if found is None else found.state.t, 0 if complete is None else complete.rounds)
        for text in refused:
            watch.noted(text)
        return carry_on(_session(folder, _until(spec, rounds, done), found, workers, watch))


def _session(
    folder: store.RunFolder, spec: Spec, found: Checkpoint | None, workers: int | None, watch: Observer
) -> Session:
    """The run as the checkpoint has it; the folder is cut back to that moment."""
    before = store.read_plain(folder.path / store.ENVIRONMENT)  # empty where it was killed before it said so
    sim = build(spec, before.get("device", "cpu"), workers)
    now = store.environment(str(before.get("device", "cpu")), sim.workers)
    _tell_difference(before, now, watch)
    folder.rewind(0 if found is None else found.records.size)
    (folder.path / store.SUMMARY).unlink(missing_ok=True)
    store.write_text(folder.path / store.SPEC, spec.yaml())
    resumed = [*before.get("resumed", []), {"rounds": 0 if found is None else found.state.t, **now}]
    store.write_json(folder.path / store.ENVIRONMENT, (before or now) | {"resumed": resumed})
    store.write_json(folder.path / store.NETWORK, store.network(sim.topology))
    keeper = Keeper(folder, spec, found)
    if found is None:
        watch.noted("there is no checkpoint to go on from: the run starts from the beginning")
        return Session(spec, sim, begin(sim), Tally(), watch, folder, keeper)
    return Session(spec, sim, found.state, found.tally, watch, folder, keeper, found.wall_s)


def _until(spec: Spec, rounds: int | None, done: int) -> Spec:
    """The spec with another end, which must not lie behind."""
    if rounds is None:
        return spec
    if rounds < done:
        raise SpecError(Problem("--rounds", f"{done} rounds are made already", f"at least {done}", rounds))
    return check_spec(spec.plain | {"rounds": rounds})


def _complete(folder: Path, spec: Spec) -> Summary | None:
    """The summary of a run that has made all its rounds; of another spec it is refused."""
    try:
        stored = store.read_summary(folder)
    except StoreError:  # the process was killed before it wrote one
        return None
    if stored.get("status") != "complete":
        return None
    if stored["spec_sha256"] != spec.sha256():
        raise StoreError(f"{folder}: {store.SPEC} is not the spec of this run (its fingerprint differs)")
    return Summary(**{field.name: stored[field.name] for field in fields(Summary) if field.name in stored})


def _tell_difference(before: Mapping[str, Any], now: Mapping[str, Any], watch: Observer) -> None:
    """Another version may round otherwise: the result then differs from that of an uninterrupted run."""
    other = [key for key in ("fedradio", "packages", "machine") if before.get(key, now[key]) != now[key]]
    if other:
        watch.noted(f"other {', '.join(other)} than at the start of the run: results may differ from a run in one go")
