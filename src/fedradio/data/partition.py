"""Partitions of a data set over clients: one int64 index tensor per client, every sample exactly once.

Every partition gets ``labels [n]``, the number of classes and ``parent [C]``, each client's edge. An impossible one is
refused with a remedy, as is one that leaves a client without data.
"""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fedradio.core.errors import Problem, SpecError
from fedradio.core.registry import Arg, register
from fedradio.core.rng import Rng

Ints = NDArray[np.int64]
Gaps = Literal["lack_two", "six_common"]
Inside = Literal["samples", "labels"]

DIRICHLET_TRIES = 1000


@register("partition", "iid")
def iid(labels: Tensor, classes: int, parent: Tensor, rng: Rng, /) -> list[Tensor]:
    """Independent and identically distributed (i.i.d.): equal random shares whose sizes differ by at most one."""
    _enough(len(labels), len(parent), "clients", "data.partition")
    order = rng.child("order").numpy().permutation(len(labels))
    return _tensors(np.array_split(order, len(parent)), labels)


@register("partition", "shards", paper="FedCPSL, Section V; W-HFL, Section V")
def shards(
    labels: Tensor,
    classes: int,
    parent: Tensor,
    rng: Rng,
    /,
    *,
    per_client: Annotated[int, Arg("shards per client", ge=1, le=10_000)] = 2,
    pure: Annotated[bool, Arg("cut within classes, so that every shard has a single label")] = False,
) -> list[Tensor]:
    """Label skew by shards: samples are sorted by label, cut into shards and dealt at random; few labels per client.

    Plain shards are cut from the whole sorted list (sizes differ by at most one, and some contain two labels). Pure
    shards are cut within each class; a class gets shards in proportion to its samples (largest remainder method), and
    at least one (20 clients with 2 shards each and 10 equal classes: 4 shards per class). A client may get the same
    label twice.
    """
    clients = len(parent)
    total = clients * per_client
    _enough(len(labels), total, "shards", "data.partition.per_client")
    order, count = _by_label(labels, classes, rng.child("order"))
    if pure:
        cut = _shards_per_class(count, total)
        blocks = np.split(order, np.cumsum(count)[:-1])
        pieces = [piece for block, n in zip(blocks, cut, strict=True) if n for piece in np.array_split(block, n)]
    else:
        pieces = np.array_split(order, total)
    dealt = rng.child("deal").numpy().permutation(total).reshape(clients, per_client)
    return _tensors([np.concatenate([pieces[i] for i in numbers]) for numbers in dealt], labels)


@register("partition", "dirichlet", paper="OSAFL, Appendix A")
def dirichlet(
    labels: Tensor,
    classes: int,
    parent: Tensor,
    rng: Rng,
    /,
    *,
    alpha: Annotated[
        float, Arg("concentration: small values are uneven, large ones approach i.i.d.", ge=1e-3, le=1e6)
    ] = 0.5,
    min_samples: Annotated[
        int, Arg("redraw until every client has at least this many samples", ge=1, le=1_000_000)
    ] = 10,
) -> list[Tensor]:
    """Label skew by Dirichlet shares: each class is split over the clients by a symmetric Dirichlet draw."""
    clients = len(parent)
    _enough(len(labels), clients * min_samples, "samples requested", "data.partition.min_samples")
    order, count = _by_label(labels, classes, rng.child("order"))
    draws = rng.child("shares").numpy()
    for _ in range(DIRICHLET_TRIES):
        sizes = _cut(count, draws.dirichlet(np.full(clients, alpha), size=classes))
        if sizes.sum(axis=0).min() >= min_samples:
            return _tensors(_gather(order, sizes), labels)
    worst = int(sizes.sum(axis=0).argmin())
    reason = (
        f"none of {DIRICHLET_TRIES} draws gave every client {min_samples} samples (last: client {worst} had too few)"
    )
    raise SpecError(Problem("data.partition.alpha", reason, "use a larger alpha or a smaller min_samples", alpha))


@register("partition", "label_gaps", paper="W-HFL, Section V")
def label_gaps(
    targets: Tensor,
    classes: int,
    parent: Tensor,
    rng: Rng,
    /,
    *,
    missing: Annotated[
        int, Arg("labels missing at each edge; a pair of edges misses twice as many", ge=1, le=1000)
    ] = 2,
    labels: Annotated[
        Gaps,
        Arg(
            "lack_two: every edge misses different labels; six_common: all edges share the same labels, and each of "
            "the others belongs to one edge"
        ),
    ] = "lack_two",
    inside: Annotated[
        Inside,
        Arg(
            "what is divided at random among an edge's clients: its samples, or its labels, so that each client has few"
        ),
    ] = "samples",
    drawn: Annotated[bool, Arg("draw the missing labels from the seed instead of taking 0, 1, 2...")] = False,
) -> list[Tensor]:
    """Label skew between edges: every pair of edges shares all but ``2 missing`` labels, by default six of ten.

    The paper only says this, and that an edge's labels "are distributed randomly" over its clients. ``lack_two``: edge
    ``j`` misses the labels ``j*missing..(j+1)*missing-1``. ``six_common``: all edges have the first ``classes - 2
    missing`` labels, and each of the others belongs to one edge. The samples of a label are spread over the edges that
    have it, in proportion to their clients. ``inside: labels`` shuffles the labels of an edge and cuts the list into
    equal parts.
    """
    edge, members = np.unique(parent.cpu().numpy(), return_inverse=True, return_counts=True)[1:]
    _check_gaps(classes, len(members), missing, labels)
    order, count = _by_label(targets, classes, rng.child("order"))
    share = _gap_shares(classes, members, missing, labels)
    if drawn:
        share = share[rng.child("gaps").numpy().permutation(classes)]
    parts: list[Ints] = [np.empty(0, np.int64)] * len(parent)
    for j, owned in enumerate(_gather(order, _cut(count, share / share.sum(axis=1, keepdims=True)))):
        row = rng.child("edge", j).numpy().permutation(owned)
        if inside == "labels":
            place = rng.child("labels", j).numpy().permutation(classes)
            row = row[np.argsort(place[targets.cpu().numpy()[row]], kind="stable")]
        for client, part in zip(np.flatnonzero(edge == j), np.array_split(row, members[j]), strict=True):
            parts[client] = part
    return _tensors(parts, targets)


