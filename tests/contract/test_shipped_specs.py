"""Every shipped spec validates and runs two tiny rounds (on made-up images where its data is not here)."""

from typing import Any

import pytest

from fedradio.experiment.build import build
from fedradio.experiment.read import shipped
from fedradio.experiment.run import run
from fedradio.experiment.spec import Spec, check_spec, load_spec

SMALL = {
    "mnist": {"kind": "synthetic_images", "channels": 1, "height": 28, "width": 28, "samples": 2000},
    "fashion_mnist": {"kind": "synthetic_images", "channels": 1, "height": 28, "width": 28, "samples": 2000},
    "cifar10": {"kind": "synthetic_images", "channels": 3, "height": 32, "width": 32, "samples": 400},
}


def tiny(spec: Spec) -> Spec:
    """The same parts with two rounds, few local steps, little data."""
    plain: dict[str, Any] = dict(spec.plain) | {"rounds": 2, "eval_every": 2}
    source = plain["data"]["source"]
    plain["data"] = plain["data"] | {"source": SMALL.get(source["kind"], source)}
    if source["kind"] == "videos":
        plain["data"]["source"] = source | {"test_requests": 10}
    policy = plain["hops"][0]["policy"]
    few = {key: 2 for key in ("steps", "max_steps") if policy.get(key) is not None}
    plain["hops"] = [plain["hops"][0] | {"policy": policy | few}, *plain["hops"][1:]]
    plain["rule"] = plain["rule"] | {"updates_per_step": 1}
    return check_spec(plain)


@pytest.mark.parametrize("name", shipped())
def test_two_tiny_rounds(name: str) -> None:
    spec = tiny(load_spec(name))
    summary = run(spec, simulation=build(spec))
    assert summary.rounds == 2
    assert summary.accuracy is not None
    central = spec.plain["algorithm"]["kind"] == "central"
    assert (summary.bits is None) == central


@pytest.mark.parametrize("name", shipped())
def test_every_shipped_spec_can_be_built_as_it_is(name: str) -> None:
    """Validation of the whole spec, data included, wherever that data is embedded."""
    spec = load_spec(name)
    if spec.plain["data"]["source"]["kind"] in SMALL:
        pytest.skip("needs fetched data")
    assert build(spec).topology.clients >= 1
