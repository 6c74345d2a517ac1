"""Every shipped spec validates and runs two tiny rounds (on made-up images where its data is not here)."""

import json
from collections.abc import Collection, Iterable
from typing import Any

import pytest

from fedradio.runs.run import run
from fedradio.spec.build import build
from fedradio.spec.files import shipped
from fedradio.spec.spec import Spec, check_spec, load_spec

GREY: dict[str, Any] = {
    "kind": "synthetic_images",
    "channels": 1,
    "height": 28,
    "width": 28,
    "samples": 1000,
    "test_samples": 100,
}
COLOUR = GREY | {"channels": 3, "height": 32, "width": 32, "samples": 400}
SMALL = {"mnist": GREY, "fashion_mnist": GREY, "cifar10": COLOUR}
"""What takes the place of images that must be fetched."""

NARROW = {"width": 4, "features": 16}
"""Keywords of convolutional models."""


def tiny(spec: Spec) -> Spec:
    """The same parts with two rounds, few local steps, little data."""
    plain: dict[str, Any] = dict(spec.plain) | {"rounds": 2, "eval_every": 2}
    source = plain["data"]["source"]
    plain["data"] = plain["data"] | {"source": SMALL.get(source["kind"], source)}
    if source["kind"] in ("videos", "video_files"):
        plain["data"]["source"] = source | {"test_requests": 20}
        plain["rule"] = plain["rule"] | {"batch": 4}
    if plain["topology"]["kind"] == "flat":
        few = min(plain["topology"]["clients"], 4 if source["kind"] == "video_files" else 20)
        plain["topology"] = plain["topology"] | {"clients": few}
    if source["kind"] in SMALL and plain["data"]["stream"]["kind"] == "fifo":
        plain["data"] |= {"partition": None, "stream": plain["data"]["stream"] | {"capacity": [2, 4], "slots": 1}}
    policy = plain["hops"][0]["policy"]
    few = {key: 2 for key in ("steps", "max_steps") if policy.get(key) is not None}
    plain["hops"] = [plain["hops"][0] | {"policy": policy | few}, *plain["hops"][1:]]
    plain["rule"] = plain["rule"] | {"updates_per_step": 1}
    plain["model"] = plain["model"] | {key: value for key, value in NARROW.items() if key in plain["model"]}
    if plain["model"]["kind"] == "cnn_batchnorm":
        plain["rule"] = plain["rule"] | {"batch": 8}
        plain["hops"] = [hop | {"period": 1} for hop in plain["hops"]]
    if plain["algorithm"]["kind"] == "central":
        plain["algorithm"] = plain["algorithm"] | {"steps": 2}
    return check_spec(plain)


def folders() -> dict[str, list[str]]:
    """Names of the shipped specs by folder, of those in no folder under the empty name."""
    found: dict[str, list[str]] = {}
    for name in shipped():
        found.setdefault(name.rpartition("/")[0], []).append(name)
    return found


FOLDERS = folders()
SOME = {*FOLDERS[""], *(names[number % len(names)] for number, names in enumerate(FOLDERS.values()))}
"""The specs in no folder, and one of every folder."""


def sooner(name: str, some: Collection[str]) -> Any:
    """A parameter that is in ``make test`` if it is one of ``some``."""
    return pytest.param(name, marks=() if name in some else pytest.mark.wide)


@pytest.mark.parametrize("name", [sooner(name, SOME) for name in shipped()])
def test_two_tiny_rounds(name: str) -> None:
    spec = tiny(load_spec(name))
    summary = run(spec, simulation=build(spec))
    assert summary.rounds == 2
    assert summary.accuracy is not None
    central = spec.plain["algorithm"]["kind"] == "central"
    analogue = any(hop["link"]["kind"] == "over_the_air" for hop in spec.plain["hops"])
    beside = spec.plain["model"]["kind"] == "cnn_batchnorm"  # its norm layers travel as bits
    assert (summary.bits is None) == (central or (analogue and not beside))


def worlds(names: Iterable[str]) -> list[Spec]:
    """One spec of every world: those that differ by algorithm, rate or mode only are built once."""
    found: dict[str, Spec] = {}
    for spec in map(load_spec, names):
        plain = spec.plain
        if plain["data"]["source"]["kind"] not in SMALL:
            world = [plain[key] for key in ("topology", "data", "model", "rounds")]
            found.setdefault(json.dumps([*world, *[hop["policy"]["kind"] for hop in plain["hops"]]]), spec)
    return list(found.values())


@pytest.mark.parametrize("folder", [sooner(folder, [""]) for folder in FOLDERS])
def test_every_world_can_be_built_as_it_is(folder: str) -> None:
    """Validation of the whole spec, data included, wherever that data is embedded."""
    for spec in worlds(FOLDERS[folder]):
        assert build(spec).topology.clients >= 1
