"""A run without and with a folder."""

from collections.abc import Callable
from pathlib import Path

from fedradio.runs.run import run
from fedradio.runs.stored import read_summary
from fedradio.spec.spec import Spec


def test_undefined_quantities_are_null(tiny: Callable[..., Spec], tmp_path: Path) -> None:
    bare = run(tiny())
    assert (bare.checkpoint_s, bare.disk_bytes) == (None, None)
    run(tiny(), tmp_path / "a")
    stored = read_summary(tmp_path / "a")
    assert (stored["time_s"], stored["energy_j"]) == (None, None)
    assert stored["bits"] > 0
    assert stored["cpu_s"] > 0
