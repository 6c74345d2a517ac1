"""Caches on a terminal."""

from __future__ import annotations

from collections.abc import Callable

from support.past import past
from support.shelves import balance, plain, shelf
from support.terminal import shown

from fedradio.report.terminal.caches import cache_comparison, cache_table, cache_warnings
from fedradio.report.terminal.comparison import comparison_view
from fedradio.results.caches import cache_rows
from fedradio.results.compare import compare
from fedradio.results.variants import variants
from fedradio.spec.spec import Spec

Make = Callable[..., Spec]
PAID = shelf("predicted", "model", payback=7, rival="lru", break_even_bits=19.3e6, learning_bits=5e8)
NEVER = shelf("alone", "model", rival="lru", hit_ratio=None, seconds=None)


def test_a_line_for_every_placement() -> None:
    text = shown(cache_table(balance(PAID, NEVER, shelf("lru")), stationary=True), width=200)
    lines = [" ".join(line.split()) for line in text.splitlines()]
    assert lines[0] == "cache hits net backhaul delivery payback break-even"
    assert lines[1] == "predicted 50.00 % 5 Gbit 2 s round 7 19.3 Mbit"
    assert lines[2] == "alone - 5 Gbit - never -"
    assert lines[3] == "lru 50.00 % 5 Gbit 2 s - -"
    assert "100 requests for 24 of 256 files" in text
    assert "favours counting" in text
    assert "flatters" not in shown(cache_table(balance(PAID), stationary=False), width=200)


def test_late_moves_are_warned_of() -> None:
    assert cache_warnings(balance(PAID)) == []
    (warning,) = cache_warnings(balance(PAID, shelf("oracle", late=3)))
    assert "cache oracle" in warning
    assert "3 edge rounds" in warning


def test_placements_over_seeds(requesting: Make) -> None:
    runs = [
        past(
            requesting(f"seed={s}", "cache.capacity=8"), [0.5], cache=plain(PAID, shelf("lru", hit_ratio=0.3 + s / 100))
        )
        for s in (1, 2, 3)
    ]
    text = shown(cache_comparison(cache_rows(variants(runs))), width=200)
    assert "+18.00 ± 2.48 *" in text
    assert "3 of 3" in text
    assert "counting: lru, paired by seed" in text
    assert "counting: lru" in shown(comparison_view(compare(runs), 200), width=200)
