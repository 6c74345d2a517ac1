"""Receiver rules: the step of a tier's optimiser in place of the merged change of the model."""

from __future__ import annotations

from torch import Tensor

from fedradio.core.contracts import MODEL, Clock, ReceiverRule, Slots


def stepped(
    rule: ReceiverRule, before: Slots, merged: Slots, heard: Tensor, state: Slots, clock: Clock
) -> tuple[Slots, Slots]:
    """The shared vectors ``[R, d]`` of a tier after its rule, ``w = before + step(merged - before)``, and the rule's
    memory; other vectors move as merged.

    ``heard [R]`` marks the receivers that heard somebody. If the step is the change itself, the vectors stay as merged,
    bit for bit.
    """
    change = merged[MODEL] - before[MODEL]
    step, after = rule.step(change, heard, state, clock)
    return (merged if step is change else merged | {MODEL: before[MODEL] + step}), after
