"""Partition from a file: which client has which samples.

By hand: ``0,2``, ``1,0`` and ``0,1`` below ``client,index`` give client 0 the samples 1 and 2, client 1 sample 0.
"""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
import torch
from torch import Tensor

from fedradio.core.errors import Problem, SpecError
from fedradio.core.registry import Arg, register
from fedradio.core.rng import Rng
from fedradio.core.tables import read_table

COLUMNS = ("client", "index")
WHERE = "partition.path"

Missing = Literal["refuse", "leave_out"]


@register("partition", "file")
def owners(
    labels: Tensor,
    classes: int,
    parent: Tensor,
    rng: Rng,
    /,
    *,
    path: Annotated[str, Arg("CSV file with columns client,index and one row per sample", file=True)],
    missing: Annotated[Missing, Arg("samples missing from the file: an error, or left out of the run")] = "refuse",
) -> list[Tensor]:
    """Your own partition, from a file: the client of every training sample, both numbered from 0.

    ``index`` counts the training samples of the source in order. If the source holds out no test set, these are the
    rows of its file.
    """
    table = read_table(path, WHERE, COLUMNS)
    client, index = table.whole("client", "a client"), table.whole("index", "a sample")
    for name, values, most in (("client", client, len(parent)), ("index", index, len(labels))):
        outside = np.flatnonzero(values >= most)
        if len(outside):
            row = int(outside[0])
            raise table.wrong(f"{name} {values[row]} does not exist: they are numbered 0 to {most - 1}", row)
    again = np.setdiff1d(np.arange(len(index)), np.unique(index, return_index=True)[1])
    if len(again):
        raise table.wrong(f"sample {index[again[0]]} already has a client", int(again[0]))
    unnamed = np.setdiff1d(np.arange(len(labels)), index)
    if missing == "refuse" and len(unnamed):
        more = f" and {len(unnamed) - 1} more" if len(unnamed) > 1 else ""
        reason = f"{path} has no client for sample {unnamed[0]}{more}"
        raise SpecError(Problem(WHERE, reason, "add a row for every sample, or set data.partition.missing=leave_out"))
    empty = np.setdiff1d(np.arange(len(parent)), client)
    if len(empty):
        more = f" and {len(empty) - 1} more" if len(empty) > 1 else ""
        raise table.wrong(f"no samples for client {empty[0]}{more} of {len(parent)}")
    return [torch.from_numpy(np.sort(index[client == c])).to(labels.device) for c in range(len(parent))]
