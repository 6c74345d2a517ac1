"""Tables of variants that fit the terminal."""

from support.terminal import shown

from fedradio.report.terminal.columns import bare, bare_title, means, variant_tables
from fedradio.results.quantities import QUANTITIES, entry
from fedradio.results.statistics import Interval

LABELS = ["a", "a variant with a label of forty-three letters"]


def lines(width: int) -> list[list[list[str]]]:
    """The words of every line of every table."""
    results, costs = {"accuracy": ["1", "2"]}, {f"cost{n}": [f"{n}", "1" * 10] for n in range(4)}
    tables = variant_tables(LABELS, results, costs, width)
    return [[line.split() for line in shown(table, width=width).splitlines()] for table in tables]


def test_one_table_where_all_fits() -> None:
    """Labels may be folded to 20 letters: 20 + 10 + 4 * 12."""
    (table,) = lines(78)
    assert table[0] == ["variant", "accuracy", "cost0", "cost1", "cost2", "cost3"]
    assert table[1] == ["a", "1", "0", "1", "2", "3"]


def test_else_results_and_costs_apart() -> None:
    assert [table[0] for table in lines(77)] == [["variant", "accuracy"], ["variant", *(f"cost{n}" for n in range(4))]]
    heads = [table[0] for table in lines(60)]
    assert heads == [["variant", "accuracy"], ["variant", "cost0", "cost1", "cost2"], ["variant", "cost3"]]
    assert [len(table[0]) for table in lines(20)] == [2, 2, 2, 2, 2]  # wider than the terminal, one by one


def test_means_with_units() -> None:
    rows = [{"joules": Interval(0.5, None, 1), "uses": None}, {"joules": None, "uses": None}]
    assert means([QUANTITIES["joules"], QUANTITIES["uses"]], rows) == {"energy": ["500 mJ", "-"]}
    assert means([QUANTITIES["seconds"]], [{"seconds": None}]) == {"simulated": ["-"]}


def test_bare_numbers() -> None:
    accuracy, loss = QUANTITIES["accuracy"], entry("local_loss")
    assert (bare_title(accuracy), bare_title(loss)) == ("accuracy %", "local loss")
    assert bare(accuracy, Interval(0.5, 0.01, 3)) == "50.00 ± 1.00"
    assert bare(loss, Interval(0.5, None, 1)) == "0.5000"
    assert bare(accuracy, Interval(0.5, 0.01, 3), signed=True) == "+50.00 ± 1.00 *"
    assert bare(accuracy, Interval(-0.005, 0.01, 3), signed=True) == "-0.50 ± 1.00  "
    assert bare(accuracy, None) == "-"


def test_numbers_with_prefixes_keep_them() -> None:
    """Fixed digits would show 7 Gbit as 7000000000.0000."""
    assert bare(QUANTITIES["net_bits"], Interval(7e9, 1e8, 3)) == "7 Gbit ± 100 Mbit"
    assert bare(QUANTITIES["net_bits"], Interval(-7e9, 1e8, 3), signed=True) == "-7 Gbit ± 100 Mbit *"
    assert bare(QUANTITIES["net_bits"], Interval(7e9, None, 1), signed=True) == "+7 Gbit  "
