"""Small cohorts and networks on which every kernel meets the reference loop."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

import pytest
import torch
from torch import Tensor, nn

from fedradio.core.contracts import Backend, Batches, Grouping, LocalRule, Picks, Slots, Start, Trained, TrainJob
from fedradio.core.rng import Rng
from fedradio.engine.groups import cut
from fedradio.models import FlatModel, cnn5x5, logistic, mlp, wrap


@dataclass(frozen=True)
class Cohort:
    """Everything that a :class:`TrainJob` holds."""

    model: FlatModel
    rule: LocalRule
    start: Start
    batches: Batches
    updates: Tensor
    t: int = 3
    rng: Rng = field(default_factory=lambda: Rng(5, ("train",)))

    @property
    def job(self) -> TrainJob:
        return TrainJob(self.model, self.rule, self.t, self.start, self.batches, self.updates, self.rng)

    def run(self, backend: Backend, grouping: Grouping = "auto") -> Trained:
        return backend.train(self.job, cut(self.job, grouping))

    def change(self, **changes: object) -> Cohort:
        return replace(self, **changes)

    def with_rule(self, **changes: object) -> Cohort:
        return replace(self, rule=replace(self.rule, **changes))

    def with_start(self, **changes: object) -> Cohort:
        return replace(self, start=replace(self.start, **changes))


class Residual(nn.Module):
    """An odd one: a tied weight, a parameter outside of layers, a skip connection."""

    def __init__(self, width: int, classes: int) -> None:
        super().__init__()
        self.first = nn.Linear(width, width)
        self.second = nn.Linear(width, width)
        self.second.weight = self.first.weight
        self.gain = nn.Parameter(torch.ones(width))
        self.head = nn.Linear(width, classes, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        h = torch.tanh(self.first(x))
        return self.head(x + self.gain * self.second(h))


class Reader(nn.Module):
    """Sequences of ids through an embedding and an LSTM."""

    def __init__(self, ids: int, classes: int) -> None:
        super().__init__()
        self.embed = nn.Embedding(ids, 6)
        self.lstm = nn.LSTM(6, 8, num_layers=2, batch_first=True)
        self.head = nn.Linear(8, classes)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.lstm(self.embed(x))[0][:, -1])


def _normed() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(2, 6, 3, bias=False),  # norm layers undo it: its gradient is pure rounding, which Adam blows up
        nn.BatchNorm2d(6),
        nn.ReLU(),
        nn.Dropout(0.3),
        nn.Flatten(),
        nn.Linear(6 * 16, 12),
        nn.LayerNorm(12),
        nn.ReLU(),
        nn.Dropout(0.2),
        nn.Linear(12, 4),
    )


MODELS: dict[str, Callable[[], FlatModel]] = {
    "logistic": lambda: logistic((2, 3, 3), 5, init="uniform"),
    "mlp": lambda: mlp((12,), 5, hidden=(16,)),
    "mlp2": lambda: mlp((3, 4), 40, hidden=(16, 9)),
    "dense_odd": lambda: wrap(nn.Sequential(nn.Linear(7, 6, bias=False), nn.Linear(6, 4), nn.ReLU()), (7,), 4),
    "cnn5x5": lambda: cnn5x5((2, 16, 16), 4, width=3, features=10),
    "normed": lambda: wrap(_normed(), (2, 6, 6), 4),
    "residual": lambda: wrap(Residual(7, 4), (7,), 4),
    "reader": lambda: wrap(Reader(9, 4), (5,), 4),
}

RULES: dict[str, LocalRule] = {
    "sgd": LocalRule(lr=0.1),
    "schedule": LocalRule(lr=0.1, schedule=lambda t, j: 0.9**t / (1 + j)),
    "prox": LocalRule(lr=0.1, prox=0.7),
    "momentum": LocalRule(lr=0.05, momentum=0.8),
    "momentum_prox": LocalRule(lr=0.05, momentum=0.8, prox=0.3),
    "momentum_kept": LocalRule(lr=0.05, momentum=0.8, keep_state=True),
    "adam": LocalRule(lr=0.01, optimiser="adam"),
    "adam_prox": LocalRule(lr=0.01, optimiser="adam", prox=0.5),
    "adam_kept": LocalRule(lr=0.01, optimiser="adam", keep_state=True),
}

UPDATES = [2, 8, 0, 4, 1, 3]


def make_cohort(
    model: FlatModel,
    rule: LocalRule,
    dtype: torch.dtype = torch.float64,
    updates: list[int] | None = None,
    ragged: bool = True,
    shift: bool = False,
    batch: int = 6,
) -> Cohort:
    """A cohort with two start rows, kept memory from an earlier round, and batches of 0 to ``batch`` samples."""
    numbers = UPDATES if updates is None else updates
    clients, steps, samples, g = len(numbers), max(numbers), 50, Rng(1, ("cohort",)).torch()
    ids = any(isinstance(layer, nn.Embedding) for layer in model.module.modules())
    x = (
        torch.randint(9, (samples, *model.shape), generator=g)
        if ids
        else torch.randn(samples, *model.shape, generator=g)
    )
    y = torch.randint(model.classes, (samples,), generator=g)
    index = torch.randint(samples, (clients, steps, batch), generator=g)
    count = (
        torch.randint(0, batch + 1, (clients, steps), generator=g) if ragged else torch.full((clients, steps), batch)
    )
    if batch > 1:
        count[count == 1] = 2  # batch norm refuses single samples
    rows = torch.stack([model.init(Rng(0)), model.init(Rng(1))]).to(dtype)
    d, own = model.shared.size, model.size - model.shared.size
    group = torch.arange(clients) % 2
    moved = torch.randn(clients, d, generator=g, dtype=dtype) * 0.05 if shift else None
    local = rows[group, d:] if own else None
    trainable = d + model.local.size
    slots: Slots = {}
    if rule.keep_state:
        slots = {name: torch.rand(clients, trainable, generator=g, dtype=dtype) * 0.01 for name in rule.state_names}
    if "adam_n" in slots:
        slots["adam_n"] = torch.arange(clients) % 3 * 4
    start = Start(rows[:, :d].contiguous(), group, moved, local=local, slots=slots)
    batches = Batches(Picks(index, count), None, lambda i: (x[i], y[i]))
    return Cohort(model, rule, start, batches, torch.tensor(numbers))


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Tiny products: torch's own threads only wait for each other."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(params=MODELS)
def model(request: pytest.FixtureRequest) -> FlatModel:
    """Every family of models; some of them, by name, with ``indirect``."""
    return MODELS[request.param]()


@pytest.fixture(params=RULES)
def rule(request: pytest.FixtureRequest) -> LocalRule:
    """Every optimiser and term of the local rule."""
    return RULES[request.param]


@pytest.fixture
def cohort() -> Callable[..., Cohort]:
    return make_cohort
