"""Where ``--on ray`` pays: ``python benchmarks/cluster.py [--repeat 5] [--bars]``; about five minutes on two quiet
cores, ``--bars`` alone one.

Measures on a Ray of this machine what a task, a call, an actor and a byte cost, then models a sweep and a cohort on 1
to 1000 workers from these costs, beside the same model's forecast of a sweep on 2 workers and that sweep as measured.
With cifar10 fetched, a round of ``cifar10_cnn`` is timed with 1 and 2 threads and 1 and 2 actors in turn, so that other
work on the machine slows all of them alike; medians, least and most are shown. The load average is printed before and
after: above the number of cores, ratios mean little.

Sweep of ``R`` runs of ``c`` seconds on ``N`` workers (list scheduling, runs differ by 20 %)::

    T = start + first + makespan(c + task) with a driver that needs `message` seconds a worker and second

Cohort of ``G`` groups of ``t`` seconds, ``d`` parameters, on ``N`` actors (most work first, to the least loaded)::

    T = call + N actor + (N + A) 4 d / rate + longest load

Exit code 1 where a bar is missed: overhead of a call on demo below 100 ms; 1 actor at most 1.15 times the seconds of 1
thread, 2 actors at most 1.3 times those of 2 threads. Exit code 2 where the latter could not be measured.
"""

from __future__ import annotations

import argparse
import heapq
import os
import statistics
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from fedradio.core.contracts import Backend
from fedradio.core.errors import DataError
from fedradio.core.rng import Rng
from fedradio.engine.backend import Engine
from fedradio.remote.ray_backend import RayBackend, share_out
from fedradio.remote.ray_cluster import cluster
from fedradio.remote.ray_pool import RayPool
from fedradio.rounds.round import begin, run_round
from fedradio.runs.run import run
from fedradio.spec.build import build
from fedradio.spec.spec import Spec, load_spec
from fedradio.sweeps.pool import RunTask, run_batch
from fedradio.sweeps.processes import LocalPool

WORKERS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1000)
SPREAD = 0.2
CALL_BAR_S, ONE_BAR, TWO_BAR = 0.1, 1.15, 1.3


@dataclass(frozen=True)
class Costs:
    """Measured seconds: to ``start`` Ray, of the ``first`` task of a worker (its imports), of every further ``task``,
    of a ``message`` at the driver, of a ``call`` of a backend and of each ``actor`` in it; ``rate`` in bytes a second
    between processes or between machines, the lesser one."""

    start: float
    first: float
    task: float
    message: float
    call: float
    actor: float
    rate: float


def sweep_seconds(costs: Costs, seconds: Sequence[float], workers: int) -> float:
    """Seconds of a sweep: each run goes to the first worker that is free; every worker tells the driver of its run once
    a second, and where these messages take all of the driver's time, they are waited for.

    By hand: no costs, runs of 3, 1, 1, 1 seconds on 2 workers end after 3 seconds.
    """
    busy = min(workers, len(seconds))
    slower = max(1.0, busy * costs.message)
    free = [costs.start + costs.first] * busy
    end = 0.0
    for each in seconds:
        done = heapq.heappop(free) + costs.task + each * slower
        end = max(end, done)
        heapq.heappush(free, done)
    return end


def local_seconds(seconds: Sequence[float], cores: int, first: float = 0.0) -> float:
    """Seconds of the same sweep in so many processes of one machine."""
    return sweep_seconds(Costs(0.0, first, 0.0, 0.0, 0.0, 0.0, 1.0), seconds, cores)


