"""Run a spec into a folder, telling an observer how it goes; the folder can be resumed at any time."""

from __future__ import annotations

import resource
import sys
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Protocol

from fedradio.core.contracts import RoundRecord, SimState
from fedradio.core.errors import DivergenceError, FedradioError, StoreError
from fedradio.experiment import store
from fedradio.experiment.build import build
from fedradio.experiment.checkpoint import Keeper
from fedradio.experiment.final import final_model
from fedradio.experiment.interrupts import Interrupts
from fedradio.experiment.spec import Spec
from fedradio.experiment.tally import Tally
from fedradio.experiment.tensors import write_tensors
from fedradio.rounds.simulation import Simulation
from fedradio.rounds.step import begin, run_round


@dataclass(frozen=True)
class Summary:
    """The headline of a run, as in ``summary.json``; None is undefined. ``loss`` is the test loss.

    ``bits`` are split over the hops in ``hop_bits``. ``clients`` took part in an edge round on average, ``arrived`` of
    them in time; ``eligible`` could have, where the policy says so. ``uses`` are channel uses, where symbols are sent.
    ``checkpoint_s`` of the wall time went into checkpoints; ``disk_bytes`` are those of the run folder,
    ``memory_bytes`` the most that the process has held.
    """

    status: str
    name: str
    accuracy: float | None
    best_accuracy: float | None
    best_round: int | None
    loss: float | None
    loss_at_best: float | None
    rounds: int
    time_s: float | None
    energy_j: float | None
    bits: float | None
    wall_s: float
    seed: int
    spec_sha256: str
    metrics: dict[str, float]
    hop_bits: list[float | None]
    clients: float | None
    arrived: float | None
    eligible: float | None
    uses: float | None = None
    checkpoint_s: float | None = None
    disk_bytes: int | None = None
    memory_bytes: int | None = None


class Observer(Protocol):
    """Is told about a run; the command line shows progress through one."""

    def started(self, sim: Simulation, spec: Spec, folder: Path | None, done: int) -> None:
        """Rounds begin; ``done`` of them were made before."""
        ...

    def advanced(self, state: SimState, record: RoundRecord) -> None:
        """A round is made and recorded."""
        ...

    def noted(self, text: str) -> None:
        """Something that people should know."""
        ...

    def stopping(self) -> None:
        """The run will stop after this round. Comes from a signal handler: do little."""
        ...


class Silent:
    """An observer that does nothing."""

    def started(self, sim: Simulation, spec: Spec, folder: Path | None, done: int) -> None:
        pass

    def advanced(self, state: SimState, record: RoundRecord) -> None:
        pass

    def noted(self, text: str) -> None:
        pass

    def stopping(self) -> None:
        pass


@dataclass
class Session:
    """A run under way. ``spent``: the state is inside a round, which updates it in place, and cannot be kept.

    ``before_s`` are the wall seconds of the processes that brought the run to where this one began.
    """

    spec: Spec
    sim: Simulation
    state: SimState
    tally: Tally
    watch: Observer
    folder: store.RunFolder | None = None
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
    watch = observer or Silent()
    if out is None:
        return carry_on(Session(spec, sim, begin(sim), Tally(), watch))
    with store.RunFolder(Path(out)) as folder:
        store.write_text(folder.path / store.SPEC, spec.yaml())
        store.write_json(folder.path / store.ENVIRONMENT, store.environment(device, sim.workers))
        store.write_json(folder.path / store.NETWORK, store.network(sim.topology))
        return carry_on(Session(spec, sim, begin(sim), Tally(), watch, folder, Keeper(folder, spec)))


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
    rows = [store.exchange_row(exchange) for exchange in exchanges] + [store.round_row(record, wall_s)]
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
        write_tensors(session.folder.path / store.MODEL, final_model(session.sim, session.state))


def _store_summary(session: Session, summary: Summary) -> None:
    """Where a run has failed, the reason must not be hidden by a summary that cannot be written either."""
    if session.folder is None:
        return
    try:
        store.write_json(session.folder.path / store.SUMMARY, asdict(summary))
    except StoreError:
        if summary.status == "complete":
            raise


def _memory_bytes() -> int:
    """The most that this process has held in memory; the system counts in kB, on macOS in bytes."""
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
