"""Runs made from Python: from a spec, its name, or a composed simulation; in a folder or only in memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from fedradio.core.contracts import EvaluationRecord, ExchangeRecord, RoundRecord, SimState
from fedradio.core.errors import StoreError
from fedradio.results.client_states import StateReader
from fedradio.results.digest import Digest, client_metrics, series, totals
from fedradio.results.quantities import counted
from fedradio.results.run import Run, ended_run
from fedradio.rounds.simulation import Simulation
from fedradio.runs import resume as resuming
from fedradio.runs import run as running
from fedradio.runs.composed import composed_spec
from fedradio.runs.run import Observer
from fedradio.spec.spec import Spec, check_spec, load_spec
from fedradio.spec.yaml import apply_overrides

UNSTORED = Path("memory only")
"""Shown in place of the folder of a run that has none."""


@dataclass(frozen=True, repr=False)
class RunInMemory(Run):
    """A run without a folder: it keeps its rounds and evaluations, but not its exchanges."""

    @cached_property
    def digest(self) -> Digest:
        """Curves and metrics of clients; states and joules of clients were not kept."""
        clients = client_metrics(self.evaluations)
        return Digest(
            StateReader(self.clients).states(), client_metrics=clients, totals=totals(self), series=series(self)
        )

    def records(self, kind: type[Any] | None = None) -> Iterator[Any]:
        """The rounds and evaluations, in their order; exchanges were not kept."""
        if kind is ExchangeRecord:
            raise StoreError("this run has no folder, so its exchanges were not kept; use run(spec, out) to keep them")
        kept = [each for record in self.rounds for each in (record, record.evaluation) if each is not None]
        return iter([each for each in kept if kind is None or isinstance(each, kind)])


def run(
    source: Spec | Simulation | Path | str,
    out: Path | str | None = None,
    *,
    changes: Sequence[str] = (),
    seed: int | None = None,
    rounds: int | None = None,
    eval_every: int | None = None,
    name: str | None = None,
    device: str = "cpu",
    workers: int | None = None,
    observer: Observer | None = None,
    keep: bool = True,
) -> Run:
    """Run a spec, a YAML file, a shipped spec by name, or a composed simulation; ``out`` is the run folder, if any.

    ``changes`` are overrides as on the command line (``rule.lr=0.05``); ``seed``, ``rounds``, ``device`` and
    ``workers`` are as there, too. A composed simulation has its own seed and device; it needs ``rounds``.

    Records and checkpoints are written as they are made; an unusable folder is refused before anything else. Ctrl-C,
    SIGTERM or SIGHUP ends the run after the current round, a second one immediately; divergence and a full disk also
    end it. The summary so far is written with that status, then the exception is raised again. Unless ``keep`` is set,
    the checkpoints of a complete run are removed.
    """
    overrides = {"seed": seed, "rounds": rounds, "eval_every": eval_every, "name": name}
    overrides = {key: value for key, value in overrides.items() if value is not None}
    if isinstance(source, Simulation):
        spec = composed_spec(source, changes, **overrides)
        simulation, device = source, source.device.type
    else:
        spec, simulation = _spec(source, [*changes, *(f"{key}={value}" for key, value in overrides.items())]), None
    collector = _Collector(observer or Observer())
    summary = running.run(
        spec,
        out,
        device=device,
        workers=workers,
        observer=observer if out is not None else collector,
        simulation=simulation,
        keep=keep,
    )
    return ended_run(out, summary) if out is not None else collector.run(spec, asdict(summary))


def resume(
    path: Path | str,
    *,
    simulation: Simulation | None = None,
    rounds: int | None = None,
    workers: int | None = None,
    observer: Observer | None = None,
    keep: bool = True,
    changed_parts: bool = False,
) -> Run:
    """Resume a run from its last good checkpoint, or from the start if there is none; ``rounds`` is a new total.

    A run that was composed in Python needs its ``simulation``, composed once more from the same parts: its fingerprint
    must be that of the run. See :func:`fedradio.runs.resume.resume`, which this calls.
    """
    summary = resuming.resume(
        path,
        simulation=simulation,
        rounds=rounds,
        workers=workers,
        observer=observer,
        keep=keep,
        changed_parts=changed_parts,
    )
    return ended_run(path, summary)


def _spec(source: Spec | Path | str, changes: Sequence[str]) -> Spec:
    """The checked spec with the changes."""
    if not isinstance(source, Spec):
        return load_spec(source, changes)
    return check_spec(apply_overrides(source.plain, changes)) if changes else source


class _Collector(Observer):
    """Observer that keeps rounds, evaluations and tallies of exchanges, and forwards every event."""

    def __init__(self, inner: Observer) -> None:
        self.inner = inner
        self.rounds: list[RoundRecord] = []
        self.tallies: dict[str, list[tuple[int, float]]] = {}
        self.clients = 0

    def started(self, sim: Simulation, spec: Spec, folder: Path | None, done: int) -> None:
        self.clients = sim.topology.clients
        self.inner.started(sim, spec, folder, done)

    def recorded(self, record: RoundRecord, exchanges: Sequence[ExchangeRecord]) -> None:
        self.rounds.append(record)
        for exchange in exchanges:
            for name, amount in counted(exchange):
                self.tallies.setdefault(name, []).append((exchange.t, amount))
        self.inner.recorded(record, exchanges)

    def advanced(self, state: SimState, record: RoundRecord) -> None:
        self.inner.advanced(state, record)

    def noted(self, text: str) -> None:
        self.inner.noted(text)

    def stopping(self) -> None:
        self.inner.stopping()

    def run(self, spec: Spec, summary: dict[str, Any]) -> RunInMemory:
        """The run with what was kept of it."""
        made = RunInMemory(UNSTORED, spec, summary)
        evaluations: list[EvaluationRecord] = [each.evaluation for each in self.rounds if each.evaluation is not None]
        known = {"rounds": self.rounds, "evaluations": evaluations, "tallies": self.tallies, "clients": self.clients}
        vars(made).update(known, environment={}, network={}, description={}, declared_metrics={})
        return made