def cohort_seconds(costs: Costs, steps: Sequence[int], step_s: float, parameters: int, actors: int) -> float:
    """Seconds of a backend call for clients with so many steps, each a group of its own: overheads, received models to
    every actor, changes of every client back, and the longest load.

    By hand: call 1 s, actor 0.5 s, rate 4 bytes a second, one parameter, 2 clients with 2 and 3 steps of 1 s on 2
    actors are 1 + 2 0.5 + (2 + 2) 1 + 3 = 9 s.
    """
    groups = [[client] for client in range(len(steps))]
    loads = [sum(steps[row] for group in share for row in group) for share in share_out(steps, groups, actors)]
    sent = 4.0 * parameters * (actors + len(steps)) / costs.rate
    return costs.call + actors * costs.actor + sent + max(loads) * step_s


def pays_from(seconds: Callable[[int], float], alone: float) -> int | None:
    """The fewest of the numbers of workers with which it takes less time than on one machine; None if none does."""
    return next((workers for workers in WORKERS if seconds(workers) < alone), None)


def measure(ray: Any, start: float, repeat: int, network: float) -> Costs:
    """What things cost on this machine; a batch of runs needs a mailbox, which counts as part of the start."""
    with tempfile.TemporaryDirectory() as folder:
        times = {
            (runs, turn): _timed(partial(_sweep, RayPool(ray, 1), Path(folder) / f"{runs}-{turn}", runs, 1))
            for turn in range(repeat + 1)
            for runs in (1, 4)
        }
        here = statistics.median(_timed(partial(_alone, 1, Path(folder) / f"{turn}")) for turn in range(repeat))
    one, four = (statistics.median(times[runs, turn] for turn in range(1, repeat + 1)) for runs in (1, 4))
    task = max(0.0, (four - one) / 3 - here)
    message = statistics.median(_message(ray) for _ in range(repeat))
    calls = call_seconds(ray, repeat)
    actor = max(0.0, calls[2] - calls[1])
    rate = min(network, _rate(ray))
    return Costs(start + one - here - task, max(0.0, times[1, 0] - one), task, message, calls[1], actor, rate)


def _message(ray: Any) -> float:
    """Seconds of the driver for a message of a worker: to take it from the mailbox, and to look for ends."""
    from fedradio.remote.courier import Mailbox

    box = ray.remote(Mailbox).options(num_cpus=0).remote()
    for number in range(200):
        box.tell.remote(number, [{"event": "round", "done": 1, "rounds": 2}])
    ray.get(box.stop.remote())
    seconds = _timed(lambda: ray.get(box.take.remote()))
    ray.kill(box)
    return seconds / 200


def call_seconds(ray: Any, repeat: int) -> dict[int, float]:
    """Median seconds of a call of the backend on demo beyond the busiest actor's training, by the number of actors, who
    take turns; the first two calls of each are not counted."""
    backends = {actors: RayBackend(ray, load_spec("demo"), actors) for actors in (1, 2)}
    in_turn({str(actors): _stepper(load_spec("demo"), backend) for actors, backend in backends.items()}, repeat + 2)
    for backend in backends.values():
        backend.close()
    return {
        actors: statistics.median([sending for _, sending in backend.calls][2:]) for actors, backend in backends.items()
    }


def _rate(ray: Any) -> float:
    """Bytes a second to an actor and back."""

    class Echo:
        def back(self, values: Any) -> Any:
            return np.array(values)

    values, echo = np.ones(5_000_000, dtype=np.float32), ray.remote(Echo).remote()
    ray.get(echo.back.remote(values))
    seconds = statistics.median(_timed(lambda: np.array(ray.get(echo.back.remote(values)))) for _ in range(3))
    ray.kill(echo)
    return 2 * values.nbytes / seconds


def _sweep(pool: Any, folder: Path, runs: int, rounds: int) -> None:
    tasks = [
        RunTask(load_spec("demo", [f"rounds={rounds}", f"seed={seed}"]), folder / f"{seed}", "") for seed in range(runs)
    ]
    ends = run_batch(tasks, pool=pool, workers=1)
    assert all(end.status == "complete" for end in ends), ends[0].error


def _alone(rounds: int, folder: Path) -> None:
    """A run in this process."""
    run(load_spec("demo", [f"rounds={rounds}"]), folder, workers=1, keep=False)


