"""Mixed precision: close to float32, and the same bits whoever computes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from support.training import distance
from torch import Tensor, nn

from fedradio.core.contracts import Batches, LocalRule, Picks, Precision, Trained
from fedradio.core.rng import Rng
from fedradio.engine import Engine
from fedradio.engine.groups import cut
from fedradio.engine.precision import autocast, has_bf16_units
from fedradio.losses.fedcpsl import FedCpslLoss
from fedradio.models import FlatModel, cnn3x3, cnn_batchnorm, lstm, mlp, wrap

CPU = torch.device("cpu")
CLOSE = 3e-2
"""About four times the spacing of bfloat16 numbers, which have 8 bits."""

Make = Callable[..., Any]


def smooth(norm: bool) -> FlatModel:
    """A convolutional network without kinks, at which rounding may change the side."""
    first: list[nn.Module] = [nn.Conv2d(2, 6, 3), *([nn.BatchNorm2d(6)] if norm else []), nn.Tanh(), nn.AvgPool2d(2)]
    second: list[nn.Module] = [nn.Conv2d(6, 8, 2), *([nn.BatchNorm2d(8)] if norm else []), nn.Tanh()]
    return wrap(nn.Sequential(*first, *second, nn.Flatten(), nn.Linear(32, 5)), (2, 9, 8), 5)


MODELS: dict[str, Callable[[], FlatModel]] = {
    "cnn": lambda: smooth(norm=False),
    "lstm": lambda: lstm((5,), 4, ids=9, embedding=6, width=8),
    "batchnorm": lambda: smooth(norm=True),
}
KINKED: dict[str, Callable[[], FlatModel]] = {
    "cnn3x3": lambda: cnn3x3((2, 9, 8), 5, width=6, features=12),
    "cnn_batchnorm": lambda: cnn_batchnorm((2, 9, 8), 5, width=4, dropout=(0.0, 0.0, 0.0)),
}
"""Networks with ReLU and maxima: some units end up on the other side of zero, so that gradients differ by more."""

RULES = {
    "sgd": LocalRule(lr=0.05),
    "momentum": LocalRule(lr=0.05, momentum=0.8, prox=0.3, keep_state=True),
}
PAIR = LocalRule(lr=0.05, loss=FedCpslLoss(0.3, 0.2, unlabelled_batch=5, pair=True, lr_factor=2.0))


def trained(work: Any, precision: Precision, workers: int = 1) -> Trained:
    job = replace(work.job, precision=precision)
    found: Trained = Engine(workers).train(job, cut(job))
    return found


def with_pair(work: Any) -> Any:
    """The cohort with unlabelled batches and models of the clients' own."""
    clients, steps = work.batches.labelled.count.shape
    index = torch.randint(50, (clients, steps, 5), generator=Rng(2).torch())
    unlabelled = Picks(index, torch.full((clients, steps), 5))
    own = work.start.w[work.start.group] * 0.9
    batches = Batches(work.batches.labelled, unlabelled, work.batches.fetch)
    return work.change(batches=batches).with_start(rows={"own": own}, known={"mixture": torch.full((clients,), 0.5)})


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("name", MODELS)
def test_training_in_bf16_is_close_to_float32(cohort: Make, name: str, rule: str) -> None:
    work = cohort(MODELS[name](), RULES[rule], dtype=torch.float32, updates=[4, 0, 3], ragged=False)
    single, mixed = trained(work, "float32"), trained(work, "bf16")
    assert mixed.delta.dtype == mixed.loss.dtype == torch.float32
    assert 0 < distance(mixed.delta, single.delta) < CLOSE
    assert 0 < distance(mixed.loss, single.loss) < CLOSE
    assert not mixed.delta[1].any()
    if single.local is not None:
        assert mixed.local is not None
        assert 0 < distance(mixed.local, single.local) < CLOSE


@pytest.mark.parametrize("name", KINKED)
def test_losses_and_statistics_of_networks_with_kinks_are_close_to_float32(cohort: Make, name: str) -> None:
    work = cohort(KINKED[name](), RULES["sgd"], dtype=torch.float32, updates=[4, 0, 3], ragged=False)
    single, mixed = trained(work, "float32"), trained(work, "bf16")
    assert 0 < distance(mixed.loss, single.loss) < CLOSE
    assert 0 < distance(mixed.delta, single.delta) < 1
    if single.local is not None:
        assert mixed.local is not None
        assert 0 < distance(mixed.local, single.local) < CLOSE


@pytest.mark.parametrize("name", ["cnn", "lstm"])
def test_pairs_in_bf16_are_close_to_float32(cohort: Make, name: str) -> None:
    work = with_pair(cohort(MODELS[name](), PAIR, dtype=torch.float32, updates=[3, 2], ragged=False))
    single, mixed = trained(work, "float32"), trained(work, "bf16")
    for one, other in ((mixed.delta, single.delta), (mixed.rows["own"], single.rows["own"]), (mixed.loss, single.loss)):
        assert one is not None
        assert other is not None
        assert one.dtype == torch.float32
        assert 0 < distance(one, other) < CLOSE


