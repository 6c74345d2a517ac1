"""Reasons why a sender's payload does not count in an exchange."""

from enum import IntEnum


class Reason(IntEnum):
    """Why a sender's payload did not count: a number in tensors, its name in the records."""

    NONE = 0
    NOT_SELECTED = 1
    ENERGY = 2
    DEADLINE = 3
    OUTAGE = 4
    NO_DATA = 5
    NO_NEWS = 6
    CRASHED = 9
    BUSY = 10
    NO_MODEL = 11


REASON_NAMES = {int(reason): reason.name.lower() for reason in Reason}
"""Name of every reason in the records, by its number."""
