"""What placements see, made by hand."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from fedradio.core.contracts import CacheView, Foresight
from fedradio.core.rng import Rng


def view_of(
    *,
    parent: Sequence[int] = (0, 0, 1),
    rate: Sequence[float] = (0.5, 0.25, 1.0),
    activity: Sequence[float] = (1.0, 0.5, 0.5),
    counts: Sequence[Sequence[int]] = ((3, 1, 0), (0, 0, 0)),
    recent: Sequence[Sequence[int]] = ((), ()),
    model: Sequence[Sequence[float]] = ((1, 0, 0), (0, 1, 0), (0.2, 0.2, 0.6)),
    law: Sequence[Sequence[float]] = ((0, 0, 1), (0, 0, 1), (0, 1, 0)),
    seed: int = 0,
) -> CacheView:
    """Three clients of two edges and three files."""
    tables: dict[Foresight, Tensor] = {
        "model": torch.tensor(model, dtype=torch.float64),
        "law": torch.tensor(law, dtype=torch.float64),
    }
    return CacheView(
        parent=torch.tensor(parent),
        receivers=len(counts),
        rate=torch.tensor(rate, dtype=torch.float64),
        activity=torch.tensor(activity, dtype=torch.float64),
        counts=torch.tensor(counts),
        used=torch.tensor([[5, 2, -1], [-1, -1, -1]]),
        recent=torch.tensor(recent, dtype=torch.int64).view(len(counts), -1),
        foresee=lambda by: tables[by],
        rng=Rng(seed),
    )
