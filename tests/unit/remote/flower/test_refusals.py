"""What cannot be federated: every kind with its reason."""

from dataclasses import replace
from typing import Any

import pytest
import torch
from support.federations import spec_of

from fedradio.core.contracts import Gather
from fedradio.core.errors import SpecError
from fedradio.remote.flower.refusals import refuse_simulation, refuse_spec
from fedradio.remote.flower.worlds import announced_stream
from fedradio.spec.build import build
from fedradio.spec.spec import load_spec
from fedradio.transforms.clip import Clip

OWN: dict[str, Any] = {"source": {"kind": "own", "shape": [1, 8, 8], "classes": 10}}
STEPS: dict[str, Any] = {"policy": {"kind": "fixed", "steps": 3}}


def refused(**changes: Any) -> str:
    """All reasons against a spec."""
    spec = spec_of(**changes)
    own = spec.plain["data"]["source"]["kind"] == "own"
    try:
        refuse_spec(spec)
        stream = (lambda clients: announced_stream(spec, clients, {}, None)) if own else None
        refuse_simulation(build(spec, stream=stream), own)
    except SpecError as error:
        return str(error)
    return ""


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({}, ""),
        ({"algorithm": "scaffold"}, ""),
        ({"algorithm": "central"}, "algorithm: central training has no clients"),
        ({"algorithm": "apfl"}, "algorithm: it predicts with models that stay on the clients"),
        ({"model": {"kind": "cnn_batchnorm", "width": 2, "norms": "local"}}, "model.norms: norm layers stay"),
        ({"data": {"source": {"kind": "npz", "path": "x.npz"}}}, "data.source.path: a device does not read files"),
        ({"data": OWN, "hops": [STEPS]}, ""),
        ({"model": {"kind": "cnn3x3", "width": 2}, "precision": "bf16"}, "precision: devices and server must compute"),
        ({"precision": "float32"}, ""),
        ({"cache": {"capacity": 3, "placements": ["lru"]}}, "cache: caches serve requests"),
        ({"data": OWN, "hops": [{}], "algorithm": {"kind": "fedavg", "weighting": "equal"}}, "hops.0.policy.epochs"),
        ({"data": OWN, "hops": [{}]}, ""),
        ({"data": OWN | {"partition": "iid"}}, "data.partition: the samples are on the devices"),
        ({"data": OWN | {"test": "client"}}, "data.test: "),
        ({"data": OWN | {"stream": "growing"}}, "data.stream: the samples are on the devices"),
    ],
)
def test_every_kind_with_its_reason(changes: dict[str, Any], reason: str) -> None:
    found = refused(**changes)
    assert found.startswith(reason) if reason else found == ""


def test_a_transform_that_needs_the_others_payloads_is_refused() -> None:
    class Together(Clip):
        @property
        def alone(self) -> bool:
            return False

    sim = build(spec_of())
    hop = replace(sim.hops[0], transforms=(Together(1.0),))
    with pytest.raises(SpecError, match=r"hops\.0\.transforms\.0: a device cannot code its payload alone"):
        refuse_simulation(replace(sim, hops=(hop,)), own=False)


def test_updates_that_stay_in_flight_are_refused() -> None:
    """A device works in rounds: what comes late is lost."""

    class Waiting(Gather):
        def due(self, due_s: torch.Tensor, ids: torch.Tensor) -> tuple[torch.Tensor, float]:
            return due_s <= due_s.min(), float(due_s.min())

    sim = build(spec_of())
    refuse_simulation(sim, own=False)
    with pytest.raises(SpecError, match=r"hops\.0\.gather: devices work in rounds"):
        refuse_simulation(replace(sim, hops=(replace(sim.hops[0], gather=Waiting()),)), own=False)


def test_two_tiers_and_the_air_are_refused() -> None:
    with pytest.raises(SpecError, match="hops: a federation has no edges"):
        refuse_spec(load_spec("rawhfl"))
    air = {"kind": "over_the_air", "symbol_rate_hz": 1e6, "power_unit_w": 1.0}
    assert "hops.0.link: over-the-air aggregation" in refused(hops=[STEPS | {"link": air, "channel": "power_law"}])
