"""Numbers of charts."""

from fedradio.report.charts.chart import thinned
from fedradio.report.page.chart import ROWS, label, numbers_table, plain, switch


def test_thinning_keeps_both_ends() -> None:
    assert thinned(5).tolist() == [0, 1, 2, 3, 4]
    chosen = thinned(100_000, 600)
    assert len(chosen) == 600
    assert (chosen[0], chosen[-1]) == (0, 99_999)
    text = numbers_table("many", ["n"], [[str(n)] for n in range(1000)], "things")
    assert text.count("<tr>") == ROWS + 1
    assert f"{ROWS} of 1000 things" in text


def test_numbers_for_charts() -> None:
    assert plain([1.0, 0.123456789, None, float("nan")]) == [1, 0.12346, None, None]
    assert label("<b>x</b>") == "&lt;b&gt;x&lt;/b&gt;"
    assert switch("a", "only", {"one": "x"}, ["chart"]) is None
