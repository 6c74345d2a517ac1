"""Comparisons on a terminal."""

from collections.abc import Callable

import pytest
from support.past import past, two_algorithms
from support.terminal import shown

from fedradio.report.terminal.comparison import comparison_view, spark
from fedradio.results.compare import compare
from fedradio.results.run import Run
from fedradio.spec.spec import Spec

Make = Callable[..., Spec]


@pytest.fixture
def pair(tiny: Make) -> list[Run]:
    return two_algorithms(tiny)


def test_the_view_marks_what_excludes_zero(pair: list[Run], tiny: Make) -> None:
    text = shown(comparison_view(compare(pair, target=0.65)))
    assert "+2.00 ± 2.48" in text
    assert "no significant differences: every confidence interval contains 0" in text
    assert "60.00 ± 24.84" in text
    assert "accuracy at least 0.65" in text
    better = [past(tiny(f"seed={s}", "algorithm=scaffold"), [0.8, 0.9 + s / 1000]) for s in (1, 2, 3)]
    clear = shown(comparison_view(compare([*better, *pair[:3]], baseline="fedavg")))
    assert "*" in clear
    assert "interval of the paired difference excludes 0" in clear


def test_the_view_fits_80_columns(pair: list[Run]) -> None:
    text = shown(comparison_view(compare(pair), 80), width=80)
    assert max(map(len, text.splitlines())) <= 80
    assert "…" not in text
    assert " - " in text  # seconds are undefined


def test_spark() -> None:
    assert spark([0.0, 0.5, 1.0]) == "▁▅█"
    assert spark([1.0, 1.0]) == "▁▁"
    assert spark([0.0, 1.0], scale=[0.0, 2.0]) == "▁▅"
    assert spark([]) == ""
    long = spark([float(n) for n in range(1000)])
    assert (len(long), long[0], long[-1]) == (16, "▁", "█")


def test_the_view_tells_what_is_left_out(tiny: Make) -> None:
    runs = [
        past(tiny("seed=1"), [0.5]),
        past(tiny("seed=2"), [0.9], status="diverged"),
        past(tiny("seed=3"), [0.9], status=None),
        past(tiny("seed=1", "name=other"), [0.9], status="interrupted"),
    ]
    text = shown(comparison_view(compare(runs)))
    for words in ("left out, diverged: tiny-2", "left out, unfinished: tiny-3", "no run is complete: other"):
        assert words in text


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("rule.lr=0.7", None),
        ("data.source=videos", "uses different data from tiny, so they solve different tasks (data.source.kind"),
        ("model.hidden=[3]", "uses a different model from tiny (model.hidden)"),
        ("world_seed=6", "has a different world from tiny: pairs share only the seed (world_seed)"),
        ("topology.clients=7", "has a different world from tiny: pairs share only the seed (topology.clients)"),
    ],
)
def test_what_should_not_be_compared_is_warned_of(tiny: Callable[..., Spec], change: str, words: str | None) -> None:
    found = compare([past(tiny(), [0.5]), past(tiny("name=other", change), [0.5])])
    warnings = [line for line in shown(comparison_view(found), width=300).splitlines() if line.startswith("warning:")]
    assert len(warnings) == (words is not None)
    assert words is None or f"warning: other {words}" in warnings[0]
