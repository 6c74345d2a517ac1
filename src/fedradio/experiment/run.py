"""Run a spec into a folder, telling an observer how it goes."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

from fedradio.core.contracts import RoundRecord, SimState
from fedradio.core.errors import DivergenceError
from fedradio.experiment import store
from fedradio.experiment.build import build
from fedradio.experiment.spec import Spec
from fedradio.rounds.simulation import Simulation
from fedradio.rounds.step import begin, run_round


@dataclass(frozen=True)
class Summary:
    """The headline of a run, as in ``summary.json``; None is undefined. ``loss`` is the test loss."""

    status: str
    name: str
    accuracy: float | None
    best_accuracy: float | None
    best_round: int | None
    loss: float | None
    best_loss: float | None
    rounds: int
    time_s: float | None
    energy_j: float | None
    bits: float | None
    wall_s: float
    seed: int
    spec_sha256: str
    metrics: dict[str, float]


class Observer(Protocol):
    """Is told about a run; the command line shows progress through one."""

    def started(self, sim: Simulation, spec: Spec, folder: Path | None) -> None: ...

    def advanced(self, state: SimState, record: RoundRecord) -> None: ...


class Silent:
    """An observer that does nothing."""

    def started(self, sim: Simulation, spec: Spec, folder: Path | None) -> None:
        pass

    def advanced(self, state: SimState, record: RoundRecord) -> None:
        pass


class Best:
    """Keeps the last and the best evaluation."""

    def __init__(self) -> None:
        self.last: dict[str, float] = {}
        self.best: dict[str, float] = {}
        self.best_round: int | None = None

    def see(self, t: int, metrics: dict[str, float]) -> None:
        self.last = metrics
        if not self.best or metrics["accuracy"] > self.best["accuracy"]:
            self.best, self.best_round = metrics, t

    def row(self, t: int) -> dict[str, Any]:
        return {
            "type": "eval",
            "t": t,
            **self.last,
            "best_accuracy": self.best["accuracy"],
            "best_round": self.best_round,
        }


def run(
    spec: Spec,
    out: Path | None = None,
    *,
    device: str = "cpu",
    workers: int | None = None,
    observer: Observer | None = None,
    simulation: Simulation | None = None,
) -> Summary:
    """Run a spec; with ``out`` everything is written there as it happens.

    An interruption (Ctrl-C) or a divergence ends the run early: the summary of what was done is written with that
    status, then the exception goes on.
    """
    sim = build(spec, device, workers) if simulation is None else simulation
    watch = observer or Silent()
    if out is None:
        return _loop(sim, spec, None, watch)
    with store.RunFolder(out) as folder:
        store.write_text(out / store.SPEC, spec.yaml())
        store.write_json(out / store.ENVIRONMENT, store.environment(device, sim.workers))
        return _loop(sim, spec, folder, watch)


def _loop(sim: Simulation, spec: Spec, folder: store.RunFolder | None, watch: Observer) -> Summary:
    watch.started(sim, spec, folder.path if folder else None)
    began, best, state, status = time.perf_counter(), Best(), begin(sim), "complete"
    try:
        while state.t < spec.rounds:
            state = _advance(sim, spec, state, best, folder, watch)
    except KeyboardInterrupt:
        status = "interrupted"
        raise
    except DivergenceError:
        status = "diverged"
        raise
    except BaseException:
        status = "failed"
        raise
    finally:
        summary = _summary(spec, state, best, status, time.perf_counter() - began)
        if folder is not None:
            store.write_json(folder.path / store.SUMMARY, asdict(summary))
    return summary


def _advance(
    sim: Simulation, spec: Spec, state: SimState, best: Best, folder: store.RunFolder | None, watch: Observer
) -> SimState:
    """One round, recorded and told."""
    done = state.t + 1
    began = time.perf_counter()
    state, record, exchanges = run_round(sim, state, done % spec.eval_every == 0 or done == spec.rounds)
    wall_s = time.perf_counter() - began
    rows = [store.exchange_row(exchange) for exchange in exchanges] + [store.round_row(record, wall_s)]
    if record.metrics:
        best.see(done, record.metrics)
        rows.append(best.row(done))
    if folder is not None:
        folder.append(*rows)
    watch.advanced(state, record)
    return state


def _summary(spec: Spec, state: SimState, best: Best, status: str, wall_s: float) -> Summary:
    return Summary(
        status=status,
        name=spec.name,
        accuracy=best.last.get("accuracy"),
        best_accuracy=best.best.get("accuracy"),
        best_round=best.best_round,
        loss=best.last.get("loss"),
        best_loss=best.best.get("loss"),
        rounds=state.t,
        time_s=state.time_s,
        energy_j=state.energy_j,
        bits=state.bits,
        wall_s=round(wall_s, 3),
        seed=spec.seed,
        spec_sha256=spec.sha256(),
        metrics=best.last,
    )
