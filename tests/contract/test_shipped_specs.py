"""Every shipped spec validates and runs two tiny rounds (on made-up images where its data is not here)."""

import pytest

from fedradio.experiment.build import build
from fedradio.experiment.read import shipped
from fedradio.experiment.run import run
from fedradio.experiment.spec import load_spec

SMALL = {
    "mnist": ["data.source={kind: synthetic_images, channels: 1, height: 28, width: 28, samples: 2000}"],
    "fashion_mnist": ["data.source={kind: synthetic_images, channels: 1, height: 28, width: 28, samples: 2000}"],
    "cifar10": ["data.source={kind: synthetic_images, channels: 3, height: 32, width: 32, samples: 400}"],
}


@pytest.mark.parametrize("name", shipped())
def test_two_tiny_rounds(name: str) -> None:
    source = load_spec(name).plain["data"]["source"]["kind"]
    spec = load_spec(name, ["rounds=2", *SMALL.get(source, [])])
    summary = run(spec, simulation=build(spec))
    assert summary.rounds == 2
    assert summary.accuracy is not None
    assert summary.bits is not None
