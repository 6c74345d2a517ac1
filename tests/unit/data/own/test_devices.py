"""Samples on devices: described in a spec, and refused by simulations."""

import pytest

from fedradio.core.errors import SpecError
from fedradio.core.rng import Rng
from fedradio.data.own.devices import own


def test_a_simulation_has_none_of_them() -> None:
    with pytest.raises(SpecError, match=r"on the devices of a federation.*fedradio join --data DIR"):
        own(3, Rng(0), shape=(1, 8, 8), classes=10)
