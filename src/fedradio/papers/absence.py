"""Why a number of a published item has no counterpart of ours: a reason that verdicts read, and details for people."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum


class Reason(StrEnum):
    """Reason why a run or study has no result."""

    NOT_RUN = "not run"
    UNFINISHED = "unfinished"
    INTERRUPTED = "interrupted"
    NO_DATA = "no data"
    FAILED = "failed"
    DIVERGED = "diverged"
    DAMAGED = "damaged"
    OTHER_SPEC = "made from a different spec"

    @property
    def temporary(self) -> bool:
        """Whether the same command, run to its end, gives the result."""
        return self in (Reason.NOT_RUN, Reason.UNFINISHED, Reason.INTERRUPTED)


@dataclass(frozen=True)
class Absence:
    """Reason why a result is absent, with details, and the exit code of the error behind it; 0 without an error.

    ``row`` is the row that lacks it, where a number is about two rows.
    """

    reason: Reason
    detail: str = ""
    exit_code: int = 0
    row: str = ""

    def __str__(self) -> str:
        return ": ".join(text for text in (self.row, self.reason.value, self.detail) if text)

    def of_row(self, label: str) -> Absence:
        """The same, as a lack of the row with this label."""
        return replace(self, row=label)
