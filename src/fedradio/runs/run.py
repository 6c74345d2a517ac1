"""Run a spec into a run folder that can be resumed at any time."""

from __future__ import annotations

import sys
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path

from fedradio.core.contracts import RoundRecord, SimState
from fedradio.core.errors import DivergenceError, FedradioError, StoreError
from fedradio.core.files import write_json, write_text
from fedradio.rounds.evaluation import final_model
from fedradio.rounds.round import begin, run_round
from fedradio.rounds.simulation import Simulation
from fedradio.runs.checkpoint import Keeper
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
from fedradio.runs.records import exchange_row, round_row
from fedradio.runs.summary import RunningSummary, Summary
from fedradio.runs.tensors import write_tensors
from fedradio.spec.build import build
from fedradio.spec.description import describe
from fedradio.spec.spec import Spec


class Observer:
    """Hears how a run goes, and ignores it; subclasses, such as the command line's progress bar, do not."""

    def started(self, sim: Simulation, spec: Spec, folder: Path | None, done: int) -> None:
        """Rounds begin; ``done`` of them were made before."""

    def advanced(self, state: SimState, record: RoundRecord) -> None:
        """A round is made and recorded."""

    def noted(self, text: str) -> None:
        """Something that people should know."""

    def stopping(self) -> None:
        """The run will stop after this round. Comes from a signal handler: do little."""


@dataclass
class Session:
    """A run under way. ``spent``: the state is inside a round, which updates it in place, and cannot be kept.

    ``before_s`` are the wall seconds of the processes that brought the run to where this one began.
    """

    spec: Spec
    sim: Simulation
    state: SimState
    tally: RunningSummary
    watch: Observer
    folder: RunFolder | None = None
    keeper: Keeper | None = None
    before_s: float = 0.0
    began: float = field(default_factory=time.perf_counter)
    spent: bool = False

    @property
    def wall_s(self) -> float:
        return self.before_s + time.perf_counter() - self.began

    def keep(self) -> None:
        """Write a checkpoint, where there is a folder and the state is whole."""
        if self.keeper is not None and not self.spent:
            self.keeper.save(self.state, self.tally, self.wall_s)


def run(
    spec: Spec,
    out: Path | str | None = None,
    *,
    device: str = "cpu",
    workers: int | None = None,
    observer: Observer | None = None,
    simulation: Simulation | None = None,
) -> Summary:
    """Run a spec; with ``out`` everything is written there as it happens, with checkpoints.

    Ctrl-C ends the run after the round under way, a second one at once; divergence and a full disk end it too. The
    summary of what was done is written with that status, then the exception goes on.
    """
    sim = build(spec, device, workers) if simulation is None else simulation
    watch = observer or Observer()
    if out is None:
        return carry_on(Session(spec, sim, begin(sim), RunningSummary(), watch))
    with RunFolder(Path(out)) as folder:
        write_text(folder.path / SPEC_FILE, spec.yaml())
        write_json(folder.path / DESCRIPTION_FILE, describe(spec))
        write_json(folder.path / ENVIRONMENT_FILE, plain_environment(device, sim.workers))
        write_json(folder.path / NETWORK_FILE, plain_network(sim.topology))
        return carry_on(Session(spec, sim, begin(sim), RunningSummary(), watch, folder, Keeper(folder, spec)))


def carry_on(session: Session) -> Summary:
    """Make the rounds that are left, and the summary."""
    status = "failed"
    try:
        _rounds(session)
        _conclude(session)
        status = "complete"
    except KeyboardInterrupt:
        status = "interrupted"
        session.keep()
        raise
    except FedradioError as error:
        status = "diverged" if isinstance(error, DivergenceError) else status
        if session.keeper is not None:
            error.add_note(session.keeper.words())
        raise
    finally:
        summary = _summary(session, status)
        _store_summary(session, summary)
    return summary


def _rounds(session: Session) -> None:
    folder = None if session.folder is None else session.folder.path
    session.watch.started(session.sim, session.spec, folder, session.state.t)
    session.began = time.perf_counter()
    with Interrupts(session.watch.stopping) as interrupts:
        while session.state.t < session.spec.rounds:
            record = _advance(session)
            if session.keeper is not None:
                session.keeper.offer(session.state, session.tally, session.wall_s)
            session.watch.advanced(session.state, record)
            if interrupts.asked:
                raise KeyboardInterrupt


def _advance(session: Session) -> RoundRecord:
    """One round, recorded."""
    spec, tally, done = session.spec, session.tally, session.state.t + 1
    began = time.perf_counter()
    session.spent = True
    state, record, exchanges = run_round(session.sim, session.state, done % spec.eval_every == 0 or done == spec.rounds)
    wall_s = time.perf_counter() - began
    tally.count(record, exchanges)
    rows = [exchange_row(exchange) for exchange in exchanges] + [round_row(record, wall_s)]
    if record.metrics:
        tally.see(done, record.metrics)
        rows.append(tally.row(done) | {"groups": record.groups})
    if session.folder is not None:
        session.folder.append(*rows)
    session.state, session.spent = state, False
    return record


def _conclude(session: Session) -> None:
    """The last checkpoint, from which the run could be made longer, and the model."""
    if session.keeper is not None:
        session.keeper.conclude(session.state, session.tally, session.wall_s)
    if session.folder is not None:
        write_tensors(session.folder.path / MODEL_FILE, final_model(session.sim, session.state))


def _store_summary(session: Session, summary: Summary) -> None:
    """Where a run has failed, the reason must not be hidden by a summary that cannot be written either."""
    if session.folder is None:
        return
    try:
        write_json(session.folder.path / SUMMARY_FILE, asdict(summary))
    except StoreError:
        if summary.status == "complete":
            raise


def _memory_bytes() -> int | None:
    """Peak resident memory of this process; None where the system does not tell. It counts in kB, on macOS in bytes."""
    try:
        import resource
    except ImportError:  # Windows
        return None
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024


def _summary(session: Session, status: str) -> Summary:
    spec, state, tally, keeper = session.spec, session.state, session.tally, session.keeper
    return Summary(
        status=status,
        name=spec.name,
        accuracy=tally.last.get("accuracy"),
        best_accuracy=tally.best.get("accuracy"),
        best_round=tally.best_round,
        loss=tally.last.get("loss"),
        loss_at_best=tally.best.get("loss"),
        rounds=state.t,
        time_s=state.time_s,
        energy_j=state.energy_j,
        bits=state.bits,
        wall_s=round(session.wall_s, 3),
        seed=spec.seed,
        spec_sha256=spec.sha256(),
        metrics=tally.last,
        hop_bits=tally.hop_bits,
        clients=tally.mean("clients"),
        arrived=tally.mean("arrived"),
        eligible=tally.mean("eligible"),
        uses=tally.uses,
        checkpoint_s=None if keeper is None else round(keeper.spent_s, 6),
        disk_bytes=None if session.folder is None else session.folder.disk_bytes(),
        memory_bytes=_memory_bytes(),
    )
