"""What a sample of requested video files is made of: generated images, tables to gather from, windows of requests.

Letters: ``C`` clients, ``G`` genres, ``M`` files of a genre, ``F = G*M`` files. All requests of all clients lie end to
end in ``request [n]``; a sample's number is the place of its first request there.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fedradio.core.rng import Rng
from fedradio.data.draw import Ints
from fedradio.data.requests import Floats, Requests

CHANNELS, SIDE = 3, 32
COLUMN = CHANNELS * SIDE
"""Numbers in one more column of an image."""

GREY = 0.8
"""Share of the variance that an image's three channels have in common."""


@dataclass(frozen=True)
class Catalogue:
    """The files: standardised images ``image [F, 3, 32, 32]`` float32, cosine similarities ``[G, M, M]`` in genres."""

    image: NDArray[np.float32]
    cosine: Floats


def draw_catalogue(genres: int, files: int, rng: Rng) -> Catalogue:
    """Files of every genre; those of the first genres stay the same when there are more genres."""
    shelves = [draw_images(files, rng.child("images", g)) for g in range(genres)]
    flat = [shelf.reshape(files, -1) for shelf in shelves]
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
    drawn = rng.numpy().standard_normal((count, 1 + CHANNELS, SIDE, SIDE))
    amplitude = np.sqrt(GREY) * drawn[:, :1] + np.sqrt(1 - GREY) * drawn[:, 1:]
    image = wave.T @ (amplitude / frequency) @ wave
    image -= image.mean(axis=(1, 2, 3), keepdims=True)
    return np.asarray(image / image.std(axis=(1, 2, 3), keepdims=True))


def extra_columns(genres: int, files: int) -> int:
    """Columns beside an image that hold a sample's other numbers: the fewest with a place for all G + M + 2."""
    return -(-(genres + files + 2) // COLUMN)


@dataclass(frozen=True)
class Features:
    """A :data:`Fetch` of images with side information ``[3, 32, W]``: the last request's features, the next request.

    Nothing but ``request [n]`` and ``client [n]`` is stored per sample. ``table [F, 3*32*W]`` has all that a file
    determines; the rest, ``taste [C, G + 1]``, belongs at ``place [G + 1]``.
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
        y = self.request.index_select(0, flat + 1)
        return x.view(*index.shape, *self.shape), y.view(index.shape)


def features_of(catalogue: Catalogue, law: Requests, request: Ints, client: Ints) -> Features:
    """The tables behind the samples: image, then preferences, similarities, g/G as often as it fits, stay.

    The numbers after the image fill the columns beside it, channel by channel and row by row.
    """
    genres, files = law.entry.shape
    columns = extra_columns(genres, files)
    beside = np.zeros((law.contents, columns * COLUMN), np.float32)
    beside[:, genres : genres + files] = catalogue.cosine.reshape(law.contents, files)
    beside[:, genres + files : -1] = (np.arange(law.contents) // files / genres)[:, None]
    shape = (CHANNELS, SIDE, columns)
    table = np.concatenate([catalogue.image, beside.reshape(-1, *shape)], axis=3)
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
    """A :data:`Fetch` of file numbers: ``length`` successive requests, and the one after them."""

    request: Tensor
    length: int

    def __call__(self, index: Tensor) -> tuple[Tensor, Tensor]:
        """Sample numbers of any shape to ``(x [*index, length] int64, y [*index])``."""
        windows = self.request.unfold(0, self.length + 1, 1)  # a view [n - length, length + 1]
        found = windows.index_select(0, index.flatten())
        return found[:, :-1].reshape(*index.shape, self.length), found[:, -1].reshape(index.shape)
