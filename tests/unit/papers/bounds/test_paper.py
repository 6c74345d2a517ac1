"""Constants that a user gives, as a paper's theory takes them."""

import math
from typing import Any

import pytest

from fedradio.core.errors import SpecError
from fedradio.papers.bounds.paper import Paper


def never(*_: Any) -> Any:
    raise AssertionError("not asked for")


ANY = Paper("Any", {"smoothness": "beta", "rho": "rho", "noise": "s"}, never, never, {"smoothness": 0.0, "rho": 1.0})


def test_what_makes_sense_passes() -> None:
    ANY.refuse({"smoothness": 0.1, "rho": 1.0, "noise": 0.0})


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("noise", -1.0, "must be a finite number, at least 0 (given -1.0)"),
        ("noise", math.inf, "must be a finite number"),
        ("rho", math.nan, "must be a finite number"),
        ("smoothness", 0.0, "must be above 0"),
        ("rho", 0.9, "must be at least 1"),
        ("nois", 1.0, "no constant with that name (given 1.0) -> did you mean 'noise'? one of: smoothness, rho, noise"),
    ],
)
def test_what_does_not_is_refused(name: str, value: float, told: str) -> None:
    with pytest.raises(SpecError) as caught:
        ANY.refuse({name: value})
    assert str(caught.value).startswith(f"--set {name}: ")
    assert told in str(caught.value)


def test_all_problems_at_once() -> None:
    with pytest.raises(SpecError) as caught:
        ANY.refuse({"noise": -1.0, "rho": 0.0})
    assert len(caught.value.problems) == 2