def _stepper(spec: Spec, backend: Backend) -> Callable[[], None]:
    """Makes the next round of a spec every time it is called."""
    sim = build(spec, workers=1, backend=backend)
    state = begin(sim)

    def step() -> None:
        nonlocal state
        state = run_round(sim, state, evaluate=False)[0]

    return step


def in_turn(modes: Mapping[str, Callable[[], object]], repeat: int) -> dict[str, list[float]]:
    """Seconds of every mode, ``repeat`` times each: all take turns, in an order that is rotated every time."""
    names, seconds = list(modes), {name: list[float]() for name in modes}
    for turn in range(repeat):
        at = turn % len(names)
        for name in names[at:] + names[:at]:
            seconds[name].append(_timed(modes[name]))
    return seconds


def _timed(do: Callable[[], object]) -> float:
    began = time.perf_counter()
    do()
    return time.perf_counter() - began


def show_model(console: Console, costs: Costs, cores: int) -> None:
    """Tables of the model on 1 to 1000 workers."""
    noise = 1 + SPREAD * Rng(0).child("runs").numpy().standard_normal(2000).clip(-2, 2)
    table = Table(title=f"sweep: speed-up over {cores} processes of one machine (runs x seconds each)")
    cases = [(20, 10.0), (20, 600.0), (200, 60.0), (2000, 60.0), (2000, 600.0)]
    _columns(table, [f"{runs} x {each:.0f} s" for runs, each in cases])
    sweeps = [[each * float(one) for one in noise[:runs]] for runs, each in cases]
    alone = [local_seconds(seconds, cores, costs.first) for seconds in sweeps]
    for workers in WORKERS:
        ratios = [base / sweep_seconds(costs, seconds, workers) for base, seconds in zip(alone, sweeps, strict=True)]
        table.add_row(str(workers), *(f"{ratio:.2f}" for ratio in ratios))
    pays = [pays_from(partial(sweep_seconds, costs, each), base) for each, base in zip(sweeps, alone, strict=True)]
    table.add_row("pays from", *(str(workers or "never") for workers in pays))
    console.print(table)
    table = Table(title=f"cohort: speed-up of a call over {cores} threads (clients x seconds each, parameters)")
    shapes = [
        (20, 0.001, 6_000),
        (20, 0.05, 1_700_000),
        (20, 0.5, 1_700_000),
        (100, 0.5, 1_700_000),
        (100, 5.0, 11_000_000),
    ]
    _columns(table, [f"{clients} x {each:g} s, {size:,}" for clients, each, size in shapes])
    steps = [10 - client % 3 for client in range(100)]
    free = Costs(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, float("inf"))
    threads = [cohort_seconds(free, steps[:n], each / 10, 0, cores) for n, each, _ in shapes]
    for actors in WORKERS:
        calls = [cohort_seconds(costs, steps[:n], each / 10, size, actors) for n, each, size in shapes]
        table.add_row(str(actors), *(f"{base / call:.2f}" for base, call in zip(threads, calls, strict=True)))
    pays = [
        pays_from(partial(cohort_seconds, costs, steps[:n], each / 10, size), base)
        for (n, each, size), base in zip(shapes, threads, strict=True)
    ]
    table.add_row("pays from", *(str(actors or "never") for actors in pays))
    console.print(table)


def _columns(table: Table, names: Sequence[str]) -> None:
    for name in ("workers", *names):
        table.add_column(name, justify="right")


def measured_sweep(ray: Any, console: Console, costs: Costs, started: float, rounds: int) -> None:
    """A sweep on 2 workers beside its forecast, and beside two processes of the local pool."""
    with tempfile.TemporaryDirectory() as folder:
        alone = _timed(lambda: _alone(rounds, Path(folder) / "alone"))
        ray_s = _timed(lambda: _sweep(RayPool(ray, 2), Path(folder) / "ray", 4, rounds))
        local_s = _timed(lambda: _sweep(LocalPool(2), Path(folder) / "local", 4, rounds))
    warm = replace(costs, start=costs.start - started)  # Ray is there
    forecast = sweep_seconds(warm, [alone] * 4, 2)
    console.print(f"sweep of 4 runs of {alone:.1f} s on 2 workers: forecast {forecast:.1f} s, measured {ray_s:.1f} s")
    console.print(f"the same on 2 processes of the local pool, their imports included: {local_s:.1f} s")


