"""Distinct inputs: equal inputs under one model have equal logits, so that each goes through the model once.

For distinct inputs ``u`` of a mini-batch of ``b`` samples, with counts ``n_u``, labels counted ``N[u, c]`` and
probabilities ``p_u``, the cross entropy is ``-(1/b) sum N[u, c] log p_u[c]``, its gradient with respect to the logits
``(n_u p_u - N[u]) / b``. Both are exact; in floating point only the order of sums changes.

By hand: two classes, inputs ``x, x, x`` labelled 0, 0, 1 and ``p = (.5, .5)``: the loss is ``log 2``, the gradient
``(3 * .5 - 2, 3 * .5 - 1) / 3 = (-1/6, 1/6)``.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from fedradio.core.contracts import Fetch, Repeats, TestSet

SHARE = True
"""Whether equal inputs are computed once; tests and benchmarks compare both ways."""

MOST = 0.75
"""Largest share of distinct inputs among the samples at which sharing them is worth its bookkeeping."""

ROUND_UP = 8
"""Distinct inputs of stacked clients are padded to a multiple of this: buffers are viewed in few shapes."""


def repeating(fetch: Fetch) -> Repeats | None:
    """The fetch, if it knows which of its inputs are equal."""
    return fetch if SHARE and isinstance(fetch, Repeats) else None


@dataclass(frozen=True)
class Shared:
    """Distinct inputs of all mini-batches ``[k, T]`` of clients that are trained together, in the order of their keys.

    ``index [T, k, U]`` are sample numbers of the distinct inputs, ``weight [T, k, U]`` their shares ``n_u/b`` of the
    mini-batch (0: padding), ``number [T][k]`` how many there are. Of every sample: ``place [T, k, B]`` its input among
    the distinct ones, the label ``y [T, k, B]``, and ``share [T, k, B]``, ``1/b`` or 0 where it is padding.
    """

    index: Tensor
    weight: Tensor
    number: list[list[int]]
    place: Tensor
    y: Tensor
    share: Tensor

    def width(self, j: int, live: int) -> int:
        """Distinct inputs of update ``j``: the most of the first ``live`` clients, rounded up if there are several."""
        most = max(self.number[j][:live])
        return most if live == 1 else min(_rounded_up(most), self.index.shape[2])


def distinct(fetch: Fetch, index: Tensor, count: Tensor, updates: list[int], like: Tensor) -> Shared | None:
    """Distinct inputs of the first ``updates [k]`` mini-batches ``index [k, T, B]`` of clients that are trained
    together, the first ``count [k, T]`` samples of each being real; None where too few inputs repeat.

    It depends on these clients alone, whoever else is trained elsewhere. ``like`` has the type of the weights.
    """
    repeats = repeating(fetch)
    if repeats is None or index.numel() == 0:
        return None
    due = torch.arange(index.shape[1], device=index.device) < torch.tensor(updates, device=index.device)[:, None]
    count = (count * due).T  # [T, k]
    batch = int(count.max())
    if batch == 0:
        return None
    index = index[..., :batch].transpose(0, 1).contiguous()  # [T, k, B]
    real = torch.arange(batch, device=index.device) < count[..., None]
    last = torch.iinfo(torch.int64).max  # padding comes last
    key, order = torch.where(real, repeats.key(index), last).sort(dim=-1, stable=True)
    new = real.clone()  # after sorting too, the first samples are the real ones
    new[..., 1:] &= key[..., 1:] != key[..., :-1]
    number = new.sum(-1)
    if float(number.sum()) > MOST * float(real.sum()):
        return None
    rank = (new.cumsum(-1) - 1).clamp(min=0)
    place = torch.zeros_like(index).scatter_(-1, order, torch.where(real, rank, 0))
    width = min(_rounded_up(int(number.max())), batch)
    first = index[..., :1].repeat(1, 1, width + 1)  # the last column takes what is not the first of its kind
    first.scatter_(-1, torch.where(new, rank, width), index.gather(-1, order))
    share = real.to(like) / count.clamp(min=1)[..., None]
    counted = torch.zeros_like(first, dtype=like.dtype)[..., :width].scatter_add_(-1, place, real.to(like))
    weight = counted / count.clamp(min=1)[..., None]
    return Shared(first[..., :width].contiguous(), weight, number.tolist(), place, repeats.labels(index), share)


@dataclass(frozen=True)
class Questions:
    """Distinct inputs ``index [u]`` of a test set, and the distinct questions ``(input, label, group)`` put to them,
    by input: ``place [q]`` is a question's input, ``y [q]`` its label, ``group [q]`` its evaluation group, ``count
    [q]`` how many samples ask it. Of every sample: ``of [n]`` its input, ``labels [n]``. Owner ``c`` of inputs has
    ``bounds[c]``."""

    index: Tensor
    place: Tensor
    y: Tensor
    group: Tensor
    count: Tensor
    of: Tensor
    labels: Tensor
    bounds: list[tuple[int, int]]

    def between(self, lo: int, hi: int) -> slice:
        """The questions put to inputs ``lo:hi``."""
        ends = torch.tensor([lo, hi], device=self.place.device)
        first, end = torch.searchsorted(self.place, ends).tolist()
        return slice(first, end)


def questions(test: TestSet, owner: Tensor, group: Tensor) -> Questions | None:
    """Distinct inputs of the samples of each ``owner [n]``, by owner, and the questions of each ``group [n]``; None
    where too few inputs repeat."""
    repeats = repeating(test.fetch)
    if repeats is None or len(owner) == 0:
        return None
    keys, key = torch.unique(repeats.key(test.index), return_inverse=True)
    inputs, of = torch.unique(owner * len(keys) + key, return_inverse=True)
    if len(inputs) > MOST * len(of):
        return None
    y = repeats.labels(test.index)
    classes, groups = int(y.max()) + 1, int(group.max()) + 1
    asked, count = torch.unique((of * groups + group) * classes + y, return_counts=True)
    place = asked // classes
    first = torch.full_like(inputs, len(of)).scatter_reduce_(0, of, torch.arange(len(of), device=of.device), "amin")
    ends = torch.bincount(inputs // len(keys), minlength=test.groups).cumsum(0).tolist()
    return Questions(
        index=test.index[first],
        place=place // groups,
        y=asked % classes,
        group=place % groups,
        count=count,
        of=of,
        labels=y,
        bounds=list(zip([0, *ends[:-1]], ends, strict=True)),
    )


def _rounded_up(number: int) -> int:
    return -(-number // ROUND_UP) * ROUND_UP
