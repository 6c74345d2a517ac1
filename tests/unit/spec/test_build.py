"""From specs to simulations: what is refused, and under which path."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from fedradio.core.errors import SpecError
from fedradio.spec.build import build
from fedradio.spec.spec import Spec


def test_what_a_spec_may_not_ask_of_it(tiny: Callable[..., Spec]) -> None:
    """Of a source that gives every client its own samples, all labelled."""
    source = "data.source={kind: videos, genres: 2, contents_per_genre: 3, requests: 20, test_requests: 5}"
    with pytest.raises(SpecError) as caught:
        build(tiny(source, "data.unlabelled=0.5"))
    assert [problem.path for problem in caught.value.problems] == ["data.partition", "data.unlabelled"]
    assert build(tiny(source, "data.partition=null")).stream.clients == 6
    with pytest.raises(SpecError, match=r"data\.source\.preferences: 2 shares for 8 genres"):
        build(tiny("data.source={kind: videos, preferences: [0.5, 0.5]}", "data.partition=null"))


def test_too_short_for_the_run_is_refused_before_it(cells: Callable[..., Spec]) -> None:
    """Six clients with 239 or 240 digits, two edge rounds a round."""
    build(cells("data.stream={kind: growing, history: 200}", "rounds=19"))
    with pytest.raises(SpecError, match=r"data: client \d has 239 samples, 40 edge rounds may need 240"):
        build(cells("data.stream={kind: growing, history: 200}", "rounds=20"))


@pytest.mark.parametrize(
    ("override", "path", "words"),
    [
        ("hops.0.policy={kind: fixed, steps: 3, epochs: 1}", "hops.0.policy.epochs", "keep one"),
        ("topology.min_distance_m=500", "topology.min_distance_m", "smaller"),
    ],
)
def test_refused(tiny: Callable[..., Spec], override: str, path: str, words: str) -> None:
    """A factory names its own keywords, the error their place in the spec."""
    with pytest.raises(SpecError) as caught:
        build(tiny(override))
    (problem,) = caught.value.problems
    assert problem.path == path
    assert words in f"{problem.reason} {problem.remedy}"
