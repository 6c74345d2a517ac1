"""Contracts of learning: the model, the local update rule, metrics, and the backend that trains a cohort and scores
predictions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol

from torch import Tensor, nn

from fedradio.core.contracts.data import Batches, Target, TestSet
from fedradio.core.contracts.loss import KeptTargets, Loss
from fedradio.core.contracts.state import Slots
from fedradio.core.params import Layout
from fedradio.core.rng import Rng

if TYPE_CHECKING:
    from fedradio.core.contracts.algorithm import Ensemble


class Model(Protocol):
    """A network whose parameters are a row ``[D] = [shared d | local trainable | buffers]``.

    ``shared`` is sent; ``local`` (norm layers) and ``buffers`` (running statistics) never enter a payload: with
    ``norms`` "local" they stay with the client, with "shared" they are averaged on a side channel without error.
    ``module`` is the torch network that engines read the structure of.

    Example:

        >>> from fedradio import Rng, mlp
        >>> model = mlp((1, 8, 8), 10, hidden=[16])
        >>> model.shared.size, model.init(Rng(1)).shape
        (1210, torch.Size([1210]))
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
    def personal(self) -> frozenset[str]:
        """Names of parameters that train and never travel; they are part of ``local``."""
        ...

    @property
    def shape(self) -> tuple[int, ...]: ...

    @property
    def classes(self) -> int: ...

    def init(self, rng: Rng) -> Tensor: ...

    def apply(self, row: Tensor, x: Tensor) -> Tensor:
        """Logits ``[n, classes]`` of ``x [n, *shape]`` in evaluation mode."""
        ...


Schedule = Callable[[int, int], float]
"""Learning-rate schedule: the factor on the rate in round ``t`` at local update ``j``. Those of this package are frozen
dataclasses and can be sent to other processes."""


@dataclass(frozen=True)
class Constant:
    """Constant learning rate."""

    def __call__(self, t: int, j: int) -> float:
        return 1.0


EpochsOver = Literal["labelled", "unlabelled", "all"]
"""The samples that a local epoch runs over."""


@dataclass(frozen=True)
class Epoch:
    """A local epoch: the samples that it runs ``over``; an update takes ``batch`` labelled and ``unlabelled_batch``
    unlabelled ones, a local step ``updates_per_step`` updates."""

    over: EpochsOver
    batch: int
    unlabelled_batch: int
    updates_per_step: int = 1

    def steps(self, labelled: Tensor, unlabelled: Tensor) -> Tensor:
        """Local steps ``[C]`` of an epoch of clients with so many samples; the last step may be smaller.

        ``labelled``: over the labelled samples, and over the others where a client has no label. ``unlabelled``: over
        the unlabelled samples, and over the labelled where a client has no others. ``all``: over as many samples as
        the client has, of both kinds together. By hand: 240 and 2160 samples, 32 + 32 an update, are 8, 68, 38 steps.
        """
        lit = _quotient_up(labelled, self.batch * self.updates_per_step)
        if self.over == "labelled":
            return lit.where(labelled > 0, _quotient_up(unlabelled, self.batch * self.updates_per_step))
        if self.over == "unlabelled":
            others = _quotient_up(unlabelled, self.unlabelled_batch * self.updates_per_step)
            return others.where(unlabelled > 0, lit)
        update = self.batch * (labelled > 0) + self.unlabelled_batch * (unlabelled > 0)
        return _quotient_up(labelled + unlabelled, update.clamp(min=1) * self.updates_per_step)


def _quotient_up(samples: Tensor, each: Tensor | int) -> Tensor:
    """``ceil(samples / each)`` in whole numbers."""
    return (samples + each - 1).div(each, rounding_mode="floor")


