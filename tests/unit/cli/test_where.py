"""Where runs are made: what is refused before anything is started."""

import pytest

from fedradio.cli.where import backend_on, pool_on
from fedradio.core.errors import SpecError
from fedradio.sweeps.processes import LocalPool


def test_on_this_machine_nothing_is_started() -> None:
    with pool_on("local", None) as pool:
        assert isinstance(pool, LocalPool)
        assert pool.share(9, 2) == (1, 2)
    with pool_on("local", 3) as pool:
        assert pool.share(9, 2) == (3, 2)
    with backend_on("local", None) as backend:
        assert backend is None


def test_what_does_not_go_together_is_refused() -> None:
    with pytest.raises(SpecError, match="--actors"), backend_on("local", 3):
        pass
    with pytest.raises(SpecError, match="--device"), backend_on("ray", 3, "cuda"):
        pass
    with pytest.raises(SpecError, match="--device"), pool_on("ray", 3, "cuda"):
        pass
