"""How near local training comes to the machine's own peak: ``python benchmarks/engine.py [--quick]``.

For each model of the papers: milliseconds per client step and share of the peak (sgemm 1024^3 in the same run, one
thread) of a plain ``nn.Module`` + ``torch.optim.SGD`` loop and of the engine's kernel, gathering of batches included.
Contenders take turns and the best time of each counts: a shared machine is never quiet, and noise only adds.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import pairwise

import torch
from rich.console import Console
from rich.table import Table
from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from torch.utils.flop_counter import FlopCounterMode

from fedradio.core.contracts import Batches, Fetch, LocalRule, Picks, Start, TrainJob
from fedradio.core.rng import Rng
from fedradio.engine.backend import Engine
from fedradio.engine.groups import cut
from fedradio.models import FlatModel, cnn3x3, cnn5x5, cnn_batchnorm, logistic, lstm, mlp, squeezenet

SIDE = 1024
SAMPLES = 2000
RULE = LocalRule(lr=0.01)


class UsualLstm(nn.Module):
    """Ids through an embedding of 32, three layers of 256 and a dense head."""

    def __init__(self, ids: int = 100) -> None:
        super().__init__()
        self.embed = nn.Embedding(ids, 32)
        self.lstm = nn.LSTM(32, 256, num_layers=3, batch_first=True)
        self.head = nn.Linear(256, ids)

    def forward(self, x: Tensor) -> Tensor:
        hidden, _ = self.lstm(self.embed(x))
        logits: Tensor = self.head(hidden[:, -1])
        return logits


class UsualFire(nn.Module):
    """SqueezeNet's module with a ReLU behind each of its three convolutions."""

    def __init__(self, inputs: int, squeeze: int, expand: int) -> None:
        super().__init__()
        self.squeeze = nn.Sequential(nn.Conv2d(inputs, squeeze, 1), nn.ReLU(inplace=True))
        self.small = nn.Sequential(nn.Conv2d(squeeze, expand, 1), nn.ReLU(inplace=True))
        self.large = nn.Sequential(nn.Conv2d(squeeze, expand, 3, padding=1), nn.ReLU(inplace=True))

    def forward(self, x: Tensor) -> Tensor:
        x = self.squeeze(x)
        return torch.cat([self.small(x), self.large(x)], dim=1)


def lstm_flops(batch: int, length: int = 10) -> int:
    """Products of one step; torch's counter does not look inside its LSTM. Backward costs twice the forward pass."""
    gates = sum((inputs + 256) * 4 * 256 for inputs in (32, 256, 256))
    return 3 * 2 * batch * (length * gates + 256 * 100)


def usual_cnn(kernel: int, border: int, flat: int, features: int, classes: int) -> nn.Module:
    """Two convolutions and two dense layers as people write them, ReLU before the pool."""
    return nn.Sequential(
        nn.Conv2d(3, 32, kernel, padding=border),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(32, 64, kernel, padding=border),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(flat, features),
        nn.ReLU(),
        nn.Linear(features, classes),
    )


def usual_squeezenet() -> nn.Module:
    def pool() -> nn.Module:
        return nn.MaxPool2d(3, stride=2, ceil_mode=True)

    first = [nn.Conv2d(3, 64, 3, stride=2), nn.ReLU(inplace=True), pool()]
    fires = [UsualFire(64, 16, 64), UsualFire(128, 16, 64), pool(), UsualFire(128, 32, 128), UsualFire(256, 32, 128)]
    more = [UsualFire(256, 48, 192), UsualFire(384, 48, 192), UsualFire(384, 64, 256), UsualFire(512, 64, 256)]
    head = [nn.Dropout(), nn.Conv2d(512, 100, 1), nn.ReLU(inplace=True), nn.AdaptiveAvgPool2d(1), nn.Flatten()]
    return nn.Sequential(*first, *fires, pool(), *more, *head)


