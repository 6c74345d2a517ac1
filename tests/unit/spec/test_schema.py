"""Bounds and kinds that a spec's schema takes from the factories of parts."""

import pytest

from fedradio.core.registry import part
from fedradio.spec.schema import part_schema


def test_zero_clients_are_refused() -> None:
    schema = part_schema(part("topology", "clusters"))
    for name in ("clusters", "clients_per_cluster"):
        with pytest.raises(ValueError, match="greater than or equal to 1"):
            schema.model_validate({"kind": "clusters", name: 0})


def test_negative_noise_is_refused_and_none_is_allowed() -> None:
    schema = part_schema(part("channel", "power_law"))
    assert schema.model_validate({"kind": "power_law", "noise": 0.0})
    with pytest.raises(ValueError, match="greater than or equal to 0"):
        schema.model_validate({"kind": "power_law", "noise": -1.0})
