"""What RawHFL's theorem does not cover."""

from collections.abc import Callable
from pathlib import Path

import pytest

from fedradio.core.errors import SpecError
from fedradio.papers.bounds.assess import assess
from fedradio.runs.run import run
from fedradio.spec.spec import Spec

Maker = Callable[..., Spec]


def made(spec: Spec, folder: Path) -> Path:
    run(spec, folder)
    return folder


@pytest.mark.parametrize(
    ("override", "path"),
    [
        ("algorithm=scaffold", "algorithm:"),
        ("algorithm=fednova", "algorithm:"),
        ("algorithm=fedprox", "algorithm.mu"),
        ("algorithm.server_lr=2", "algorithm.server_lr"),
        ("rule.momentum=0.9", "rule.momentum"),
        ("rule={kind: adam, lr: 0.001}", "rule:"),
        ("schedule=inverse", "schedule"),
    ],
)
def test_what_the_theorem_does_not_cover_is_refused(tiny: Maker, tmp_path: Path, override: str, path: str) -> None:
    folder = made(tiny(override, "rounds=1"), tmp_path / "a")
    with pytest.raises(SpecError, match="not covered by RawHFL's theorem") as caught:
        assess(folder, paper="rawhfl")
    assert str(caught.value).startswith(path)


def test_all_reasons_at_once(tiny: Maker, tmp_path: Path) -> None:
    folder = made(tiny("algorithm.server_lr=2", "rule.momentum=0.5", "rounds=1"), tmp_path / "a")
    with pytest.raises(SpecError) as caught:
        assess(folder, paper="rawhfl")
    assert len(caught.value.problems) == 2
