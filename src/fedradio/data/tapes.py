"""Tapes from partitioned samples: every client's training order, test, unlabelled and validation samples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fedradio.core.contracts import Samples, Scale, Tapes, TestSet
from fedradio.core.errors import Problem, SpecError
from fedradio.core.rng import Rng


@dataclass(frozen=True)
class Pool:
    """A :data:`Fetch` of samples in memory: ``x [n, *shape]``, ``y [n]``; with a ``scale``, ``x`` are uint8 pixels that
    are standardised batch by batch."""

    x: Tensor
    y: Tensor
    scale: Scale | None = None

    def __call__(self, index: Tensor) -> tuple[Tensor, Tensor]:
        """Sample numbers of any shape to ``(x [*index, *shape], y [*index])``."""
        flat = index.flatten()
        x = self.x.index_select(0, flat).view(*index.shape, *self.x.shape[1:])
        return x if self.scale is None else self.scale(x), self.y.index_select(0, flat).view(index.shape)


def make_tapes(
    samples: Samples,
    parts: list[Tensor],
    rng: Rng,
    *,
    test: Literal["source", "client"] = "source",
    test_fraction: float = 0.2,
    unlabelled: float = 0.0,
    held_out: float = 0.0,
) -> Tapes:
    """Every client's samples in random order, split into test, labelled, unlabelled and validation samples.

    ``test="source"``: one group, the source's own test split. ``test="client"``: ``test_fraction`` of each client's own
    samples (rounded, at least one) is its test group. Of what is left, a share ``unlabelled`` (rounded, but below 1 not
    all) loses its labels, at random positions of the tape. Of 3000 samples .2 and .9 leave 600 test, 240 labelled and
    2160 unlabelled. Of the labelled, a share ``held_out`` (rounded, but not all) goes to ``Tapes.validation`` instead.
    """
    _check_shares(test_fraction, unlabelled, held_out)
    samples.check()
    if test == "source" and len(samples.test_y) == 0:
        raise SpecError(
            Problem("data.test", "the source has no test set", "set data.test=client, or give the source a test set")
        )
    device = samples.y.device
    size = np.array([len(part) for part in parts])  # [C]
    owner = np.repeat(np.arange(len(parts)), size)
    index = torch.cat(parts).cpu().numpy()
    index = index[np.lexsort((rng.child("order").numpy().random(len(index)), owner))]
    test_size = np.maximum(_rounded(test_fraction * size), 1) if test == "client" else np.zeros_like(size)
    if len(empty := np.flatnonzero(size <= test_size)):
        names = ", ".join(map(str, empty[:8])) + (f" and {len(empty) - 8} more" if len(empty) > 8 else "")
        reason = f"no training sample left for client(s) {names}"
        raise SpecError(Problem("data.partition", reason, "use more samples per client, or a smaller test fraction"))
    in_test = _rank(owner, size) < test_size[owner]
    pool = Pool(samples.x, samples.y, samples.scale)
    train, client, train_size = index[~in_test], owner[~in_test], size - test_size
    hidden = np.minimum(_rounded(unlabelled * train_size), train_size - (unlabelled < 1))  # never the last label
    unlabelled_mask = _rank_of(rng.child("unlabelled").numpy().random(len(train)), client, train_size) < hidden[client]
    in_validation = _validation_mask(unlabelled_mask, client, train_size - hidden, held_out, rng.child("held_out"))

    def tensor(values: NDArray[np.generic]) -> Tensor:
        return torch.from_numpy(values).to(device)

    if test == "client":
        test_set = TestSet(tensor(index[in_test]), tensor(owner[in_test]), len(parts), True, pool)
    else:
        number = torch.arange(len(samples.test_y), device=device)
        test_pool = Pool(samples.test_x, samples.test_y, samples.scale)
        test_set = TestSet(number, torch.zeros_like(number), 1, False, test_pool)
    validation = None
    if held_out > 0:
        validation = TestSet(tensor(train[in_validation]), tensor(client[in_validation]), len(parts), True, pool)
    train, unlabelled_mask, client = train[~in_validation], unlabelled_mask[~in_validation], client[~in_validation]
    return Tapes(
        index=tensor(train),
        offset=tensor(np.concatenate([[0], np.cumsum(np.bincount(client, minlength=len(parts)))])),
        label=samples.y[tensor(train)],
        labelled=tensor(~unlabelled_mask),
        fetch=pool,
        test=test_set,
        shape=samples.shape,
        classes=samples.classes,
        sample_bits=samples.sample_bits,
        validation=validation,
    )


def _validation_mask(
    unlabelled_mask: NDArray[np.bool_], owner: NDArray[np.int64], labelled: NDArray[np.int64], share: float, rng: Rng
) -> NDArray[np.bool_]:
    """Positions of the tapes that are kept for validation: a ``share`` of every client's ``labelled [C]`` samples."""
    count = np.minimum(_rounded(np.float64(share) * labelled), np.maximum(labelled - 1, 0))
    keys = rng.numpy().random(len(owner)) + unlabelled_mask  # labelled ones first
    return _rank_of(keys, owner, np.bincount(owner, minlength=len(labelled))) < count[owner]


def _check_shares(test_fraction: float, unlabelled: float, held_out: float) -> None:
    problems = []
    if not 0 < test_fraction < 1:
        problems.append(Problem("data.test_fraction", "must lie between 0 and 1", "such as 0.2", test_fraction))
    if not 0 <= unlabelled <= 1:
        problems.append(Problem("data.unlabelled", "must be between 0 and 1", "such as 0.9", unlabelled))
    if not 0 <= held_out < 1:
        problems.append(Problem("data.held_out", "must be at least 0 and below 1", "such as 0.1", held_out))
    if problems:
        raise SpecError(problems)


def _rounded(values: NDArray[np.float64]) -> NDArray[np.int64]:
    """Nearest whole number, halves up; the small term undoes products like ``.9 * 15 = 13.499...``."""
    return np.floor(values + 0.5 + 1e-9).astype(np.int64)


def _rank(owner: NDArray[np.int64], size: NDArray[np.int64]) -> NDArray[np.int64]:
    """Position of every entry in its owner's block; ``owner [n]`` is sorted, in blocks of ``size [C]``."""
    return np.arange(len(owner)) - (np.cumsum(size) - size)[owner]


def _rank_of(keys: NDArray[np.float64], owner: NDArray[np.int64], size: NDArray[np.int64]) -> NDArray[np.int64]:
    """Rank of every key among those of its owner, 0 the smallest."""
    order = np.lexsort((keys, owner))
    rank = np.empty_like(order)
    rank[order] = _rank(owner, size)
    return rank
