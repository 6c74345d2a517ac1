"""Chains of transforms: the messages between them, and the damping of what both sides accumulate."""

from __future__ import annotations

from collections.abc import Sequence

from fedradio.core.contracts import Message, Transform


def messages(transforms: Sequence[Transform], first: Message) -> list[Message]:
    """What a sender would send before each transform, and after the last; ``first`` is the plain payload."""
    chain = [first]
    for transform in transforms:
        chain.append(transform.message(chain[-1]))
    return chain


def damping(transforms: Sequence[Transform], first: Message) -> float:
    """Factor ``prod 1/(1 + omega)`` of the unbiased coders of a hop, by which both sides move what they accumulate.

    The noise of an unbiased coder enters a control variate and through it the next change: undamped it grows without
    limit where ``omega > 1``.
    """
    factor = 1.0
    for transform, before in zip(transforms, messages(transforms, first), strict=False):
        omega = transform.omega(before.coded)
        factor *= 1.0 if omega is None else 1.0 / (1.0 + omega)
    return factor


def lossy(transforms: Sequence[Transform]) -> bool:
    """Whether receivers decode something else than was sent."""
    return any(transform.lossy for transform in transforms)