@dataclass(frozen=True)
class LocalRule:
    """Local update rule: ``v = gam*v + g + mu*(w - w0) + shift;  w -= lr*v``, or Adam on the same gradient.

    An update takes ``batch`` samples, a local step (the unit of policies) ``updates_per_step`` updates. An epoch runs
    over the samples that ``epochs_over`` says. With ``keep_state`` every client keeps its optimiser's memory across
    rounds and never sends it. With ``lr_per_step`` a client divides the rate by its own number of local steps of the
    round. The cost is that of ``loss`` (None: cross entropy). With ``sharpness`` rho above 0 an update takes the
    gradient at ``w + rho g/|g|``, ``g`` being that at ``w`` (sharpness-aware minimisation). In the first
    ``personal_steps`` local steps of a round personal parameters alone are trained, then the shared ones alone (0: all
    together).
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
    schedule: Schedule = Constant()
    loss: Loss | None = None
    sharpness: float = 0.0
    personal_steps: int = 0
    lr_per_step: bool = False
    epochs_over: EpochsOver = "labelled"

    @property
    def unlabelled_batch(self) -> int:
        """Unlabelled samples of an update; 0 without costs of unlabelled samples."""
        return 0 if self.loss is None else self.loss.unlabelled_batch

    @property
    def gradients(self) -> float:
        """Gradients of an update, each a pass forward and backward."""
        return 2.0 if self.sharpness > 0.0 else 1.0

    def passes(self, t: int = 0, labelled: bool = True, unlabelled: bool = True) -> float:
        """Training passes per labelled sample of a mini-batch in round ``t``, a factor of CPU cycles, seconds and
        joules, of a client that has labelled samples, and samples that stand for ``unlabelled`` ones."""
        return self.gradients if self.loss is None else self.loss.passes(self, t, labelled, unlabelled)

    @property
    def epoch(self) -> Epoch:
        """The local epoch of this rule."""
        return Epoch(self.epochs_over, self.batch, self.unlabelled_batch or self.batch, self.updates_per_step)

    @property
    def state_names(self) -> tuple[str, ...]:
        """Names of the optimiser's slots, each ``[C, d_trainable]`` (``adam_n``: ``[C]``)."""
        if self.optimiser == "adam":
            return ("adam_m", "adam_v", "adam_n")
        return ("momentum",) if self.momentum > 0 else ()

    def rests(self, j: int, shared: int) -> slice | None:
        """The part of a trainable row ``[shared | local]`` that rests in local update ``j``; None for no part."""
        if self.personal_steps == 0:
            return None
        return slice(shared) if j < self.personal_steps * self.updates_per_step else slice(shared, None)

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
    ``ids [A]`` its number. For the loss: ``rows [A, d]`` are the further rows that it trains and its anchors, ``known
    [A, ...]`` other values of the client, ``targets`` those of its unlabelled samples, where it keeps them.
    """

    w: Tensor
    group: Tensor
    shift: Tensor | None = None
    local: Tensor | None = None
    slots: Slots = field(default_factory=dict)
    ids: Tensor | None = None
    rows: Slots = field(default_factory=dict)
    known: Slots = field(default_factory=dict)
    targets: KeptTargets | None = None

    def client(self, row: int) -> int:
        """Number of the client in a row of the cohort: its dropout masks must not depend on who else is active."""
        return row if self.ids is None else int(self.ids[row])


@dataclass(frozen=True)
class Trained:
    """Result of local training: ``delta [A, d] = new - old``, ``local [A, d_local]``, mean ``loss [A]``, the
    optimiser's ``slots``; the further ``rows [A, d]`` that the loss trains; its ``notes [A]`` (NaN: none); and, where
    it keeps targets, the new ones ``targets [A, M, C]``."""

    delta: Tensor
    local: Tensor | None
    loss: Tensor
    slots: Slots
    rows: Slots = field(default_factory=dict)
    notes: Slots = field(default_factory=dict)
    targets: Tensor | None = None


Grouping = Literal["auto", "single"]
"""Which clients are trained together: stacks that suit the processor's caches, or every client alone."""

Precision = Literal["float32", "bf16"]
"""Numbers in which forward pass and loss of training are computed; parameters, sums and evaluation stay float32."""


@dataclass(frozen=True)
class TrainJob:
    """Local training of a cohort in round ``t``: everything that its result depends on, but for the groups.

    Client ``a`` makes ``updates[a]`` updates, from its row of ``start``, on its row of ``batches``. With ``precision``
    "bf16", networks trained by autograd compute forward pass and loss in mixed precision. A job can be sent to another
    process: its parts can be pickled.
    """

    model: Model
    rule: LocalRule
    t: int
    start: Start
    batches: Batches
    updates: Tensor
    rng: Rng
    precision: Precision = "float32"


