"""Sources: shapes, scales, splits, and that there is something to learn."""

from __future__ import annotations

from hashlib import sha256

import numpy as np
import pytest
import torch

from fedradio.core.contracts import Samples, Scale
from fedradio.core.errors import DataError, SpecError
from fedradio.core.registry import parts
from fedradio.core.rng import Rng
from fedradio.data import cache as store
from fedradio.data import sources
from fedradio.data.catalog import DataSet
from fedradio.data.tapes import make_tapes


def linear_accuracy(samples: Samples) -> float:
    """Test accuracy of a ridge classifier."""
    x = torch.cat((samples.x.flatten(1), torch.ones(len(samples.x), 1)), dim=1).double()
    test = torch.cat((samples.test_x.flatten(1), torch.ones(len(samples.test_x), 1)), dim=1).double()
    target = torch.eye(samples.classes, dtype=torch.float64)[samples.y]
    w = torch.linalg.solve(x.T @ x + 10 * torch.eye(x.shape[1], dtype=torch.float64), x.T @ target)
    return float(((test @ w).argmax(1) == samples.test_y).double().mean())


def check(samples: Samples, shape: tuple[int, ...], n: int, test_n: int, dtype: torch.dtype = torch.float32) -> None:
    assert samples.x.shape == (n, *shape)
    assert samples.test_x.shape == (test_n, *shape)
    assert samples.x.dtype == samples.test_x.dtype == dtype
    assert (samples.scale is None) == (dtype == torch.float32)
    assert samples.y.dtype == samples.test_y.dtype == torch.int64
    assert samples.sample_bits == 8 * np.prod(shape)
    assert samples.y.min() >= 0
    assert samples.y.max() < samples.classes


def test_the_shipped_digits_are_those_of_the_uci_repository() -> None:
    """SHA-256 of the arrays that ``load_digits`` of scikit-learn 1.9.1 gave; the first image, a zero, is known."""
    images, labels = sources._embedded_digits()
    assert (images.shape, labels.shape) == ((1797, 8, 8), (1797,))
    assert images[0, :3].tolist() == [
        [0, 0, 5, 13, 9, 1, 0, 0],
        [0, 0, 13, 15, 10, 15, 5, 0],
        [0, 3, 15, 2, 0, 11, 8, 0],
    ]
    assert (images.min(), images.max(), images.sum(dtype=np.int64)) == (0, 16, 561_718)
    assert np.bincount(labels).tolist() == [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]
    assert sha256(images.astype("<f8").tobytes()).hexdigest() == (
        "20def7f70a702f0af9732fbba4375e147a7d54fe70d8c45569b8e7c1c7010c10"
    )
    assert sha256(labels.astype("<i8").tobytes()).hexdigest() == (
        "a3c91c262eddcf7ba8f0e37507c30284493c9b20412ffe4af30d536401f7ba21"
    )


def test_digits() -> None:
    samples = sources.digits(1, Rng(0))
    check(samples, (1, 8, 8), 1438, 359)
    whole = torch.cat((samples.x, samples.test_x))
    assert abs(whole.mean()) < 1e-3
    assert abs(whole.std() - 1) < 1e-3
    assert torch.bincount(samples.test_y).min() >= 34
    assert linear_accuracy(samples) > 0.9


def test_digits_split_is_drawn_and_exhaustive() -> None:
    def pictures(samples: Samples) -> list[bytes]:
        return sorted(x.numpy().tobytes() for x in torch.cat((samples.x, samples.test_x)))

    one, again, other = (sources.digits(1, Rng(seed), test_fraction=0.3) for seed in (1, 1, 2))
    assert torch.equal(one.test_x, again.test_x)
    assert not torch.equal(one.test_y, other.test_y)
    assert len(one.test_y) == pytest.approx(0.3 * 1797, abs=5)
    assert pictures(one) == pictures(other)


@pytest.mark.parametrize("shape", [(1, 8, 8), (3, 5, 7), (1, 1, 1), (2, 1, 9)])
@pytest.mark.parametrize("shift", [0, 2])
def test_synthetic_shapes(shape: tuple[int, int, int], shift: int) -> None:
    size = dict(zip(("channels", "height", "width"), shape, strict=True))
    samples = sources.synthetic_images(1, Rng(0), samples=60, test_samples=30, classes=3, shift=shift, **size)
    check(samples, shape, 60, 30)
    assert torch.bincount(torch.cat((samples.y, samples.test_y))).tolist() == [30, 30, 30]


def test_synthetic_noise_sets_the_difficulty() -> None:
    reached = [linear_accuracy(sources.synthetic_images(1, Rng(1), noise=noise)) for noise in (0.0, 2.0, 5.0, 100.0)]
    assert reached == sorted(reached, reverse=True)
    assert reached[0] == 1
    assert reached[1] > 0.85
    assert 0.25 < reached[2] < 0.8
    assert reached[3] < 0.2
    assert linear_accuracy(sources.synthetic_images(1, Rng(1), noise=1.0, shift=1)) > 0.7


