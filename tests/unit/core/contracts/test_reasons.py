"""Reasons: their numbers stand in stored records and never change."""

from fedradio.core.contracts import Reason


def test_numbers_of_stored_reasons() -> None:
    assert {reason.name: int(reason) for reason in Reason} == {
        "NONE": 0,
        "NOT_SELECTED": 1,
        "ENERGY": 2,
        "DEADLINE": 3,
        "OUTAGE": 4,
        "NO_DATA": 5,
        "NO_NEWS": 6,
        "CRASHED": 9,
        "BUSY": 10,
        "NO_MODEL": 11,
    }
