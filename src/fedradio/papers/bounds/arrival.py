"""Probability of a client's payload to arrive, RawHFL's ``p_sc``, from the records of a run.

Under fading the link knows it and notes it: ``Pr(t_cp + t_up <= t_th)``. Elsewhere it is estimated.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from fedradio.core.contracts import ExchangeRecord

NOTE = "p_sc"
"""What links call it in their notes."""


def arrival_probability(exchanges: Sequence[Sequence[ExchangeRecord]], clients: int) -> Tensor:
    """Probabilities ``[K, E, U]`` to arrive in every edge round: those that the link noted, else the share of a
    client's payloads that arrived in the whole run; 1 for clients that did not send."""
    rounds = [[record for record in records if record.hop == 0] for records in exchanges]
    if not is_noted(exchanges):
        return _frequency(rounds, clients).expand(len(rounds), len(rounds[0]), -1)
    return torch.stack([torch.stack([_noted(record, clients) for record in records]) for records in rounds])


def is_noted(exchanges: Sequence[Sequence[ExchangeRecord]]) -> bool:
    """Whether the link noted the probabilities of all payloads."""
    sent = [record for records in exchanges for record in records if record.hop == 0 and record.ids]
    return bool(sent) and all(NOTE in record.notes for record in sent)


def _noted(record: ExchangeRecord, clients: int) -> Tensor:
    row = torch.ones(clients, dtype=torch.float64)
    if record.ids:
        row[torch.tensor(record.ids)] = torch.tensor(record.notes[NOTE].values, dtype=torch.float64)
    return row


def _frequency(rounds: Sequence[Sequence[ExchangeRecord]], clients: int) -> Tensor:
    """Arrived over sent payloads of every client ``[U]``; 1 for those that never sent."""
    rows = [record.dense(clients) for records in rounds for record in records]
    sent = torch.tensor([row.active for row in rows]).double().sum(0)
    got = torch.tensor([row.arrived for row in rows]).double().sum(0)
    return torch.where(sent > 0, got / sent.clamp(min=1), 1.0)
