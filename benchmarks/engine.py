"""How near local training comes to the machine's own peak: ``python benchmarks/engine.py [--quick]``.

For each model of the papers: milliseconds per client step and share of the peak (sgemm 1024^3 in the same run, one
thread) of a plain ``nn.Module`` + ``torch.optim.SGD`` loop and of the engine's kernel, both with their batches gathered.
Contenders take turns and medians are compared, since a shared machine is never quiet.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

import torch
from rich.console import Console
from rich.table import Table
from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from torch.utils.flop_counter import FlopCounterMode

from fedradio.core.contracts import Batches, LocalRule, Picks, Start
from fedradio.core.rng import Rng
from fedradio.engine.backend import Engine
from fedradio.models import FlatModel, cnn5x5, logistic, mlp, wrap

SIDE = 1024
SAMPLES = 2000
RULE = LocalRule(lr=0.01)


class Lstm(nn.Module):
    """Ids through an embedding of 32, three layers of 256 and a dense head (OSAFL's sequence model)."""

    def __init__(self, ids: int = 100) -> None:
        super().__init__()
        self.embed = nn.Embedding(ids, 32)
        self.lstm = nn.LSTM(32, 256, num_layers=3, batch_first=True)
        self.head = nn.Linear(256, ids)

    def forward(self, x: Tensor) -> Tensor:
        hidden, _ = self.lstm(self.embed(x))
        logits: Tensor = self.head(hidden[:, -1])
        return logits


def usual_cnn() -> nn.Module:
    """The convolutional network as people write it, ReLU before the pool."""
    return nn.Sequential(
        nn.Conv2d(3, 32, 5),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(32, 64, 5),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(1600, 512),
        nn.ReLU(),
        nn.Linear(512, 10),
    )


def usual_mlp(*widths: int) -> nn.Module:
    layers: list[nn.Module] = []
    for inputs, outputs in zip(widths, widths[1:], strict=False):
        layers += [nn.Linear(inputs, outputs), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


@dataclass(frozen=True)
class Case:
    """A model, its batch and the share of the peak it should reach; ``clients`` with ``steps`` each make a measurement."""

    name: str
    model: Callable[[], FlatModel]
    usual: Callable[[], nn.Module]
    batch: int
    target: float | None
    clients: int
    steps: int
    ids: bool = False


CASES = [
    Case("MLP 43-512-256-256", lambda: mlp((43,), 256, hidden=(512, 256)), lambda: usual_mlp(43, 512, 256, 256), 32, 0.50, 4, 20),
    Case("MLP 43-512-256-256", lambda: mlp((43,), 256, hidden=(512, 256)), lambda: usual_mlp(43, 512, 256, 256), 320, 0.65, 2, 6),
    Case("MLP 784-200-10", lambda: mlp((784,), 10), lambda: usual_mlp(784, 200, 10), 32, 0.55, 10, 20),
    Case("MLP 784-200-10", lambda: mlp((784,), 10), lambda: usual_mlp(784, 200, 10), 10, None, 10, 20),
    Case("one layer 784-10", lambda: logistic((784,), 10), lambda: usual_mlp(784, 10), 500, 0.25, 4, 20),
    Case("one layer 784-10", lambda: logistic((784,), 10), lambda: usual_mlp(784, 10), 10, None, 128, 20),
    Case("FCN 3168-512-256-100", lambda: mlp((3168,), 100, hidden=(512, 256)), lambda: usual_mlp(3168, 512, 256, 100), 160, 0.75, 2, 4),
    Case("CNN 5x5 CIFAR", lambda: cnn5x5((3, 32, 32), 10), usual_cnn, 32, 0.60, 2, 3),
    Case("CNN 5x5 CIFAR", lambda: cnn5x5((3, 32, 32), 10), usual_cnn, 128, 0.60, 2, 1),
    Case("LSTM 32-3x256-100", lambda: wrap(Lstm(), (10,), 100), Lstm, 160, 0.65, 2, 2, ids=True),
]  # fmt: skip


class Work:
    """One case, ready to run: a cohort for the engine and a loop for the usual module, on the same samples."""

    def __init__(self, case: Case) -> None:
        self.case, self.model = case, case.model()
        g = Rng(0).torch()
        shape = (SAMPLES, *self.model.shape)
        x = torch.randint(100, shape, generator=g) if case.ids else torch.randn(shape, generator=g)
        y = torch.randint(self.model.classes, (SAMPLES,), generator=g)
        self.fetch = lambda index: (_take(x, index), _take(y, index))
        index = torch.randint(SAMPLES, (case.clients, case.steps, case.batch), generator=g)
        count = torch.full((case.clients, case.steps), case.batch)
        self.batches = Batches(Picks(index, count), None, self.fetch)
        row = self.model.init(Rng(0))
        self.start = Start(row[None], torch.zeros(case.clients, dtype=torch.long))
        self.updates = torch.full((case.clients,), case.steps)
        self.usual = case.usual()
        self.optimiser = torch.optim.SGD(self.usual.parameters(), lr=RULE.lr)
        self.steps = case.clients * case.steps
        self.flops = self._count_flops()

    def engine(self, engine: Engine) -> None:
        engine.run(self.model, RULE, 0, self.start, self.batches, self.updates, Rng(0))

    def plain(self) -> None:
        for picks in self.batches.labelled.index.flatten(0, 1):
            self._plain_step(picks)

    def _plain_step(self, picks: Tensor) -> None:
        x, y = self.fetch(picks)
        self.optimiser.zero_grad()
        cross_entropy(self.usual(x), y).backward()  # type: ignore[no-untyped-call]
        self.optimiser.step()

    def _count_flops(self) -> int:
        """Products and convolutions of one client step, forward and backward."""
        with FlopCounterMode(display=False) as counter:
            self._plain_step(self.batches.labelled.index[0, 0])
        return counter.get_total_flops()


def measure(contenders: dict[str, Callable[[], None]], repetitions: int) -> dict[str, float]:
    """Median seconds of each contender; they take turns, one torch thread each."""
    seconds: dict[str, list[float]] = {name: [] for name in contenders}
    torch.set_num_threads(1)
    for turn in range(repetitions + 1):
        for name, run in contenders.items():
            begin = time.perf_counter()
            run()
            if turn > 0:  # the first one warms up
                seconds[name].append(time.perf_counter() - begin)
    return {name: statistics.median(times) for name, times in seconds.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer repetitions")
    parser.add_argument("--only", default="", help="cases whose name contains this")
    options = parser.parse_args()
    repetitions = 5 if options.quick else 21
    left, right, product = torch.randn(SIDE, SIDE), torch.randn(SIDE, SIDE), torch.empty(SIDE, SIDE)
    one, two = Engine(1), Engine(2)
    table = Table(title="Local training, one thread (last column: two workers against one)")
    for column in ("model", "batch", "plain ms", "share", "engine ms", "share", "target", "gain", "2 workers"):
        table.add_column(column, justify="left" if column == "model" else "right")
    peaks = []
    for case in CASES:
        if options.only not in case.name:
            continue
        work = Work(case)
        contenders: dict[str, Callable[[], None]] = {
            "peak": lambda: [torch.mm(left, right, out=product) for _ in range(2)] and None,
            "plain": work.plain,
            "one": lambda work=work: work.engine(one),  # type: ignore[misc]
            "two": lambda work=work: work.engine(two),  # type: ignore[misc]
        }
        seconds = measure(contenders, repetitions)
        peak = 2 * 2 * SIDE**3 / seconds["peak"]
        peaks.append(peak)
        share = {name: work.flops * work.steps / seconds[name] / peak for name in ("plain", "one")}
        table.add_row(
            case.name,
            str(case.batch),
            f"{seconds['plain'] / work.steps * 1e3:.3f}",
            f"{share['plain']:.0%}",
            f"{seconds['one'] / work.steps * 1e3:.3f}",
            f"{share['one']:.0%}",
            "-" if case.target is None else f"{case.target:.0%}",
            f"{seconds['plain'] / seconds['one']:.2f}x",
            f"{seconds['one'] / seconds['two']:.2f}x",
        )
    console = Console(width=110)
    console.print(table)
    console.print(f"peak: median {statistics.median(peaks) / 1e9:.1f} GFLOP/s, torch {torch.__version__}")


def _take(samples: Tensor, index: Tensor) -> Tensor:
    return samples.index_select(0, index.flatten()).view(*index.shape, *samples.shape[1:])


if __name__ == "__main__":
    main()
