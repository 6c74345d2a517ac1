"""Whole rounds, fedradio against a plain torch loop, in one run and on the same data.

W1: FedAvg, MNIST, 20 clients x 600 samples, MLP 784-200-10, batch 32, one epoch.
W2: FedAvg, CIFAR-10, 10 clients x 500 samples, CNN 5x5, batch 32, one epoch.
Both evaluate the merged model on the 10,000 test samples every round; fedradio also writes its records.
Contenders take turns; medians are printed. Needs `fedradio data fetch mnist` and `fedradio data fetch cifar10`.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from rich.console import Console
from rich.table import Table
from torch import Tensor, nn

from fedradio import build, check_spec
from fedradio.core.contracts import Backend, EvalJob, Scores, SimState, Trained, TrainJob
from fedradio.rounds.evaluation import evaluation
from fedradio.rounds.round import begin, run_round
from fedradio.rounds.simulation import Simulation
from fedradio.runs.folder import RunFolder
from fedradio.runs.records import exchange_row, round_row

WORKLOADS = {
    "W1": ("mnist", 20, 600, {"kind": "mlp", "hidden": [200]}, 0.1),
    "W2": ("cifar10", 10, 500, {"kind": "cnn5x5"}, 0.02),
}


@dataclass
class Timed:
    """A backend that notes how long its kernels take."""

    inner: Backend
    seconds: float = 0.0

    def train(self, job: TrainJob, groups: list[list[int]]) -> Trained:
        began = time.perf_counter()
        trained = self.inner.train(job, groups)
        self.seconds += time.perf_counter() - began
        return trained

    def evaluate(self, job: EvalJob) -> Scores:
        return self.inner.evaluate(job)


def workload(name: str) -> dict[str, object]:
    """The workload as a spec."""
    source, clients, each, model, lr = WORKLOADS[name]
    return {
        "topology": {"kind": "flat", "clients": clients},
        "hops": [{"policy": {"kind": "fixed", "epochs": 1}}],
        "data": {"source": {"kind": source, "samples": clients * each}},
        "model": model,
        "rule": {"kind": "sgd", "lr": lr, "batch": 32},
    }


def simulation(name: str, workers: int) -> Simulation:
    """The workload, ready to run."""
    return build(check_spec(workload(name)), workers=workers)


class Ours:
    """One fedradio round with records and metrics; notes the ``kernel`` and ``evaluation`` seconds of each."""

    def __init__(self, name: str, workers: int, folder: Path) -> None:
        sim = simulation(name, workers)
        self.timed = Timed(sim.backend)
        self.sim = replace(sim, backend=self.timed)
        self.state: SimState = begin(self.sim)
        self.folder = RunFolder(folder)
        self.kernel: list[float] = []
        self.evaluation: list[float] = []

    def __call__(self) -> None:
        self.timed.seconds = 0.0
        self.state, record, exchanges = run_round(self.sim, self.state, evaluate=False)
        began = time.perf_counter()
        evaluation(self.sim, self.state)
        self.evaluation.append(time.perf_counter() - began)
        self.folder.append(*map(exchange_row, exchanges), round_row(record))
        self.kernel.append(self.timed.seconds)


class Plain:
    """The same round as most people write it: one nn.Module, torch's SGD, a loop over clients, state dicts averaged."""

    def __init__(self, name: str) -> None:
        sim = simulation(name, 1)
        self.module, self.sim = sim.model.module, sim
        source = sim.stream
        picks = source.draw(
            source.start(), torch.arange(source.clients), torch.ones(source.clients).long(), 10**6, sim.rng
        )
        counts = picks.labelled.count[:, 0].tolist()
        self.data = [picks.fetch(picks.labelled.index[c, 0, :n]) for c, n in enumerate(counts)]
        test = source.test()
        self.test = test.fetch(test.index)
        self.weights = {key: value.clone() for key, value in self.module.state_dict().items()}
        self.generator = torch.Generator().manual_seed(1)
        self.evaluation: list[float] = []

    def __call__(self) -> None:
        total: dict[str, Tensor] = {}
        for x, y in self.data:
            self.module.load_state_dict(self.weights)
            self.module.train()
            optimiser = torch.optim.SGD(self.module.parameters(), lr=self.sim.rule.lr)
            order = torch.randperm(len(y), generator=self.generator)
            for batch in torch.split(order, 32):
                optimiser.zero_grad()
                torch.autograd.backward(nn.functional.cross_entropy(self.module(x[batch]), y[batch]))
                optimiser.step()
            for key, value in self.module.state_dict().items():
                total[key] = total.get(key, torch.zeros_like(value)) + value / len(self.data)
        self.weights = total
        self.module.load_state_dict(total)
        self.module.eval()
        began = time.perf_counter()
        with torch.no_grad():
            for i in range(0, len(self.test[1]), 500):
                self.module(self.test[0][i : i + 500]).argmax(dim=1).eq(self.test[1][i : i + 500]).sum()
        self.evaluation.append(time.perf_counter() - began)


def measure(contenders: Mapping[str, Callable[[], None]], repeats: int) -> dict[str, list[float]]:
    """Seconds of every contender's rounds, taking turns; the first turn warms up and does not count."""
    seconds: dict[str, list[float]] = {name: [] for name in contenders}
    for turn in range(repeats + 1):
        for name, do in contenders.items():
            began = time.perf_counter()
            do()
            if turn:
                seconds[name].append(time.perf_counter() - began)
    return seconds


def main() -> None:
    """Print one table a workload."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=sorted(WORKLOADS), help="one workload")
    parser.add_argument("--repeats", type=int, default=9, help="measured rounds of every contender")
    options = parser.parse_args()
    torch.set_num_threads(1)
    console = Console()
    for name in [options.only] if options.only else WORKLOADS:
        repeats = options.repeats if name == "W1" else max(3, options.repeats // 3)
        with tempfile.TemporaryDirectory() as folder:
            plain = Plain(name)
            one, two = Ours(name, 1, Path(folder) / "one"), Ours(name, 2, Path(folder) / "two")
            contenders: dict[str, Plain | Ours] = {
                "plain torch, one core": plain,
                "fedradio, one core": one,
                "fedradio, two cores": two,
            }
            seconds = measure(contenders, repeats)
        show(console, name, contenders, seconds)


def show(console: Console, name: str, contenders: dict[str, Plain | Ours], seconds: dict[str, list[float]]) -> None:
    """Medians, with and without the evaluation, and where a fedradio round's time goes."""
    median = statistics.median
    table = Table(
        "contender", "training, s", "ratio", "with evaluation, s", "ratio", title=f"{name}: seconds per round"
    )
    evaluation = {key: median(contender.evaluation[1:]) for key, contender in contenders.items()}
    whole = {key: median(values) for key, values in seconds.items()}
    base, *_ = contenders
    for key in contenders:
        training = whole[key] - evaluation[key]
        ratio = (whole[base] - evaluation[base]) / training
        table.add_row(key, f"{training:.3f}", f"{ratio:.2f}x", f"{whole[key]:.3f}", f"{whole[base] / whole[key]:.2f}x")
    console.print(table)
    for key, contender in contenders.items():
        if isinstance(contender, Ours):
            outside = whole[key] - evaluation[key] - median(contender.kernel[1:])
            text = f"{key}: outside kernels and evaluation {1e3 * outside:.1f} ms, {100 * outside / whole[key]:.1f} %"
            console.print(text, highlight=False)


if __name__ == "__main__":
    main()
