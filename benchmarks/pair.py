"""Pair training against a plain torch loop: ``python benchmarks/pair.py [--quick]``.

FedCPSL's local update (both costs, momentum on both models, batches of 32 labelled and 32 unlabelled samples) in
milliseconds per client step, one thread: two ``nn.Module`` with autograd and ``torch.optim.SGD`` as one would write
them, against the engine. Contenders take turns and the best time of each counts; pseudo-labels and gathering included.
"""

from __future__ import annotations

import argparse
import copy
import math
import time
from collections.abc import Callable
from dataclasses import dataclass

import torch
from rich.console import Console
from rich.table import Table
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from fedradio.core.contracts import Batches, LocalRule, Picks, Start, TrainJob
from fedradio.core.rng import Rng
from fedradio.engine.backend import Engine
from fedradio.engine.groups import cut
from fedradio.losses.fedcpsl import FedCpslLoss
from fedradio.models import FlatModel, cnn5x5, mlp

SAMPLES = 2000
BATCH = 32
MIXTURE = 0.75
LOSS = FedCpslLoss(alpha_p=0.1, alpha_r=0.1, unlabelled_batch=BATCH, pair=True, lr_factor=2.0, momentum_own=0.8)
RULE = LocalRule(lr=0.005, batch=BATCH, momentum=0.8, loss=LOSS)


@dataclass(frozen=True)
class Case:
    """A model; ``clients`` with ``steps`` each are one measurement."""

    name: str
    model: Callable[[], FlatModel]
    usual: Callable[[], nn.Module]
    clients: int
    steps: int


def usual_mlp() -> nn.Module:
    return nn.Sequential(nn.Linear(784, 200), nn.ReLU(), nn.Linear(200, 200), nn.ReLU(), nn.Linear(200, 10))


def usual_cnn() -> nn.Module:
    """Two convolutions and two dense layers as people write them, ReLU before the pool."""
    first = [nn.Conv2d(3, 32, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(32, 64, 5), nn.ReLU(), nn.MaxPool2d(2)]
    return nn.Sequential(*first, nn.Flatten(), nn.Linear(1600, 512), nn.ReLU(), nn.Linear(512, 10))


CASES = [
    Case("MLP 784-200-200-10", lambda: mlp((784,), 10, hidden=(200, 200)), usual_mlp, 4, 16),
    Case("CNN 5x5", lambda: cnn5x5((3, 32, 32), 10), usual_cnn, 2, 4),
]


class Work:
    """One case, ready to run on the same samples: a cohort for the engine, a loop for the usual modules."""

    def __init__(self, case: Case) -> None:
        self.case, self.model = case, case.model()
        g = Rng(0).torch()
        x = torch.randn(SAMPLES, *self.model.shape, generator=g)
        y = torch.randint(self.model.classes, (SAMPLES,), generator=g)
        shape = (case.clients, case.steps)
        lit, dark = (torch.randint(SAMPLES, (*shape, BATCH), generator=g) for _ in range(2))
        count = torch.full(shape, BATCH)
        self.lit, self.dark = lit, dark
        self.batches = Batches(Picks(lit, count), Picks(dark, count), lambda i: (_take(x, i), _take(y, i)))
        row = self.model.init(Rng(0))
        self.shift = torch.randn(case.clients, len(row), generator=g) * 1e-3
        group, b = torch.zeros(case.clients, dtype=torch.long), torch.full((case.clients,), MIXTURE)
        own = row.repeat(case.clients, 1)
        self.start = Start(row[None], group, self.shift, rows={"own": own}, known={"mixture": b})
        self.updates = torch.full((case.clients,), case.steps)
        self.usual = case.usual()

    def engine(self, engine: Engine) -> None:
        job = TrainJob(self.model, RULE, 0, self.start, self.batches, self.updates, Rng(0))
        engine.train(job, cut(job))

    def plain(self) -> None:
        for client, shift in enumerate(self.shift):
            self._plain_client(client, shift)

    def _plain_client(self, client: int, shift: Tensor) -> None:
        common, own = copy.deepcopy(self.usual), copy.deepcopy(self.usual)
        sizes = [p.numel() for p in common.parameters()]
        shifts = [s.view_as(p) for s, p in zip(torch.split(shift, sizes), common.parameters(), strict=True)]
        moves = torch.optim.SGD(common.parameters(), lr=RULE.lr, momentum=RULE.momentum)
        own_moves = torch.optim.SGD(own.parameters(), lr=2 * RULE.lr, momentum=LOSS.momentum_own)
        lit, dark = self.lit[client], self.dark[client]
        with torch.no_grad():
            labels = [common(self.batches.fetch(picks)[0]).softmax(1) for picks in dark]
        for j, nu in enumerate(labels):
            x, y = self.batches.fetch(lit[j])
            samples = torch.cat([x, self.batches.fetch(dark[j])[0]])
            z = common(samples)
            moves.zero_grad()
            torch.autograd.backward(_cost(z.log_softmax(1), y, nu))
            for p, s in zip(common.parameters(), shifts, strict=True):
                assert p.grad is not None
                p.grad += s
            mixed = torch.logaddexp(
                math.log(MIXTURE) + own(samples).log_softmax(1), math.log(1 - MIXTURE) + z.detach().log_softmax(1)
            )
            own_moves.zero_grad()
            torch.autograd.backward(_cost(mixed, y, nu))
            moves.step()
            own_moves.step()


def _cost(log_p: Tensor, y: Tensor, nu: Tensor) -> Tensor:
    """The cost (4); log-probabilities are their own log-softmax. The constant KL(nu, 1/C) is left out."""
    lit, dark = log_p[: len(y)], log_p[len(y) :]
    entropy = (dark.exp() * dark).sum(1).mean()
    return cross_entropy(lit, y) + LOSS.alpha_p * cross_entropy(dark, nu) + LOSS.alpha_r * entropy


def _take(samples: Tensor, index: Tensor) -> Tensor:
    return samples.index_select(0, index.flatten()).view(*index.shape, *samples.shape[1:])


def measure(contenders: dict[str, Callable[[], None]], repetitions: int) -> dict[str, float]:
    """Best seconds of each contender; they take turns."""
    best = dict.fromkeys(contenders, math.inf)
    for _ in range(repetitions):
        for name, run in contenders.items():
            begin = time.perf_counter()
            run()
            best[name] = min(best[name], time.perf_counter() - begin)
    return best


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer repetitions")
    options = parser.parse_args()
    torch.set_num_threads(1)
    table = Table(title=f"Pair training, {BATCH} + {BATCH} samples, ms per client step; torch {torch.__version__}")
    for name in ("model", "plain", "engine", "gain", "two workers"):
        table.add_column(name, justify="left" if name == "model" else "right")
    one, two = Engine(1), Engine(2)
    for case in CASES:
        work = Work(case)
        contenders: dict[str, Callable[[], None]] = {
            "plain": work.plain,
            "one": lambda work=work: work.engine(one),  # type: ignore[misc]
            "two": lambda work=work: work.engine(two),  # type: ignore[misc]
        }
        seconds = measure(contenders, 5 if options.quick else 25)
        step = {name: 1e3 * seconds[name] / (case.clients * case.steps) for name in contenders}
        gain, speedup = seconds["plain"] / seconds["one"], seconds["one"] / seconds["two"]
        table.add_row(case.name, f"{step['plain']:.3f}", f"{step['one']:.3f}", f"{gain:.2f}x", f"{speedup:.2f}x")
    Console(width=120).print(table)


if __name__ == "__main__":
    main()
