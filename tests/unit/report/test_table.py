"""Tables as plain data."""

from fedradio.report.table import LazyRows


def test_rows_are_formatted_when_they_are_shown() -> None:
    asked: list[int] = []
    rows = LazyRows(3, lambda number: [str(asked.append(number) or number)])  # type: ignore[func-returns-value]
    assert len(rows) == 3
    assert (rows[2], asked) == (["2"], [2])
