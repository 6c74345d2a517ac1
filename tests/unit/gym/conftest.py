"""A toy world in which everybody can see who should be asked: four clients, of which one is near."""

from pathlib import Path
from typing import Any

import pytest

from fedradio.spec.spec import Spec, check_spec

TOY: dict[str, Any] = {
    "name": "toy",
    "seed": 3,
    "rounds": 4,
    "topology": {"kind": "file", "path": ""},
    "hops": [
        {
            "channel": {"kind": "power_law", "exponent": 4, "noise_w_hz": 1.0e-12},
            "link": {"kind": "digital", "bandwidth_hz": 1.0e6},
            "fleet": "cellular",
            "policy": {"kind": "joint", "clients": 1, "max_steps": 2},
            "deadline_s": 0.02,
        }
    ],
    "data": {"source": "digits", "partition": "iid"},
    "model": {"kind": "logistic"},
    "rule": {"kind": "sgd", "lr": 0.1, "batch": 16},
}

NEAR = 2
"""The client that makes the deadline at full power."""


@pytest.fixture
def toy(tmp_path: Path) -> Spec:
    """Gains ``d^-4`` without fading: client 2 stands at 5 m, the others at 40 m and more."""
    places = tmp_path / "places.csv"
    places.write_text("x_m,y_m\n40,0\n0,60\n5,0\n-80,0\n")
    return check_spec(TOY | {"topology": {"kind": "file", "path": str(places)}})
