"""Which paper's theory is evaluated, and what is refused before."""

import math
from collections.abc import Callable
from pathlib import Path

import pytest

from fedradio.core.errors import SpecError
from fedradio.papers.bounds.assess import PAPERS, assess, covering
from fedradio.papers.bounds.replay import replayed_run
from fedradio.runs.run import run
from fedradio.spec.spec import Spec

Maker = Callable[..., Spec]


def made(spec: Spec, folder: Path) -> Path:
    run(spec, folder)
    return folder


@pytest.mark.parametrize(
    ("algorithm", "name"),
    [("fedavg", "RawHFL"), ("osafl", "OSAFL"), ("afa_cd", "OSAFL"), ("fedshvr", "FedCPSL")],
)
def test_the_paper_that_covers_the_run_is_chosen(tiny: Maker, tmp_path: Path, algorithm: str, name: str) -> None:
    folder = made(tiny(f"algorithm={algorithm}", "rounds=1"), tmp_path / "a")
    assert covering(replayed_run(folder)).name == name


def test_where_no_theorem_covers_a_run_the_nearest_reasons_are_told(tiny: Maker, tmp_path: Path) -> None:
    folder = made(tiny("algorithm=fedprox", "rounds=1"), tmp_path / "a")
    with pytest.raises(SpecError, match="no theorem covers this run; RawHFL's comes closest") as caught:
        assess(folder)
    first, second = caught.value.problems
    assert (first.path, second.path) == ("--paper", "algorithm.mu")
    assert "osafl, fedcpsl, whfl" in first.remedy


@pytest.mark.parametrize("paper", ["osafl", "whfl", "fedcpsl"])
def test_a_run_of_another_algorithm_is_refused_with_the_paper_that_fits(
    tiny: Maker, tmp_path: Path, paper: str
) -> None:
    folder = made(tiny("rounds=1"), tmp_path / "a")
    with pytest.raises(SpecError, match=f"not covered by {PAPERS[paper].name}'s theorem") as caught:
        assess(folder, paper=paper)
    assert caught.value.problems[-1].remedy == "--paper rawhfl"


def test_unknown_papers_and_wrong_constants_are_refused_before_anything_is_read(tmp_path: Path) -> None:
    nowhere = tmp_path / "nowhere"
    with pytest.raises(SpecError, match=r"did you mean 'osafl'\? one of: fedcpsl, osafl, rawhfl, whfl"):
        assess(nowhere, paper="osaf")
    with pytest.raises(SpecError, match="--replay"):
        assess(nowhere, rounds=-1)
    with pytest.raises(SpecError) as caught:
        assess(nowhere, paper="osafl", given={"variance": -1.0, "smoothness": math.nan, "rho_1": 0.5, "rho": 1.0})
    told = [str(problem) for problem in caught.value.problems]
    assert [text.split(":")[0] for text in told] == ["--set variance", "--set smoothness", "--set rho_1", "--set rho"]
    assert "at least 0" in told[0]
    assert "at least 1" in told[2]
    assert "no constant with that name" in told[3]
    with pytest.raises(SpecError, match="must be above 0"):
        assess(nowhere, paper="fedcpsl", given={"smoothness": 0.0})


def test_a_constant_of_another_paper_is_refused_where_the_paper_was_chosen(tiny: Maker, tmp_path: Path) -> None:
    folder = made(tiny("rounds=1"), tmp_path / "a")
    with pytest.raises(SpecError, match="RawHFL's theorem has no constant with that name"):
        assess(folder, given={"rho_1": 2.0})