class Metric(Protocol):
    """Judgement of predictions on test samples, beside accuracy and loss. It has no state and draws nothing.

    ``names`` are those of its scores in the records, whatever the data; each is in ``unit`` (empty for shares and other
    plain numbers) and ``better`` when it is more, or when it is less. It judges predictions of a ``target``: classes
    or values.

    Example:

        >>> import torch
        >>> from fedradio import Metric
        >>> class Doubt(Metric):
        ...     names, better = ("doubt",), "less"
        ...     def score(self, logits, y, client):
        ...         return {"doubt": float(1 - logits.exp().amax(dim=1).mean())}
        >>> round(Doubt().score(torch.tensor([[0.75, 0.25]]).log(), torch.tensor([0]), torch.tensor([0]))["doubt"], 3)
        0.25
    """

    @property
    def names(self) -> tuple[str, ...]: ...

    @property
    def unit(self) -> str:
        return ""

    @property
    def better(self) -> Literal["more", "less"]:
        return "more"

    @property
    def target(self) -> Target:
        return "class"

    def score(self, logits: Tensor, y: Tensor, client: Tensor) -> dict[str, float]:
        """Scores by name, finite, from log-probabilities ``logits [n, C]`` of the ensemble's mixture (of values: the
        predictions ``[n, 1]``), labels ``y [n]``, and the evaluation group ``client [n]`` of each sample; at least one
        sample, all on the CPU."""
        ...


@dataclass(frozen=True)
class EvalJob:
    """Evaluation of an ensemble on test samples.

    Members are ``[1, d]`` (one for all) or ``[C, d]`` (one a client), ``local [1 or C, d_local]`` their local parts.
    Hits are counted among the ``1..top`` likeliest classes; ``metrics`` judge the predictions beside that. With
    ``target`` "value" the one output of the one member is the prediction. It can be sent to another process, as a
    :class:`TrainJob`.
    """

    model: Model
    ensemble: Ensemble
    test: TestSet
    local: Tensor | None
    top: int = 1
    metrics: tuple[Metric, ...] = ()
    target: Target = "class"


@dataclass(frozen=True)
class Scores:
    """Top-1 accuracy and cross entropy in nats, plain means over groups; ``group_accuracy [G]`` is that of each group
    (NaN without samples).

    ``top [M]`` and ``group_top [G, M]`` are top-m accuracies, ``m = 1..M``. A group is one of the test set's, or, where
    every client has a model of its own and all share the samples, a client. ``metrics`` are those of the job's metrics.

    Where values are predicted there are no accuracies (NaN, and ``top [0]``): ``loss`` is the mean squared error, and
    ``group_rmse [G]`` its root in each group.
    """

    accuracy: float
    loss: float
    group_accuracy: Tensor
    top: Tensor
    group_top: Tensor
    metrics: dict[str, float] = field(default_factory=dict)
    group_rmse: Tensor | None = None


class Backend(Protocol):
    """Trainer and evaluator; every implementation equals the plain loop of ``tests/support/reference.py``.

    Example:

        >>> from fedradio import build, load_spec
        >>> sim = build(load_spec("digits_flat"), workers=1)
        >>> type(sim.backend).__name__, sim.grouping
        ('Engine', 'auto')
    """

    def train(self, job: TrainJob, groups: list[list[int]]) -> Trained:
        """Train the cohort; a client without updates has a delta and loss of 0.

        ``groups`` are rows that are trained together, each sorted by falling updates; every client with updates is in
        one of them. The coordinator cuts them, never a backend: two backends agree bit for bit on equal groups only.
        """
        ...

    def evaluate(self, job: EvalJob) -> Scores:
        """Score the ensemble. Probabilities are mixed, ``p = sum_m a_m softmax(z_m)``.

        One model per client is evaluated on its client's samples if the test set has them (``per_client``), and on all
        samples otherwise.
        """
        ...
