"""What samples of requested files are made of: images, tables, windows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from fedradio.core.contracts import Spanned, Tapes
from fedradio.core.rng import Rng
from fedradio.data import cache
from fedradio.data.draw import Ints
from fedradio.data.requests import Requests, zipf_mandelbrot
from fedradio.data.video_features import (
    Catalogue,
    draw_catalogue,
    draw_images,
    extra_columns,
    first_of_labels,
    photographs,
)
from fedradio.data.video_files import draw_law, video_files

SMALL: dict[str, Any] = {"genres": 3, "files_per_genre": 4, "requests": 30, "test_requests": 20}


def world_of(
    clients: int, seed: int, *, genres: int = 5, files: int = 20, top_k: int = 1, gamma: float = 1.0, q: float = 0.0
) -> tuple[Catalogue, Requests]:
    """The world of ``video_files(clients, Rng(seed), ...)``."""
    catalogue = draw_catalogue(genres, files, Rng(seed))
    popularity = zipf_mandelbrot(files, gamma, q)
    return catalogue, draw_law(catalogue, clients, 0.3, (0.4, 0.9), top_k, popularity, Rng(seed))


def chains(tapes: Tapes, requests: int) -> Ints:
    """Every client's training requests ``[C, requests]``."""
    stored: torch.Tensor = tapes.fetch.request  # type: ignore[union-attr]
    return np.asarray(stored[: tapes.clients * requests].view(tapes.clients, requests).numpy())


@pytest.mark.parametrize(("genres", "files", "columns"), [(3, 4, 1), (5, 20, 1), (5, 89, 1), (5, 90, 2), (60, 3, 1)])
def test_features_equal_a_plain_loop(genres: int, files: int, columns: int) -> None:
    """Image, then in the columns beside it preferences, similarities, genre as often as it fits, and stay."""
    tapes = video_files(3, Rng(4), genres=genres, files_per_genre=files, requests=9, test_requests=6)
    catalogue, law = world_of(3, 4, genres=genres, files=files)
    assert extra_columns(genres, files) == columns
    assert tapes.shape == (3, 32, 32 + columns)
    made, held = chains(tapes, 9), law.simulate(6, Rng(4).child("test"))
    repeats = 96 * columns - genres - files - 1
    assert repeats >= 1
    for part, chain in ((tapes, made), (tapes.test, held)):
        x, y = part.fetch(part.index)
        samples = [(client, k) for client in range(3) for k in range(chain.shape[1] - 1)]
        assert len(samples) == len(x)
        for row, (client, k) in enumerate(samples):
            g, i = divmod(int(chain[client, k]), files)
            image = catalogue.image[g * files + i]
            beside = [*law.preference[client], *catalogue.cosine[g, i], *[g / genres] * repeats, law.stay[client]]
            expected = np.concatenate([image, np.reshape(beside, (3, 32, columns))], axis=2)
            assert np.abs(x[row].numpy() - expected).max() < 1e-6
            assert int(y[row]) == chain[client, k + 1]


def test_pixel_scale_and_printed_genre() -> None:
    """Pixels times image_std, the genre's number 0, 1, 2 in place of g/3; nothing else changes, nor do requests."""
    plain = video_files(3, Rng(4), **SMALL)
    scaled = video_files(3, Rng(4), **SMALL, image_std=0.4, genre="printed")
    (x, y), (z, same) = plain.fetch(plain.index), scaled.fetch(scaled.index)
    assert torch.equal(y, same)
    assert torch.allclose(z[..., :32], 0.4 * x[..., :32])
    before, now = x[..., 32].reshape(len(x), -1), z[..., 32].reshape(len(x), -1)
    assert torch.allclose(now[:, 7:-1], 3 * before[:, 7:-1])  # 3 preferences and 4 similarities stand before it
    assert sorted(set(now[:, 7].tolist())) == [0.0, 1.0, 2.0]
    assert torch.equal(now[:, :7], before[:, :7])
    assert torch.equal(now[:, -1], before[:, -1])
    assert plain.reference == scaled.reference


