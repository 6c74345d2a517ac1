"""Samples of video-file requests: images, tables of features, windows of request histories (OSAFL).

Letters: ``C`` clients, ``G`` genres, ``M`` files of a genre, ``F = G*M`` files. The requests of all clients are
concatenated in ``request [n]``; a sample's number is the position of its first request there.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fedradio.core.rng import Rng
from fedradio.data.cache import load
from fedradio.data.catalog import Bytes
from fedradio.data.draw import Ints
from fedradio.data.requests import Floats, Requests

CHANNELS, SIDE = 3, 32
COLUMN = CHANNELS * SIDE
"""Numbers in one column of an image."""

GREY = 0.8
"""Share of the variance that the three channels of an image have in common."""


Genre = Literal["unit", "printed"]


@dataclass(frozen=True)
class Catalogue:
    """Video files: standardised ``image [F, 3, 32, 32]`` float32, ``cosine [G, M, M]`` similarities inside genres."""

    image: NDArray[np.float32]
    cosine: Floats


def draw_catalogue(genres: int, files: int, rng: Rng) -> Catalogue:
    """Random files of every genre; those of the first genres stay the same when there are more genres."""
    return _catalogue([draw_images(files, rng.child("images", g)) for g in range(genres)])


def photographs(genres: int, files: int) -> Catalogue:
    """Files with CIFAR-100's images, which must have been fetched: file ``i`` of genre ``g`` has the first training
    image of the fine label ``g*files + i``, standardised. A genre is ``files`` successive labels, in the order of their
    numbers: our reading of "the first 100 labels"."""
    arrays = load("cifar100")
    image = standardised(first_of_labels(arrays.train_x, arrays.train_y, genres * files))
    return _catalogue([image[g * files : (g + 1) * files] for g in range(genres)])


def first_of_labels(images: Bytes, labels: Bytes, count: int) -> Bytes:
    """The first image of each of the labels ``0..count-1``, ``[count, channels, height, width]``."""
    return np.stack([images[int((labels == label).argmax())] for label in range(count)])


def standardised(images: NDArray[np.generic]) -> Floats:
    """Images ``[n, channels, height, width]``, each with mean 0 and variance 1."""
    x = images.astype(np.float64)
    x -= x.mean(axis=(1, 2, 3), keepdims=True)
    return np.asarray(x / x.std(axis=(1, 2, 3), keepdims=True))


def _catalogue(shelves: list[Floats]) -> Catalogue:
    """Standardised images of every genre with their similarities."""
    flat = [shelf.reshape(len(shelf), -1) for shelf in shelves]
    # norms are sqrt(3072); the sums of einsum, unlike those of a matrix product, do not depend on the number of threads
    cosine = np.stack([np.clip(np.einsum("ik,jk->ij", x, x) / x.shape[1], -1, 1) for x in flat])
    return Catalogue(np.concatenate(shelves).astype(np.float32), cosine)


def draw_images(count: int, rng: Rng) -> Floats:
    """Smooth random images ``[count, 3, 32, 32]``, each with mean 0 and variance 1.

    Cosine waves of frequency ``|k|`` have normal amplitudes of deviation ``1/|k|``, like the spectra of photographs.
    The similarities of such images deviate by .22 from 0 (those of white noise by .02: the second most similar file
    would be as likely to follow as the first), and of the two most similar files the first follows with .518.
    """
    wave = np.cos(np.pi * np.outer(np.arange(SIDE), np.arange(SIDE) + 0.5) / SIDE)  # [frequency, pixel]
    frequency = np.hypot.outer(np.arange(SIDE), np.arange(SIDE))
    frequency[0, 0] = np.inf  # no mean
    normal = rng.numpy().standard_normal((count, 1 + CHANNELS, SIDE, SIDE))
    amplitude = np.sqrt(GREY) * normal[:, :1] + np.sqrt(1 - GREY) * normal[:, 1:]
    return standardised(wave.T @ (amplitude / frequency) @ wave)


def extra_columns(genres: int, files: int) -> int:
    """Columns beside an image for a sample's other numbers: the fewest that hold all G + M + 2."""
    return -(-(genres + files + 2) // COLUMN)


@dataclass(frozen=True)
class Features:
    """A :data:`Fetch` of images with extra columns ``[3, 32, W]``: the last request's features, labelled by the next.

    Only ``request [n]`` and ``client [n]`` are stored per sample. ``table [F, 3*32*W]`` has the features that depend on
    the file; those of the client, ``taste [C, G + 1]``, go to the positions ``place [G + 1]``.
    """

    request: Tensor
    client: Tensor
    table: Tensor
    taste: Tensor
    place: Tensor

    @property
    def shape(self) -> tuple[int, ...]:
        return (CHANNELS, SIDE, self.table.shape[1] // COLUMN)

    def __call__(self, index: Tensor) -> tuple[Tensor, Tensor]:
        """Sample numbers of any shape to ``(x [*index, 3, 32, W] float32, y [*index])``."""
        flat = index.flatten()
        x = self.table.index_select(0, self.request.index_select(0, flat))
        x.index_copy_(1, self.place, self.taste.index_select(0, self.client.index_select(0, flat)))
        return x.view(*index.shape, *self.shape), self.labels(index)

    def key(self, index: Tensor) -> Tensor:
        """Number of the input among all of client and file: samples of equal request and client are equal."""
        flat = index.flatten()
        request, client = self.request.index_select(0, flat), self.client.index_select(0, flat)
        return (client * len(self.table) + request).view(index.shape)

    def labels(self, index: Tensor) -> Tensor:
        return self.request.index_select(0, index.flatten() + 1).view(index.shape)

    @property
    def rank(self) -> int:
        """Dimensions that inputs span: one a file and one a number of the client's."""
        return len(self.table) + len(self.place)

    def basis(self) -> Tensor:
        """Orthonormal rows ``[rank, 3*32*W]``: those of the files without the client's places, then these places."""
        return self._span[0]

    def coordinates(self, index: Tensor) -> Tensor:
        """Coordinates ``[*index, rank]`` of the samples' inputs in the basis."""
        flat = index.flatten()
        file = self._span[1].index_select(0, self.request.index_select(0, flat))
        own = self.taste.index_select(0, self.client.index_select(0, flat)).double()
        return torch.cat([file, own], dim=1).view(*index.shape, -1)

    @cached_property
    def _span(self) -> tuple[Tensor, Tensor]:
        """The basis, and the coordinates ``[F, F]`` of the files."""
        files = self.table.double().index_fill(1, self.place, 0.0)
        q, r = torch.linalg.qr(files.T)  # files = r^T q^T
        places = torch.zeros(len(self.place), files.shape[1], dtype=torch.float64, device=files.device)
        places.scatter_(1, self.place[:, None], 1.0)
        return torch.cat([q.T, places]), r.T.contiguous()


def features_of(
    catalogue: Catalogue, law: Requests, request: Ints, client: Ints, image_std: float = 1.0, genre: Genre = "unit"
) -> Features:
    """Feature tables of the samples: image, then preferences, similarities, the genre as often as it fits, stay.

    The numbers after the image fill the columns beside it, channel by channel and row by row. Pixels have the deviation
    ``image_std``; the genre stands as ``g/G`` (unit) or as its number ``g`` (printed).
    """
    genres, files = law.entry.shape
    columns = extra_columns(genres, files)
    extra = np.zeros((law.contents, columns * COLUMN), np.float32)
    extra[:, genres : genres + files] = catalogue.cosine.reshape(law.contents, files)
    number_of = np.arange(law.contents) // files
    extra[:, genres + files : -1] = (number_of / genres if genre == "unit" else number_of)[:, None]
    shape = (CHANNELS, SIDE, columns)
    table = np.concatenate([catalogue.image * np.float32(image_std), extra.reshape(-1, *shape)], axis=3)
    number = np.arange(table[0].size).reshape(table.shape[1:])[:, :, SIDE:].ravel()
    return Features(
        request=torch.from_numpy(request),
        client=torch.from_numpy(client),
        table=torch.from_numpy(table.reshape(law.contents, -1)),
        taste=torch.from_numpy(np.column_stack([law.preference, law.stay]).astype(np.float32)),
        place=torch.from_numpy(np.append(number[:genres], number[-1])),
    )


@dataclass(frozen=True)
class History:
    """A :data:`Fetch` of request histories: ``length`` successive file numbers, labelled by the next."""

    request: Tensor
    length: int

    def __call__(self, index: Tensor) -> tuple[Tensor, Tensor]:
        """Sample numbers of any shape to ``(x [*index, length] int64, y [*index])``."""
        windows = self.request.unfold(0, self.length + 1, 1)  # a view [n - length, length + 1]
        chosen = windows.index_select(0, index.flatten())
        return chosen[:, :-1].reshape(*index.shape, self.length), chosen[:, -1].reshape(index.shape)
