"""Contract of a local cost: a function of what networks say of a mini-batch, never of the networks themselves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, Protocol

import torch
from torch import Tensor

from fedradio.core.contracts.data import Target
from fedradio.core.contracts.state import Slots
from fedradio.core.errors import Problem

if TYPE_CHECKING:
    from fedradio.core.contracts.learning import LocalRule, Model

RECEIVED = "received"
"""Anchor that the framework provides: the received model."""

PREVIOUS = "previous"
"""Anchor that the framework provides: the client's own model after its last training, the initial one before it."""

NO_SAMPLE = 2**63 - 1
"""A sample number that stands for none, behind all others."""


class Outputs(NamedTuple):
    """Outputs of a network for the mini-batches of ``k`` clients: ``logits [k, b, classes]``, and, for losses that read
    them, ``features [k, b, m]``, the inputs of the last layer."""

    logits: Tensor
    features: Tensor | None = None


@dataclass(frozen=True)
class Batch:
    """Mini-batch of ``k`` clients as a loss sees it: ``n`` labelled samples, then ``m`` unlabelled ones.

    ``y [k, n]`` are labels: numbers of classes, or values. ``weight [k, n]`` is ``1/n_i`` for the ``n_i`` real samples
    of a client and 0 for padding, so that a weighted sum is a mean. ``targets [k, m, classes]`` are those that the loss
    has made of the unlabelled samples, weighed by ``target_weight [k, m]``. ``known [k]`` holds values per client that
    the algorithm gives.
    """

    y: Tensor
    weight: Tensor
    targets: Tensor
    target_weight: Tensor
    known: Slots = field(default_factory=dict)

    def mean(self, values: Tensor) -> Tensor:
        """Mean ``[k]`` of ``values [k, n]`` over each client's labelled samples; 0 without any."""
        return (values * self.weight).sum(-1)


@dataclass(frozen=True)
class KeptTargets:
    """Targets of unlabelled samples that clients keep: ``value [A, M, C]`` of the samples ``number [A, M]``, in rising
    order, then NO_SAMPLE."""

    number: Tensor
    value: Tensor


class Loss(Protocol):
    """A local cost as a function of outputs; kernels run the networks.

    ``costs`` is all that a loss must have: the costs ``[k]`` of the clients, under the name of every row that it
    ``trains``. ``out`` has the outputs of these rows and of the ``anchors``, which are evaluated only: ``received``,
    ``previous``. With ``target`` "value" the labels are real numbers and the network has one output.

    The rest has defaults: ``slopes`` by autograd on outputs; no unlabelled samples (``unlabelled_batch`` of them in an
    update, drawn from the labelled ones with ``stand_in``) and no targets of these.

    Example:

        >>> import torch
        >>> from fedradio import Batch, Loss, Outputs
        >>> class Near(Loss):  # pulls towards the received model's logits
        ...     anchors = ("received",)
        ...     def costs(self, out, batch):
        ...         return {"w": batch.mean((out["w"].logits - out["received"].logits).square().sum(-1))}
        >>> z = torch.tensor([[[1.0, 2.0]]])
        >>> batch = Batch(torch.tensor([[0]]), torch.ones(1, 1), z[:, :0], z[:, :0, 0])
        >>> cost, slopes = Near().slopes({"w": Outputs(z), "received": Outputs(0 * z)}, batch)
        >>> cost.tolist(), slopes["w"].logits.tolist()
        ([5.0], [[[2.0, 4.0]]])
    """

    anchors: tuple[str, ...] = ()
    reads_features: bool = False
    target: Target = "class"
    unlabelled_batch: int = 0

    @property
    def trains(self) -> tuple[str, ...]:
        """Rows with a gradient and an optimiser each; the first one is the shared model's."""
        return ("w",)

    def costs(self, out: Mapping[str, Outputs], batch: Batch) -> Mapping[str, Tensor]:
        """Costs ``[k]`` of every trained row; each is minimised in its own row alone, all others are fixed."""
        ...

    def slopes(self, out: Mapping[str, Outputs], batch: Batch) -> tuple[Tensor, Mapping[str, Outputs]]:
        """Cost ``[k]`` of the row ``w``, and the gradients of each trained row's cost in its own outputs."""
        return slopes_by_autograd(self, out, batch)

    def row_rule(self, row: str, rule: LocalRule) -> LocalRule:
        """The local rule of a further trained row."""
        return rule

    def passes(self, rule: LocalRule, t: int, labelled: bool, unlabelled: bool) -> float:
        """Training passes per labelled sample in round ``t``, see :meth:`LocalRule.passes`. An anchor is a forward
        pass, a third of a training pass."""
        return (rule.gradients + len(self.anchors) / 3.0) * float(labelled)

    def check(self, rule: LocalRule, model: Model) -> list[Problem]:
        """Problems of training this model with this rule and loss."""
        return []

    @property
    def warning(self) -> str:
        """Warning about its strengths; empty for none."""
        return ""

    @property
    def makes_targets(self) -> bool:
        """Whether it makes targets of unlabelled samples; without, they are uniform."""
        return False

    @property
    def keeps_targets(self) -> bool:
        """Whether clients keep these targets across rounds."""
        return False

    @property
    def stand_in(self) -> bool:
        """Whether labelled samples stand in for unlabelled ones; their labels are not looked at."""
        return False

    @property
    def target_note(self) -> str:
        """Note of a client in the records: the share of its targets whose largest entry is the label; empty: none."""
        return ""

    def targets(self, z: Tensor, before: Tensor | None = None) -> Tensor:
        """Targets ``[n, C]`` of unlabelled samples from the received model's logits ``z [n, C]`` and those that were
        kept; fixed for the round."""
        return z.softmax(-1)


def slopes_by_autograd(loss: Loss, out: Mapping[str, Outputs], batch: Batch) -> tuple[Tensor, Mapping[str, Outputs]]:
    """Costs and slopes of a loss by autograd, on outputs alone."""
    with torch.enable_grad():
        leaves = {
            name: Outputs(
                _leaf(z, name in loss.trains), None if features is None else _leaf(features, name in loss.trains)
            )
            for name, (z, features) in out.items()
        }
        costs = loss.costs(leaves, batch)
        slopes = {}
        for name in loss.trains:
            inputs = [each for each in leaves[name] if each is not None]
            found = torch.autograd.grad(costs[name].sum(), inputs, allow_unused=True, retain_graph=len(loss.trains) > 1)
            z, *features = [torch.zeros_like(x) if g is None else g for x, g in zip(inputs, found, strict=True)]
            slopes[name] = Outputs(z, *features)
    return costs[loss.trains[0]].detach(), slopes


def _leaf(values: Tensor, trained: bool) -> Tensor:
    """The same values outside of any graph."""
    return values.detach().requires_grad_(trained)