@pytest.mark.usefixtures("image_sets")
def test_photographs_of_cifar100() -> None:
    """File i of genre g has the first training image of fine label 4 g + i, with mean 0 and deviation 1."""
    arrays = cache.load("cifar100")
    assert arrays.train_y.tolist()[:100] == list(range(100))
    found = photographs(3, 4)
    flat = found.image.reshape(12, -1).astype(np.float64)
    raw = arrays.train_x[:12].reshape(12, -1).astype(np.float64)
    assert np.allclose(flat, (raw - raw.mean(1, keepdims=True)) / raw.std(1, keepdims=True), atol=1e-6)
    assert found.cosine[1, 2, 3] == pytest.approx(np.corrcoef(raw[6], raw[7])[0, 1])
    tapes = video_files(3, Rng(4), **SMALL, images="cifar100")
    x, _ = tapes.fetch(tapes.index[:1])
    file = int(chains(tapes, 30)[0, 0])
    assert np.allclose(x[0, :, :, :32].numpy(), found.image[file])


def test_the_first_image_of_every_label() -> None:
    """Labels 1 0 1 2 0: images 1, 0 and 3."""
    images = np.arange(5, dtype=np.uint8).reshape(5, 1, 1, 1)
    assert first_of_labels(images, np.array([1, 0, 1, 2, 0], np.uint8), 3).ravel().tolist() == [1, 0, 3]


def test_history_by_hand() -> None:
    tapes = video_files(4, Rng(1), **SMALL, sample="history", history=5)
    assert (tapes.shape, tapes.classes, tapes.sample_bits) == ((5,), 12, 5 * 4)  # 12 files: 4 bits each
    made = chains(tapes, 30)
    assert tapes.offset.diff().tolist() == [25] * 4
    assert torch.bincount(tapes.test.group).tolist() == [15] * 4
    x, y = tapes.fetch(tapes.index.view(4, 25))
    assert (x.dtype, x.shape) == (torch.int64, (4, 25, 5))
    for client in range(4):
        for k in range(25):
            assert x[client, k].tolist() == made[client, k : k + 5].tolist()
            assert int(y[client, k]) == made[client, k + 5]
    assert tapes.label.equal(y.flatten())
    assert video_files(2, Rng(0), sample="history", requests=20, test_requests=20).sample_bits == 70


def test_images_are_standardised_smooth_and_spread() -> None:
    image = draw_images(60, Rng(2))
    assert image.mean(axis=(1, 2, 3)) == pytest.approx(np.zeros(60), abs=1e-12)
    assert image.std(axis=(1, 2, 3)) == pytest.approx(np.ones(60))
    assert np.abs(image).max() < 8
    flat = image.reshape(60, -1)
    cosine = (flat @ flat.T)[np.triu_indices(60, 1)] / 3072
    assert cosine.std() == pytest.approx(0.22, abs=0.03)  # white noise: .018
    assert (image[..., 1:] * image[..., :-1]).mean() > 0.7  # neighbours are alike


@pytest.mark.parametrize("files", [4, 20])
def test_coordinates_in_an_orthonormal_basis(files: int) -> None:
    """One dimension a file, one a genre's preference, one for stay: ``x = c Q`` of every sample."""
    tapes = video_files(3, Rng(4), genres=5, files_per_genre=files, requests=9, test_requests=6)
    fetch, index = tapes.fetch, tapes.index.view(-1, 3)
    assert isinstance(fetch, Spanned)
    basis, c = fetch.basis(), fetch.coordinates(index)
    assert fetch.rank == 5 * files + 6 == len(basis)
    torch.testing.assert_close(basis @ basis.T, torch.eye(fetch.rank, dtype=torch.float64))
    torch.testing.assert_close(c @ basis, fetch(index)[0].flatten(2).double())