def load_words() -> str:
    """The load average of the last minute and the number of cores, in words."""
    load = f"{os.getloadavg()[0]:.2f}" if hasattr(os, "getloadavg") else "unknown"
    return f"load average {load} on {os.cpu_count()} cores"


def measured_rounds(ray: Any, console: Console, repeat: int) -> bool | None:
    """Rounds of cifar10_cnn with threads and actors in turn; whether the bars hold, None where it is not fetched."""
    spec = load_spec("cifar10_cnn", ["hops.0.policy={kind: fixed, steps: 4}"])
    try:
        build(spec, workers=1)
    except DataError as error:
        console.print(f"cifar10_cnn is not timed: {error}")
        return None
    makers: dict[str, Callable[[], Backend]] = {
        "1 thread": lambda: Engine(1),
        "2 threads": lambda: Engine(2),
        "1 actor": lambda: RayBackend(ray, spec, 1),
        "2 actors": lambda: RayBackend(ray, spec, 2),
    }
    backends = {name: make() for name, make in makers.items()}
    modes, before = {name: _stepper(spec, backend) for name, backend in backends.items()}, load_words()
    seconds = {name: values[1:] for name, values in in_turn(modes, repeat + 1).items()}  # the first warms up
    medians = {name: statistics.median(values) for name, values in seconds.items()}
    one, two = medians["1 actor"] / medians["1 thread"], medians["2 actors"] / medians["2 threads"]
    told = [f"{name} {medians[name]:.2f} ({min(each):.2f}-{max(each):.2f})" for name, each in seconds.items()]
    console.print(f"cifar10_cnn, seconds per round, medians of {repeat} (least-most), in turn: " + ", ".join(told))
    console.print(f"before: {before}; after: {load_words()}")
    console.print(f"1 actor / 1 thread {one:.2f} (bar {ONE_BAR}), 2 actors / 2 threads {two:.2f} (bar {TWO_BAR})")
    return one <= ONE_BAR and two <= TWO_BAR


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--repeat", type=int, default=5, help="measurements of which the median is taken")
    parser.add_argument("--cores", type=int, default=2, help="of the one machine that a cluster is compared with")
    parser.add_argument("--network", type=float, default=1.25e8, help="bytes a second between machines; 1 Gbit/s")
    parser.add_argument("--bars", action="store_true", help="only what the bars are about")
    parser.add_argument("--rounds", type=int, default=100, help="of a run of the measured sweep")
    given, console = parser.parse_args(), Console(width=140)
    warnings.filterwarnings("ignore", message=".*slows this run")
    began = time.perf_counter()
    with cluster(4) as ray:
        started = time.perf_counter() - began
        console.print(load_words())
        if given.bars:
            call = call_seconds(ray, given.repeat)[1]
        else:
            costs = measure(ray, started, given.repeat, given.network)
            call = costs.call
            shown = {name: f"{value:.3g}" for name, value in vars(costs).items()}
            console.print("measured: " + ", ".join(f"{name} {value}" for name, value in shown.items()))
            measured_sweep(ray, console, costs, started, given.rounds)
            show_model(console, costs, given.cores)
        good = measured_rounds(ray, console, given.repeat)
    console.print(f"overhead of a call on demo {1e3 * call:.0f} ms (bar {1e3 * CALL_BAR_S:.0f})")
    if good is False or call >= CALL_BAR_S:
        return 1
    return 2 if good is None else 0


if __name__ == "__main__":
    sys.exit(main())
