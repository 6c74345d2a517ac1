"""Runs a spec, into a run folder that can be resumed at any time."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from fedradio.core.contracts import Backend, ExchangeRecord, RoundRecord, SimState
from fedradio.core.errors import DivergenceError, FedradioError, StoreError
from fedradio.core.files import canonical, sealed, write_bytes
from fedradio.engine.backend import Engine
from fedradio.rounds.evaluation import final_model
from fedradio.rounds.round import begin, run_round
from fedradio.rounds.simulation import Simulation
from fedradio.runs.cache_summary import CacheSummary, RunningCache, summarised
from fedradio.runs.checkpoint import Checkpointer
from fedradio.runs.checkpoint_files import prune
from fedradio.runs.composed import described
from fedradio.runs.folder import (
    DESCRIPTION_FILE,
    ENVIRONMENT_FILE,
    MODEL_FILE,
    NETWORK_FILE,
    SPEC_FILE,
    SUMMARY_FILE,
    RunFolder,
    plain_environment,
    plain_network,
)
from fedradio.runs.interrupt import Interrupts
from fedradio.runs.manifest import plain_manifest
from fedradio.runs.own_parts import part_checksums
from fedradio.runs.place import check_new_place
from fedradio.runs.records import cache_row, evaluation_row, exchange_row, header_row, round_row
from fedradio.runs.speed import note_run
from fedradio.runs.summary import RunningSummary, Status, Summary, plain_summary
from fedradio.runs.tensors import write_tensors
from fedradio.spec.build import build
from fedradio.spec.spec import Spec

LOG = logging.getLogger(__name__)

BackendOf = Callable[[Spec], Backend]
"""Makes the backend that trains and evaluates the run of a spec."""


class Observer:
    """Listener to the events of a run. It does nothing; subclasses, such as progress bars, override its methods."""

    def started(self, sim: Simulation, spec: Spec, folder: Path | None, done: int) -> None:
        """The run starts or resumes; ``done`` rounds were made before."""

    def recorded(self, record: RoundRecord, exchanges: Sequence[ExchangeRecord]) -> None:
        """A round has been run; these are its records."""

    def advanced(self, state: SimState, record: RoundRecord) -> None:
        """A round has been run and recorded, and a checkpoint written if one was due."""

    def noted(self, text: str) -> None:
        """Something the user should know has happened."""

    def stopping(self) -> None:
        """The run will stop after this round. Called from a signal handler: do little."""


@dataclass
class Session:
    """A run under way: what to run, where it stands, who observes it, and where it is written.

    ``mid_round``: the state is being updated in place by a round and must not be stored. ``before_s`` are the wall
    seconds of the processes that ran it before this one. ``keep``: checkpoints are of use after the end of the run.
    ``cpu``: CPU seconds of the rounds of this process, and whether each was evaluated.
    """

    spec: Spec
    sim: Simulation
    state: SimState
    running: RunningSummary
    observer: Observer
    folder: RunFolder | None = None
    checkpointer: Checkpointer | None = None
    before_s: float = 0.0
    keep: bool = True
    began: float = field(default_factory=time.perf_counter)
    mid_round: bool = False
    cpu: list[tuple[float, bool]] = field(default_factory=list)

    @property
    def wall_s(self) -> float:
        """Wall seconds of the run so far."""
        return self.before_s + time.perf_counter() - self.began

    def save(self) -> None:
        """Write a checkpoint, if there is a folder and the state is whole."""
        if self.checkpointer is not None and not self.mid_round:
            self.checkpointer.save(self.state, self.running, self.wall_s)


def run(
    spec: Spec,
    out: Path | str | None = None,
    *,
    device: str = "cpu",
    workers: int | None = None,
    observer: Observer | None = None,
    simulation: Simulation | None = None,
    keep: bool = True,
    backend: BackendOf | None = None,
) -> Summary:
    """Run a spec; with ``out``, write records and checkpoints into that folder as they are made.

    A folder that cannot be used is refused before the simulation is built.

    Ctrl-C, SIGTERM or SIGHUP ends the run after the round under way, a second one at once; divergence and a full disk
    end it too. The summary so far is written with that status, then the exception is raised again. Unless ``keep``, the
    checkpoints of a complete run are removed. ``backend`` makes what trains and evaluates; results do not depend on it.
    """
    if out is not None:
        check_new_place(Path(out))
    sim = build(spec, device, workers) if simulation is None else simulation
    sim = sim if backend is None else replace(sim, backend=backend(spec))
    observer = observer or Observer()
    if out is None:
        return carry_on(Session(spec, sim, begin(sim), RunningSummary(), observer))
    with RunFolder(Path(out)) as folder:
        environment = plain_environment(device, sim.workers, sim.files | part_checksums(spec))
        if sim.clients is not None:
            environment["federation"] = sim.clients.describe()
        for name, data in start_files(spec, sim, environment).items():
            folder.write(name, data)
        folder.append(plain_header(sim))
        checkpointer = Checkpointer(folder, spec)
        return carry_on(Session(spec, sim, begin(sim), RunningSummary(), observer, folder, checkpointer, keep=keep))


def start_files(spec: Spec, sim: Simulation, environment: Mapping[str, Any]) -> dict[str, bytes]:
    """The files that are written before the first round."""
    return {
        SPEC_FILE: spec.yaml().encode(),
        DESCRIPTION_FILE: canonical(described(spec, sim)),
        ENVIRONMENT_FILE: canonical(environment),
        NETWORK_FILE: canonical(plain_network(sim.topology)),
    }


def plain_header(sim: Simulation) -> dict[str, Any]:
    """The first record of a run, as plain data."""
    hops = range(sim.topology.hops)
    return header_row([sim.topology.senders(h) for h in hops], [sim.topology.receivers(h) for h in hops])


def carry_on(session: Session) -> Summary:
    """Run the remaining rounds and write the summary."""
    status: Status = "failed"
    try:
        _rounds(session)
        _conclude(session)
        _note_speed(session)
        status = "complete"
    except KeyboardInterrupt:
        status = "interrupted"
        session.save()
        _note_speed(session)
        raise
    except FedradioError as error:
        status = "diverged" if isinstance(error, DivergenceError) else status
        if session.checkpointer is not None:
            error.add_note(session.checkpointer.message())
        raise
    finally:
        summary = _summary(session, status)
        _store_summary(session, summary)
        LOG.info("%s is %s after %d rounds and %.3f s", summary.name, status, summary.rounds, summary.wall_s)
    if session.folder is not None and not session.keep:
        prune(session.folder.path, set())
    return summary


def _rounds(session: Session) -> None:
    """Run the remaining rounds, until the end or Ctrl-C."""
    folder = None if session.folder is None else session.folder.path
    spec, done = session.spec, session.state.t
    LOG.info(
        "%s (%s): %d of %d rounds to make, in %s",
        spec.name,
        spec.sha256()[:12],
        spec.rounds - done,
        spec.rounds,
        folder,
    )
    session.observer.started(session.sim, session.spec, folder, session.state.t)
    session.began = time.perf_counter()
    with Interrupts(session.observer.stopping) as interrupts:
        while session.state.t < session.spec.rounds:
            record = _advance(session)
            if session.checkpointer is not None:
                away = session.sim.clients is not None  # devices can repeat one exchange, not several
                offer = session.checkpointer.save if away else session.checkpointer.offer
                offer(session.state, session.running, session.wall_s)
            session.observer.advanced(session.state, record)
            if interrupts.asked:
                raise KeyboardInterrupt


def _advance(session: Session) -> RoundRecord:
    """Run one round and append its records."""
    spec, running, done = session.spec, session.running, session.state.t + 1
    began, began_cpu = time.perf_counter(), time.process_time()
    session.mid_round = True
    state, record, exchanges = run_round(session.sim, session.state, done % spec.eval_every == 0 or done == spec.rounds)
    record = replace(record, wall_s=round(time.perf_counter() - began, 6))
    cpu_s = time.process_time() - began_cpu
    session.cpu.append((cpu_s, record.evaluation is not None))
    running.spend(cpu_s, first=session.state.t == 0)
    running.count(record, exchanges)
    if session.sim.cache is not None:
        running.cache = running.cache or RunningCache()
        running.cache.count(session.sim.cache, record, session.sim.hops[0].deadline_s)
    rows = [exchange_row(exchange) for exchange in exchanges]
    rows += [*map(cache_row, record.caches), round_row(record)]
    if record.evaluation is not None:
        running.see(record.evaluation)
        rows.append(evaluation_row(record.evaluation))
    if session.folder is not None:
        session.folder.append(*rows)
    session.state, session.mid_round = state, False
    LOG.debug("round %d of %d in %.3f s, %d exchanges", done, spec.rounds, record.wall_s, len(exchanges))
    session.observer.recorded(record, exchanges)
    return record


def _note_speed(session: Session) -> None:
    """Note the speed of this machine, unless the run was trained by others."""
    if session.sim.clients is None and isinstance(session.sim.backend, Engine) and session.sim.device.type == "cpu":
        note_run(session.spec, session.cpu)


def _conclude(session: Session) -> None:
    """Write the last checkpoint, from which the run can be extended, and the model."""
    if session.checkpointer is not None and session.keep:
        session.checkpointer.conclude(session.state, session.running, session.wall_s)
    if session.folder is not None:
        model = final_model(session.sim, session.state)
        session.folder.note(MODEL_FILE, write_tensors(session.folder.path / MODEL_FILE, model))


def _store_summary(session: Session, summary: Summary) -> None:
    """Write ``summary.json``, with the checksums of all files and its own; that of a failed run must not fail again."""
    if session.folder is None:
        return
    document = plain_summary(summary) | {"files": plain_manifest(session.folder.manifest())}
    try:
        write_bytes(session.folder.path / SUMMARY_FILE, sealed(document))
    except StoreError:
        if summary.status == "complete":
            raise


def _memory_bytes() -> int | None:
    """Peak resident memory of this process; None where the system does not report it (in kB, on macOS in bytes)."""
    try:
        import resource
    except ImportError:  # Windows
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def _summary(session: Session, status: Status) -> Summary:
    """The summary of a session that ended with this status."""
    spec, state, running, checkpointer = session.spec, session.state, session.running, session.checkpointer
    return Summary(
        status=status,
        name=spec.name,
        accuracy=running.last.get("accuracy"),
        best_accuracy=running.best.get("accuracy"),
        rmse=running.last.get("rmse"),
        best_rmse=running.best.get("rmse"),
        best_round=running.best_round,
        loss=running.last.get("loss"),
        loss_at_best=running.best.get("loss"),
        rounds=state.t,
        time_s=state.time_s,
        energy_j=state.energy_j,
        bits=state.bits,
        wall_s=round(session.wall_s, 3),
        seed=spec.seed,
        spec_sha256=spec.sha256(),
        metrics=running.last,
        hop_bits=running.hop_bits,
        clients=running.mean("clients"),
        arrived=running.mean("arrived"),
        eligible=running.mean("eligible"),
        uses=running.uses,
        checkpoint_s=None if checkpointer is None else round(checkpointer.spent_s, 6),
        disk_bytes=None if session.folder is None else session.folder.disk_bytes(status != "complete" or session.keep),
        memory_bytes=_memory_bytes(),
        cpu_s=None if running.cpu_s is None else round(running.cpu_s, 3),
        least_cpu_hz=running.least_cpu_hz,
        least_power_w=running.least_power_w,
        cache=_cache_summary(session),
        planned_s=running.median("planned_s"),
        planned_j=running.median("planned_j"),
        measured_s=running.median("measured_s"),
        slower=_ratio(running.median("measured_s"), running.median("planned_s")),
    )


def _ratio(measured: float | None, planned: float | None) -> float | None:
    """How many times longer something took than was planned; None where either is undefined."""
    return None if measured is None or not planned else measured / planned


def _cache_summary(session: Session) -> CacheSummary | None:
    """The balance of the caches; None without any."""
    sim, running = session.sim, session.running.cache
    if sim.cache is None:
        return None
    return summarised(sim.cache, running or RunningCache(), session.state.t, sim.stream.classes)
