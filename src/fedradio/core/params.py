"""Flat-parameter arithmetic: a model is a row ``[d]``, a cohort a matrix ``[n, d]``, a layer a view into the row."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor


@dataclass(frozen=True)
class Field:
    """A named tensor inside a row."""

    name: str
    shape: tuple[int, ...]
    offset: int

    @cached_property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def span(self) -> slice:
        return slice(self.offset, self.offset + self.size)


@dataclass(frozen=True)
class Layout:
    """Names, shapes and offsets of the tensors of a row, without gaps."""

    fields: tuple[Field, ...]

    @staticmethod
    def of(shapes: Mapping[str, Sequence[int]]) -> Layout:
        """The layout that puts tensors of these shapes one after the other."""
        fields, offset = [], 0
        for name, shape in shapes.items():
            field = Field(name, tuple(shape), offset)
            fields.append(field)
            offset += field.size
        return Layout(tuple(fields))

    @cached_property
    def size(self) -> int:
        return sum(field.size for field in self.fields)

    def views(self, rows: Tensor) -> dict[str, Tensor]:
        """Views ``[..., *shape]`` into ``rows [..., size]``; writing to one writes to the row."""
        lead = rows.shape[:-1]
        return {field.name: rows[..., field.span].view((*lead, *field.shape)) for field in self.fields}

    def flatten(self, tensors: Mapping[str, Tensor]) -> Tensor:
        """The row ``[size]`` made of these tensors, in the order of the layout."""
        flat = [tensors[field.name].detach().reshape(-1) for field in self.fields]
        return torch.cat(flat) if flat else torch.zeros(0)


def group_sum(values: Tensor, group: Tensor, groups: int) -> Tensor:
    """``out[r] = sum of values[i] with group[i] = r``; ``values [A, ...]``, ``group [A]``, result ``[groups, ...]``."""
    out = torch.zeros(groups, *values.shape[1:], dtype=values.dtype, device=values.device)
    return out.index_add_(0, group, values)


def group_share(values: Tensor, group: Tensor, groups: int) -> Tensor:
    """Each value as a share of its group's sum, 0 where the group's sum is 0; ``[A] -> [A]``."""
    total = group_sum(values, group, groups)[group]
    return torch.where(total > 0, values / total.clamp(min=torch.finfo(values.dtype).tiny), torch.zeros_like(values))


def group_rank(keys: Tensor, group: Tensor) -> Tensor:
    """Rank of each key inside its group, 0 the smallest, ties by position; ``[S] -> [S]`` int64."""
    by_key = torch.argsort(keys, stable=True)
    order = by_key[torch.argsort(group[by_key], stable=True)]
    sizes = torch.bincount(group)
    first = (torch.cumsum(sizes, 0) - sizes)[group[order]]
    rank = torch.empty_like(order)
    rank[order] = torch.arange(len(order), device=keys.device) - first
    return rank