def test_synthetic_scale() -> None:
    for noise in (0.0, 1.0, 10.0):
        assert sources.synthetic_images(1, Rng(2), noise=noise).x.square().mean() == pytest.approx(1, abs=0.03)


def test_synthetic_shift_rolls_the_template() -> None:
    samples = sources.synthetic_images(1, Rng(3), classes=2, samples=50, noise=0.0, shift=3)
    first = samples.x[samples.y == 0]
    base = first[0, 0]
    rolled = [torch.roll(base, (dy, dx), (0, 1)) for dy in range(8) for dx in range(8)]
    assert all(any(torch.equal(image[0], candidate) for candidate in rolled) for image in first)
    assert len({image.numpy().tobytes() for image in first}) > 5


def test_synthetic_refuses_what_would_not_fit() -> None:
    with pytest.raises(SpecError, match=r"data\.source\.samples.*fewer samples"):
        sources.synthetic_images(1, Rng(0), samples=1_000_000, height=256, width=256)


@pytest.mark.parametrize("name", ["mnist", "fashion_mnist", "cifar10", "cifar100"])
def test_absent_data_is_one_sentence(name: str) -> None:
    with pytest.raises(DataError) as error:
        getattr(sources, name)(1, Rng(0))
    assert (
        str(error.value)
        == f"The data set {name} is not on this machine; run `fedradio data fetch {name}` once to download it."
    )


@pytest.mark.parametrize("name", ["mnist", "fashion_mnist", "cifar10", "cifar100"])
def test_stored_source(name: str, image_sets: dict[str, DataSet]) -> None:
    """From the published file format through the store to pixels that standardise as the catalogue says."""
    dataset, arrays = image_sets[name], store.load(name)
    source = getattr(sources, name)
    samples = source(1, Rng(0))
    check(samples, dataset.shape, 200, 40, torch.uint8)
    assert samples.x.tolist() == arrays.train_x.tolist()
    assert samples.test_x.tolist() == arrays.test_x.tolist()
    back = (samples.scale(samples.x).double() * dataset.std + dataset.mean) * 255
    assert np.allclose(back.numpy(), arrays.train_x, atol=1e-4)
    assert samples.y.tolist() == arrays.train_y.tolist()
    few, more = source(1, Rng(0), samples=4), source(1, Rng(0), samples=7)
    assert torch.equal(few.x, more.x[:4])  # fewer are a part of more
    assert len(few.test_x) == 40


@pytest.mark.parametrize("name", ["mnist", "fashion_mnist", "cifar10", "cifar100"])
def test_fetched_batches_are_bit_for_bit_those_of_the_set_standardised_as_a_whole(
    name: str, image_sets: dict[str, DataSet]
) -> None:
    dataset, arrays = image_sets[name], store.load(name)
    samples = getattr(sources, name)(1, Rng(0))
    tapes = make_tapes(samples, [torch.arange(200)], Rng(0))
    for fetch, images in ((tapes.fetch, arrays.train_x), (tapes.test.fetch, arrays.test_x)):
        whole = torch.from_numpy(images).float().div_(255).sub_(dataset.mean).div_(dataset.std)
        for size in (0, 1, 7, 32, 33, 500):
            index = torch.from_numpy(np.random.default_rng(size).integers(0, len(images), size))
            x, _ = fetch(index)
            assert x.dtype == torch.float32
            assert torch.equal(x, whole[index])
        x, y = fetch(torch.tensor([[3, 1], [0, 3]]))
        assert (x.shape, y.shape) == ((2, 2, *dataset.shape), (2, 2))
    assert samples.scale is not None
    rows = samples.x[:9].contiguous(memory_format=torch.channels_last)
    assert torch.equal(samples.scale(rows), tapes.fetch(torch.arange(9))[0])
    assert tapes.fetch.x.nbytes * 4 == samples.scale(samples.x).nbytes


@pytest.mark.usefixtures("image_sets")
def test_stored_samples_are_a_quarter_of_their_floats_and_move_with_their_scale() -> None:
    samples = sources.cifar10(1, Rng(0))
    assert (samples.x.nbytes, samples.test_x.nbytes) == (200 * 3072, 40 * 3072)
    moved = samples.to("meta")
    assert (moved.scale, moved.x.dtype) == (samples.scale, torch.uint8)


def test_a_scaled_batch_by_hand() -> None:
    x = Scale(0.2, 0.5)(torch.tensor([0, 51, 255], dtype=torch.uint8))
    assert x.tolist() == pytest.approx([-0.4, 0.0, 1.6])


def test_every_part_of_the_package_is_documented() -> None:
    found = {(part.family, part.kind) for family in ("source", "partition", "stream") for part in parts(family)}
    assert {("source", "digits"), ("partition", "label_gaps"), ("stream", "static")} <= found
    for part in (part for family in ("source", "partition", "stream") for part in parts(family)):
        assert all(parameter.arg.doc for parameter in part.parameters())
        required = [parameter.name for parameter in part.parameters() if parameter.required]
        assert not required or required[0] == "path" or part.kind == "own"  # only users' own samples have no defaults