def _gap_shares(classes: int, members: Ints, missing: int, labels: Gaps) -> NDArray[np.float64]:
    """Shares ``[classes, edges]`` of the samples of a label, up to a factor; 0 where an edge lacks the label."""
    edges = len(members)
    share = np.tile(members.astype(np.float64), (classes, 1))
    if labels == "lack_two":
        share[np.arange(edges * missing), np.repeat(np.arange(edges), missing)] = 0
    else:
        owner = np.arange(2 * missing) % edges
        share[classes - 2 * missing :] *= np.equal(owner[:, None], np.arange(edges))
    return share


def _check_gaps(classes: int, edges: int, missing: int, labels: Gaps) -> None:
    """Refuse gaps that these classes do not allow."""
    path = "data.partition.missing"
    if edges == 1:
        reason = "with a single edge, no client would have the missing labels"
        raise SpecError(
            Problem("data.partition", reason, "use a topology with two or more edges, or another partition")
        )
    if labels == "lack_two" and edges * missing > classes:
        reason = f"{edges} edges that each miss {missing} different labels need {edges * missing} classes"
        remedy = f"at most {classes // edges}" if edges <= classes else f"at most {classes} edges"
        raise SpecError(Problem(path, f"{reason}, but there are {classes}", remedy, missing))
    if labels == "six_common" and 2 * missing >= classes:
        reason = f"all but {2 * missing} of the {classes} classes would be shared"
        raise SpecError(Problem(path, reason, f"at most {(classes - 1) // 2}", missing))


def _by_label(labels: Tensor, classes: int, rng: Rng) -> tuple[Ints, Ints]:
    """Sample numbers sorted by label, in random order inside a label, and the samples of every class ``[classes]``."""
    if labels.is_floating_point():
        reason = "the targets are values, and values have no classes to divide by"
        raise SpecError(Problem("data.partition", reason, "use iid or owners"))
    order = rng.numpy().permutation(len(labels))
    label = labels.cpu().numpy()
    return order[np.argsort(label[order], kind="stable")], np.bincount(label, minlength=classes).astype(np.int64)


def _cut(count: Ints, share: NDArray[np.float64]) -> Ints:
    """Integer sizes ``[classes, owners]``: ``count [classes]`` split by ``share``, by rounding running sums."""
    ends = np.rint(np.cumsum(share, axis=1) * count[:, None]).astype(np.int64)
    ends[:, -1] = count
    return np.diff(ends, axis=1, prepend=0)


def _gather(order: Ints, sizes: Ints) -> list[Ints]:
    """Samples of every owner; ``order`` is sorted by class, then by owner, in blocks of ``sizes [classes, owners]``."""
    classes, owners = sizes.shape
    owner = np.repeat(np.tile(np.arange(owners), classes), sizes.ravel())
    by_owner = order[np.argsort(owner, kind="stable")]
    return np.split(by_owner, np.cumsum(sizes.sum(axis=0))[:-1])


def _shards_per_class(count: Ints, total: int) -> Ints:
    """Shards ``[classes]`` in proportion to ``count``: whole parts, at least one for a class with samples, the rest by
    the largest remainder (or, if those single shards were too many, taken back by the smallest)."""
    present = count > 0
    if total < present.sum():
        reason = f"{total} pure shards cannot contain {present.sum()} labels"
        raise SpecError(Problem("data.partition.per_client", reason, "use more shards per client, or pure: false"))
    quota = total * count / count.sum()
    shard = np.where(present, np.maximum(np.floor(quota), 1), 0).astype(np.int64)
    while (rest := total - int(shard.sum())) != 0:
        gap = np.where(present if rest > 0 else shard > 1, quota - shard, -np.sign(rest) * np.inf)
        shard[gap.argmax() if rest > 0 else gap.argmin()] += np.sign(rest)
    return shard


def _enough(samples: int, needed: int, noun: str, path: str) -> None:
    if samples < needed:
        reason = f"there are only {samples} samples, fewer than the {needed} {noun}"
        raise SpecError(Problem(path, reason, "use more samples or fewer clients"))


def _tensors(parts: list[Ints], labels: Tensor) -> list[Tensor]:
    """Tensors on the labels' device; refuses clients without data."""
    empty = [client for client, part in enumerate(parts) if len(part) == 0]
    if empty:
        names = ", ".join(map(str, empty[:8])) + (f" and {len(empty) - 8} more" if len(empty) > 8 else "")
        raise SpecError(
            Problem("data.partition", f"no data for client(s) {names}", "use more samples or fewer clients")
        )
    return [torch.from_numpy(part.astype(np.int64, copy=False)).to(labels.device) for part in parts]
