import pytest

from fedradio.core.units import (
    db_to_linear,
    dbm_to_w,
    linear_to_db,
    show,
    show_count,
    show_number,
    show_percent,
    show_seconds,
    w_to_dbm,
)


def test_hand_computed_powers() -> None:
    assert dbm_to_w(30) == pytest.approx(1.0)
    assert dbm_to_w(20) == pytest.approx(0.1)
    assert dbm_to_w(-174) == pytest.approx(3.981e-21, rel=1e-3)
    assert db_to_linear(3) == pytest.approx(1.99526, rel=1e-5)


@pytest.mark.parametrize("value", [1e-9, 0.3, 1.0, 42.0])
def test_round_trips(value: float) -> None:
    assert db_to_linear(linear_to_db(value)) == pytest.approx(value)
    assert dbm_to_w(w_to_dbm(value)) == pytest.approx(value)


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "-"), (0.0, "0 bit"), (7_248_384, "7.25 Mbit"), (0.05, "50 mbit"), (2e-6, "2 ubit"), (999, "999 bit")],
)
def test_show(value: float | None, text: str) -> None:
    assert show(value, "bit") == text


@pytest.mark.parametrize(
    ("value", "text"), [(None, "-"), (1.5, "1.5 s"), (75, "1 min 15 s"), (119.7, "2 min 0 s"), (7260, "2 h 1 min")]
)
def test_show_seconds(value: float | None, text: str) -> None:
    assert show_seconds(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "-"), (0, "0"), (20.0, "20"), (4.625, "4.62"), (123.4, "123.4"), (4875, "4,875"), (12345.6, "12,346")],
)
def test_show_count(value: float | None, text: str) -> None:
    assert show_count(value) == text


def test_show_shares_and_numbers() -> None:
    assert [show_percent(value) for value in (None, 0.5, 0.12345)] == ["-", "50.00 %", "12.35 %"]
    assert show_percent(0.5, 0) == "50 %"
    assert [show_number(value) for value in (None, 1.23456, 9.91e-8)] == ["-", "1.235", "9.91e-08"]
