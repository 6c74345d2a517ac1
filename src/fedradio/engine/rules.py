"""Local update rules: SGD with momentum, and Adam."""

from __future__ import annotations

from typing import Annotated

from fedradio.core.contracts import EpochsOver, LocalRule
from fedradio.core.registry import Arg, register

MOST_BATCH = 1_000_000

SHARPNESS = Arg(
    "radius rho of sharpness-aware minimisation (FedSAM): gradients at w + rho g/|g|, two passes; 0: off", ge=0, le=1e4
)
PERSONAL_STEPS = Arg(
    "first local steps of a round, in which only the personal parameters train, and only the others afterwards "
    "(FedRep); 0: all train together (FedPer)",
    ge=0,
    le=1_000_000,
)
EPOCHS = Arg("samples that count towards an epoch: labelled, unlabelled, or the total number of both")


@register("rule", "sgd")
def sgd(
    *,
    lr: Annotated[float, Arg("learning rate", gt=0, le=1e4)] = 0.1,
    batch: Annotated[int, Arg("samples per mini-batch", ge=1, le=MOST_BATCH)] = 32,
    momentum: Annotated[float, Arg("heavy-ball momentum gamma", ge=0, lt=1)] = 0.0,
    keep_state: Annotated[
        bool, Arg("keep each client's momentum across rounds (otherwise it restarts from 0)")
    ] = False,
    updates_per_step: Annotated[int, Arg("mini-batches per local step", ge=1, le=10_000)] = 1,
    lr_per_step: Annotated[
        bool, Arg("divide the rate by the client's number of local steps in the round (OSAFL, Remark 3)")
    ] = False,
    epochs_over: Annotated[EpochsOver, EPOCHS] = "labelled",
    sharpness: Annotated[float, SHARPNESS] = 0.0,
    personal_steps: Annotated[int, PERSONAL_STEPS] = 0,
) -> LocalRule:
    """Stochastic gradient descent: ``v = gamma v + g + mu (w - w0) + shift;  w -= lr v``.

    With ``lr_per_step``, a client that takes ``kappa`` local steps in a round takes them at rate ``lr/kappa``, so that
    more steps do not move it farther. With ``sharpness`` rho, ``g`` is the gradient at ``w + rho g_0/|g_0|``, where
    ``g_0`` is that at ``w``: flat minima are preferred, and an update costs twice the cycles.
    """
    return LocalRule(
        lr=lr,
        batch=batch,
        momentum=momentum,
        keep_state=keep_state,
        updates_per_step=updates_per_step,
        lr_per_step=lr_per_step,
        epochs_over=epochs_over,
        sharpness=sharpness,
        personal_steps=personal_steps,
    )


@register("rule", "adam", paper="W-HFL, section V (state kept per client)")
def adam(
    *,
    lr: Annotated[float, Arg("learning rate", gt=0, le=1e4)] = 0.001,
    batch: Annotated[int, Arg("samples per mini-batch", ge=1, le=MOST_BATCH)] = 32,
    beta1: Annotated[float, Arg("decay of the first moment", ge=0, lt=1)] = 0.9,
    beta2: Annotated[float, Arg("decay of the second moment", ge=0, lt=1)] = 0.999,
    eps: Annotated[float, Arg("added to the root of the second moment", gt=0, le=1)] = 1e-7,
    keep_state: Annotated[bool, Arg("keep each client's moments across rounds; they are never sent")] = True,
    updates_per_step: Annotated[int, Arg("mini-batches per local step", ge=1, le=10_000)] = 1,
    epochs_over: Annotated[EpochsOver, EPOCHS] = "labelled",
    sharpness: Annotated[float, SHARPNESS] = 0.0,
    personal_steps: Annotated[int, PERSONAL_STEPS] = 0,
) -> LocalRule:
    """Adam with bias correction on ``g + mu (w - w0) + shift``."""
    return LocalRule(
        lr=lr,
        batch=batch,
        optimiser="adam",
        beta1=beta1,
        beta2=beta2,
        eps=eps,
        keep_state=keep_state,
        updates_per_step=updates_per_step,
        epochs_over=epochs_over,
        sharpness=sharpness,
        personal_steps=personal_steps,
    )
