"""Contracts of learning: the model, the local update rule, its objective, and the backend that trains a cohort."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, Protocol

from torch import Tensor, nn

from fedradio.core.contracts.data import Batches
from fedradio.core.contracts.radio import Slots
from fedradio.core.params import Layout
from fedradio.core.rng import Rng


class Model(Protocol):
    """A network whose parameters are a row ``[D] = [shared d | local trainable | buffers]``.

    ``shared`` is sent; ``local`` (norm layers) and ``buffers`` (running statistics) never enter a payload: with
    ``norms`` "local" they stay with the client, with "shared" they are averaged on a side channel without error.
    ``module`` is the torch network that engines read the structure of.
    """

    @property
    def module(self) -> nn.Module: ...

    @property
    def shared(self) -> Layout: ...

    @property
    def local(self) -> Layout: ...

    @property
    def buffers(self) -> Layout: ...

    @property
    def norms(self) -> Literal["local", "shared"]: ...

    @property
    def shape(self) -> tuple[int, ...]: ...

    @property
    def classes(self) -> int: ...

    def init(self, rng: Rng) -> Tensor: ...

    def apply(self, row: Tensor, x: Tensor) -> Tensor:
        """Logits ``[n, classes]`` of ``x [n, *shape]`` in evaluation mode."""
        ...


Schedule = Callable[[int, int], float]
"""Learning-rate schedule: the factor on the rate in round ``t`` at local update ``j``."""


@dataclass(frozen=True)
class Objective:
    """Local objective beyond labelled cross entropy; ``z`` logits, ``h = softmax(z)``, ``n`` classes (FedCPSL, (4))::

        f = mean_L CE(y, h) + alpha_p mean_U CE(nu, h) + alpha_r mean_U [KL(nu, 1/n) + KL(h, 1/n)]

    ``L`` are the labelled and ``U`` the ``unlabelled_batch`` unlabelled samples of an update (0: none are drawn, and
    the terms with U are absent). Pseudo-labels ``nu`` are frozen for the round: ``closed`` is
    ``softmax((alpha_p/alpha_r) z)`` of the received model, ``gradient`` one projected step. With ``pair`` every client
    also trains a model of its own on the mixture ``b h_own + (1-b) h``, ``h`` held fixed (5), at ``lr_factor`` times
    the rate, with ``momentum_own``, and with a ``schedule`` of its own if there is one.
    """

    alpha_p: float = 0.0
    alpha_r: float = 0.0
    unlabelled_batch: int = 0
    pseudo: Literal["closed", "gradient"] = "closed"
    pair: bool = False
    lr_factor: float = 1.0
    momentum_own: float = 0.0
    schedule: Schedule | None = None


@dataclass(frozen=True)
class LocalRule:
    """Local update rule: ``v = gam*v + g + mu*(w - w0) + shift;  w -= lr*v``, or Adam on the same gradient.

    An update takes ``batch`` samples, a local step (the unit of policies) ``updates_per_step`` updates. With
    ``keep_state`` every client keeps its optimiser's memory across rounds and never sends it.
    """

    lr: float
    batch: int = 32
    optimiser: Literal["sgd", "adam"] = "sgd"
    momentum: float = 0.0
    prox: float = 0.0
    beta1: float = 0.9
    beta2: float = 0.999
    eps: float = 1e-7
    keep_state: bool = False
    updates_per_step: int = 1
    schedule: Schedule = field(default=lambda _t, _j: 1.0)
    objective: Objective | None = None

    @property
    def passes(self) -> float:
        """Training passes per labelled sample, a factor of CPU cycles, seconds and joules.

        Unlabelled samples are trained on too, and their pseudo-labels cost a forward pass, a third of a training pass;
        a pair of models doubles the passes, not the pseudo-labels.
        """
        if self.objective is None:
            return 1.0
        unlabelled = self.objective.unlabelled_batch / self.batch
        labels = unlabelled / 3.0 if self.objective.alpha_p > 0.0 else 0.0
        return (2.0 if self.objective.pair else 1.0) * (1.0 + unlabelled) + labels

    @property
    def state_names(self) -> tuple[str, ...]:
        """Names of the optimiser's slots, each ``[C, d_trainable]`` (``adam_n``: ``[C]``)."""
        if self.optimiser == "adam":
            return ("adam_m", "adam_v", "adam_n")
        return ("momentum",) if self.momentum > 0 else ()

    def rates(self, t: int, updates: int) -> list[float]:
        """Learning rates of the local updates of round ``t``."""
        return [self.lr * self.schedule(t, j) for j in range(updates)]

    def effective_steps(self, updates: Tensor) -> Tensor:
        """Plain steps that ``Q = updates`` with momentum are worth: ``Qt = Q/(1-gam) - gam(1-gam^Q)/(1-gam)^2``.

        With a constant gradient ``g`` and rate ``lr`` the model moves by ``-lr Qt g``.
        """
        gam, q = self.momentum, updates.double()
        return q / (1 - gam) - gam * (1 - gam**q) / (1 - gam) ** 2


@dataclass(frozen=True)
class Start:
    """Starting point of a cohort's local training.

    ``w [G, d]`` are the received models and ``group [A]`` each client's row of them; ``shift [A, d]`` is a constant
    added to its gradients; ``local [A, d_local]`` its local parameters and buffers; ``slots`` its optimiser's memory;
    ``ids [A]`` its number. For pair training ``own [A, d]`` are the clients' own models and ``mixture [A]`` their
    weights in the mixture.
    """

    w: Tensor
    group: Tensor
    shift: Tensor | None = None
    local: Tensor | None = None
    slots: Slots = field(default_factory=dict)
    ids: Tensor | None = None
    own: Tensor | None = None
    mixture: Tensor | None = None

    def client(self, row: int) -> int:
        """Number of the client in a row of the cohort: its dropout masks must not depend on who else is active."""
        return row if self.ids is None else int(self.ids[row])


@dataclass(frozen=True)
class Trained:
    """Result of local training: ``delta [A, d] = new - old``, ``local [A, d_local]``, mean ``loss [A]``, the
    optimiser's ``slots``; of pair training the new models ``own [A, d]``; the accuracy ``pseudo [A]`` of the
    pseudo-labels (NaN: there were none)."""

    delta: Tensor
    local: Tensor | None
    loss: Tensor
    slots: Slots
    own: Tensor | None = None
    pseudo: Tensor | None = None


class Backend(Protocol):
    """Trainer of a cohort of clients; every implementation equals the reference loop of ``engine/reference.py``."""

    def run(
        self, model: Model, rule: LocalRule, t: int, start: Start, batches: Batches, updates: Tensor, rng: Rng
    ) -> Trained: ...