def usual_batchnorm() -> nn.Module:
    layers: list[nn.Module] = []
    for inputs, outputs, dropout in ((3, 32, 0.2), (32, 64, 0.3), (64, 128, 0.4)):
        for channels in (inputs, outputs):
            layers += [nn.Conv2d(channels, outputs, 3, padding=1), nn.BatchNorm2d(outputs), nn.ReLU()]
        layers += [nn.MaxPool2d(2), nn.Dropout(dropout)]
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(2048, 10))


def usual_mlp(*widths: int) -> nn.Module:
    layers: list[nn.Module] = []
    for inputs, outputs in pairwise(widths):
        layers += [nn.Linear(inputs, outputs), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


@dataclass(frozen=True)
class Case:
    """A model, its batch and the share of the peak to reach; ``clients`` with ``steps`` each are one measurement."""

    name: str
    model: Callable[[], FlatModel]
    usual: Callable[[], nn.Module]
    batch: int
    target: float | None
    clients: int
    steps: int
    flops: Callable[[int], int] | None = None


def dense(batch: int, target: float | None, clients: int, steps: int, *widths: int) -> Case:
    """A stack of linear layers as a case."""
    inputs, *hidden, classes = widths

    def model() -> FlatModel:
        return mlp((inputs,), classes, hidden=tuple(hidden)) if hidden else logistic((inputs,), classes)

    return Case("-".join(map(str, widths)), model, lambda: usual_mlp(*widths), batch, target, clients, steps)


CASES = [
    dense(32, 0.50, 12, 20, 43, 512, 256, 256),
    dense(320, 0.65, 4, 6, 43, 512, 256, 256),
    dense(32, 0.55, 20, 20, 784, 200, 10),
    dense(10, None, 20, 20, 784, 200, 10),
    dense(500, 0.25, 8, 20, 784, 10),
    dense(10, None, 256, 20, 784, 10),
    dense(160, 0.75, 4, 6, 3168, 512, 256, 100),
    *(
        Case("CNN 5x5", lambda: cnn5x5((3, 32, 32), 10), lambda: usual_cnn(5, 0, 1600, 512, 10), *numbers)
        for numbers in ((32, 0.60, 4, 2), (128, 0.60, 2, 1))
    ),
    *(
        Case("CNN 3x3", lambda: cnn3x3((3, 32, 33), 100), lambda: usual_cnn(3, 1, 4096, 240, 100), *numbers)
        for numbers in ((32, None, 2, 5), (160, None, 2, 1))
    ),
    *(
        Case("SqueezeNet 1.1", lambda: squeezenet((3, 32, 33), 100), usual_squeezenet, *numbers)
        for numbers in ((32, None, 2, 5), (160, None, 2, 1))
    ),
    *(
        Case("LSTM 3 x 256", lambda: lstm((10,), 100), UsualLstm, batch, share, 2, updates, lstm_flops)
        for batch, share, updates in ((32, None, 5), (160, 0.65, 2))
    ),
    Case("CNN, batch norm", lambda: cnn_batchnorm((3, 32, 32), 10), usual_batchnorm, 128, None, 2, 1),
]


class Work:
    """One case, ready to run: a cohort for the engine and a loop for the usual module, on the same samples."""

    def __init__(self, case: Case) -> None:
        self.case, self.model = case, case.model()
        g = Rng(0).torch()
        shape = (SAMPLES, *self.model.shape)
        x = torch.randn(shape, generator=g) if case.flops is None else torch.randint(100, shape, generator=g)
        y = torch.randint(self.model.classes, (SAMPLES,), generator=g)
        self.fetch: Fetch = lambda index: (_take(x, index), _take(y, index))
        index = torch.randint(SAMPLES, (case.clients, case.steps, case.batch), generator=g)
        count = torch.full((case.clients, case.steps), case.batch)
        self.batches = Batches(Picks(index, count), None, self.fetch)
        row, d = self.model.init(Rng(0)), self.model.shared.size
        own = row[d:].expand(case.clients, -1) if len(row) > d else None
        self.start = Start(row[None, :d], torch.zeros(case.clients, dtype=torch.long), local=own)
        self.updates = torch.full((case.clients,), case.steps)
        self.usual = case.usual()
        self.optimiser = torch.optim.SGD(self.usual.parameters(), lr=RULE.lr)
        self.steps = case.clients * case.steps
        self.flops = self._count_flops() if case.flops is None else case.flops(case.batch)

    def engine(self, engine: Engine) -> None:
        job = TrainJob(self.model, RULE, 0, self.start, self.batches, self.updates, Rng(0))
        engine.train(job, cut(job))

    def plain(self) -> None:
        for picks in self.batches.labelled.index.flatten(0, 1):
            self._plain_step(picks)

    def _plain_step(self, picks: Tensor) -> None:
        x, y = self.fetch(picks)
        self.optimiser.zero_grad()
        torch.autograd.backward(cross_entropy(self.usual(x), y))
        self.optimiser.step()

    def _count_flops(self) -> int:
        """Products and convolutions of one client step, forward and backward."""
        with FlopCounterMode(display=False) as counter:
            self._plain_step(self.batches.labelled.index[0, 0])
        return int(counter.get_total_flops())


class Peak:
    """The machine's own best: two large products."""

    flops = 2 * 2 * SIDE**3

    def __init__(self) -> None:
        self.left, self.right, self.out = torch.randn(3, SIDE, SIDE, generator=Rng(0).torch())

    def __call__(self) -> None:
        for _ in range(2):
            torch.mm(self.left, self.right, out=self.out)


def measure(contenders: dict[str, Callable[[], None]], repetitions: int) -> dict[str, float]:
    """Best seconds of each contender; they take turns."""
    best = dict.fromkeys(contenders, math.inf)
    for _ in range(repetitions):
        for name, run in contenders.items():
            begin = time.perf_counter()
            run()
            best[name] = min(best[name], time.perf_counter() - begin)
    return best


def rows(cases: Iterable[Case], repetitions: int) -> Iterable[tuple[str, ...]]:
    """One row of the table per case."""
    peak, one, two = Peak(), Engine(1), Engine(2)
    for case in cases:
        work = Work(case)
        contenders: dict[str, Callable[[], None]] = {
            "peak": peak,
            "plain": work.plain,
            "one": lambda work=work: work.engine(one),  # type: ignore[misc]
            "two": lambda work=work: work.engine(two),  # type: ignore[misc]
        }
        seconds = measure(contenders, repetitions)
        rate = Peak.flops / seconds["peak"]
        step = {name: seconds[name] / work.steps for name in ("plain", "one")}
        yield (
            case.name,
            str(case.batch),
            f"{rate / 1e9:.1f}",
            f"{step['plain'] * 1e3:.3f}",
            f"{work.flops / step['plain'] / rate:.0%}",
            f"{step['one'] * 1e3:.3f}",
            f"{work.flops / step['one'] / rate:.0%}",
            "-" if case.target is None else f"{case.target:.0%}",
            f"{seconds['plain'] / seconds['one']:.2f}x",
            f"{seconds['one'] / seconds['two']:.2f}x",
        )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer repetitions")
    parser.add_argument("--only", default="", help="cases whose name contains this")
    options = parser.parse_args()
    torch.set_num_threads(1)
    table = Table(title=f"Local training, ms per client step, one thread; torch {torch.__version__}")
    names = ("model", "batch", "peak GF/s", "plain", "share", "engine", "share", "target", "gain", "two workers")
    for name in names:
        table.add_column(name, justify="left" if name == "model" else "right")
    for row in rows([case for case in CASES if options.only in case.name], 8 if options.quick else 40):
        table.add_row(*row)
    Console(width=120).print(table)


def _take(samples: Tensor, index: Tensor) -> Tensor:
    return samples.index_select(0, index.flatten()).view(*index.shape, *samples.shape[1:])


if __name__ == "__main__":
    main()
