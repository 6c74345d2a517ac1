"""Payloads through the transforms of a hop: coded by the senders, decoded by the receivers.

Senders apply the transforms in their order, receivers undo them backwards. What receivers will decode of a single
payload, ``heard``, is known to its sender as well: both sides draw the same numbers. Transforms with a memory keep it
up to date from there, once it is known which payloads arrived.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import torch
from torch import Tensor

from fedradio.core.contracts import Coded, Delivery, Exchange, Message, Noted, Sent, Slots, Transform, View
from fedradio.core.rng import Rng
from fedradio.rounds.notes import refuse_undeclared
from fedradio.rounds.parts import Parts, of_transform, recall
from fedradio.transforms.chain import messages


@dataclass(frozen=True)
class Stage:
    """A transform with a memory ``mine [A, ...]``, and its part of an exchange: ``coded [A, k, d]`` is what it gave,
    ``heard [A, k, d]`` what receivers make of that."""

    transform: Transform
    coded: Tensor
    heard: Tensor
    mine: Slots


@dataclass(frozen=True)
class Encoded:
    """Payloads on the link: ``sent``; what receivers decode of each, ``heard [A, k, d]``; the ``bits [A]`` of each
    where they are fewer than foreseen; notes of the transforms; the ``stages`` of those with a memory, by their place.
    """

    sent: Sent
    heard: Tensor
    bits: Tensor | None = None
    notes: dict[str, Noted] = field(default_factory=dict)
    stages: dict[int, Stage] = field(default_factory=dict)

    def kept(self, arrived: Tensor) -> dict[int, Slots]:
        """Memories ``[A, ...]`` of the transforms after the exchange, by place; ``arrived [A]``: whose payloads did."""
        return {
            i: stage.transform.keep(stage.coded, stage.heard, arrived, stage.mine) for i, stage in self.stages.items()
        }


def encode(
    transforms: tuple[Transform, ...],
    first: Message,
    x: View,
    ids: Tensor,
    payload: Tensor,
    memories: list[Slots],
    rng: Rng,
) -> Encoded:
    """Code the payloads of the senders ``ids [A]``; ``first`` is the message of a plain payload, ``memories`` those of
    the transforms, of these senders, ``rng`` the run's. Without transforms the payloads are what is heard.

    Nobody has weighed them yet: a sender codes without knowing its weight, as a device of a federation does.
    """
    sent = Sent(ids, x.parent[ids], payload, torch.ones(len(ids), dtype=torch.float64))
    if not transforms:
        return Encoded(sent, payload)
    views, rng = [replace(x, message=message) for message in messages(transforms, first)], _draws(rng, x)
    coded = list[Coded]()
    for i, transform in enumerate(transforms):
        coded.append(transform.encode(views[i], replace(sent, payload=payload), memories[i], rng.child(i)))
        refuse_undeclared(of_transform(x.hop, i), transform, transform.notes, coded[-1].notes, "notes")
        payload = coded[-1].payload
    on_link, heard = replace(sent, payload=payload), payload
    stages: dict[int, Stage] = {}
    for i, transform in reversed(list(enumerate(transforms))):
        if memories[i]:
            stages[i] = Stage(transform, coded[i].payload, heard, memories[i])
        if not transform.conceals:
            heard = transform.decode(views[i], on_link, heard, rng.child(i))
    notes = {name: note for one in coded for name, note in one.notes.items()}
    return Encoded(on_link, heard, _fewest([one.bits for one in coded]), notes, stages)


def memories_of(parts: Parts, h: int, transforms: tuple[Transform, ...], ids: Tensor) -> list[Slots]:
    """Memories of the transforms of hop ``h``, of the senders ``ids [A]``."""
    slots = [recall(parts, of_transform(h, i)) for i in range(len(transforms))]
    return [{name: rows[ids.to(rows.device)] for name, rows in each.items()} for each in slots]


def decode(
    transforms: tuple[Transform, ...], first: Message, x: Exchange, sent: Sent, delivery: Delivery, rng: Rng
) -> Delivery:
    """The delivery as receivers decode it; single payloads are gone where a transform conceals them."""
    if not transforms:
        return delivery
    views, rng = [replace(x, message=message) for message in messages(transforms, first)], _draws(rng, x)
    total, rows = delivery.total, delivery.rows
    for i, transform in reversed(list(enumerate(transforms))):
        total = transform.decode(views[i], sent, total, rng.child(i))
        rows = None if rows is None or transform.conceals else transform.decode(views[i], sent, rows, rng.child(i))
    return replace(delivery, total=total, rows=rows)


def _draws(run: Rng, x: View) -> Rng:
    """Randomness of the transforms of an exchange, the same for senders and receivers."""
    return run.child("transform", x.hop, x.clock.t, x.clock.e)


def _fewest(bits: list[Tensor | None]) -> Tensor | None:
    """Bits ``[A]`` really sent: the fewest that a transform tells of each payload; None if none tells any."""
    known = [each for each in bits if each is not None]
    return torch.stack(known).amin(dim=0) if known else None