@pytest.mark.parametrize("name", MODELS)
def test_any_number_of_workers_has_the_same_bits(cohort: Make, name: str) -> None:
    work = cohort(MODELS[name](), RULES["momentum"], dtype=torch.float32)
    one, three = trained(work, "bf16", 1), trained(work, "bf16", 3)
    assert torch.equal(one.delta, three.delta)
    assert torch.equal(one.loss, three.loss)


def test_the_dense_kernel_ignores_it(cohort: Make) -> None:
    for work in (
        cohort(mlp((12,), 5, hidden=(16,)), RULES["momentum"], dtype=torch.float32),
        with_pair(cohort(mlp((12,), 5, hidden=(16,)), PAIR, dtype=torch.float32)),
    ):
        assert torch.equal(trained(work, "bf16").delta, trained(work, "float32").delta)


def test_one_engine_trains_in_both(cohort: Make) -> None:
    """A kernel that is kept from the last job is not used in the other precision."""
    work, engine = cohort(MODELS["cnn"](), RULES["sgd"], dtype=torch.float32), Engine(1)
    jobs = [replace(work.job, precision=each) for each in ("float32", "bf16", "float32")]
    first, mixed, again = (engine.train(job, cut(job)) for job in jobs)
    assert torch.equal(first.delta, again.delta)
    assert not torch.equal(first.delta, mixed.delta)
    assert torch.equal(mixed.delta, trained(work, "bf16").delta)


class Watched(nn.Module):
    """A linear layer that notes its number type and whether it is called inside autocast."""

    seen: tuple[tuple[torch.dtype, bool], ...] = ()

    def __init__(self) -> None:
        super().__init__()
        self.head = nn.Linear(3, 2)

    def forward(self, x: Tensor) -> Tensor:
        z: Tensor = self.head(x)
        if self.training:
            Watched.seen = (*Watched.seen, (z.dtype, torch.is_autocast_enabled("cpu")))
        return z


@pytest.mark.parametrize("pair", [False, True])
def test_updates_see_parameters_that_are_up_to_date(cohort: Make, pair: bool) -> None:
    """Weights are cast anew in every update: with the copies of the first update all gradients would be equal."""
    model = wrap(Watched(), (3,), 2)
    rule = PAIR if pair else RULES["sgd"]
    work = cohort(model, rule, dtype=torch.float32, updates=[6], ragged=False)
    work = with_pair(work) if pair else work
    work = work.with_rule(lr=1.0)
    Watched.seen = ()
    mixed = trained(work, "bf16")
    assert set(Watched.seen) == {(torch.bfloat16, True)}
    assert len(Watched.seen) == (12 if pair else 6)
    assert not torch.is_autocast_enabled("cpu")
    assert distance(mixed.delta, trained(work, "float32").delta) < CLOSE
    Watched.seen = ()
    trained(work, "float32")
    assert set(Watched.seen) == {(torch.float32, False)}


@pytest.mark.parametrize("pair", [False, True])
def test_the_loss_is_computed_in_float32(cohort: Make, pair: bool) -> None:
    """Logits (1/2, -1/4) are exact in bfloat16; their log-probabilities are not, and would be wrong by 1e-3."""
    rule = PAIR if pair else RULES["sgd"]
    work = cohort(wrap(Watched(), (3,), 2), rule, dtype=torch.float32, updates=[1, 1], ragged=False)
    row = torch.tensor([0.0] * 6 + [0.5, -0.25])
    work = work.with_start(w=row.expand(2, -1).contiguous())
    if pair:
        work = with_pair(work).with_start(rows={"own": row.expand(2, -1).contiguous()})
    torch.testing.assert_close(trained(work, "bf16").loss, trained(work, "float32").loss, rtol=1e-6, atol=0)


def test_float32_leaves_the_arithmetic_alone() -> None:
    x = torch.ones(2, 2)
    with autocast("float32", CPU):
        assert (x @ x).dtype == torch.float32
    with autocast("bf16", CPU):
        assert (x @ x).dtype == torch.bfloat16


@pytest.mark.parametrize(
    ("flags", "found"),
    [
        ("flags : fpu avx512f avx512_bf16 sha_ni", True),
        ("flags : fpu amx_bf16", True),
        ("Features : fp asimd bf16", True),
        ("flags : fpu avx2 avx512f", False),
        ("", False),
    ],
)
def test_bf16_units_by_the_flags_of_the_processor(tmp_path: Path, flags: str, found: bool) -> None:
    info = tmp_path / "cpuinfo"
    info.write_text(f"processor : 0\n{flags}\n")
    assert has_bf16_units(CPU, info) is found
    assert not has_bf16_units(CPU, tmp_path / "absent")


def test_a_gpu_is_asked_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    for answer in (True, False):
        monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda answer=answer, **_: answer)
        assert has_bf16_units(torch.device("cuda")) is answer
