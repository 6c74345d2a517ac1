"""The rules of all schemas, and their base; importing it is cheap."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

FRAME = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False, frozen=True)
"""Unknown keys are refused, values have the very type of their key, numbers are finite."""


class Strict(BaseModel):
    """A mapping with these keys and no others, by the rules of ``FRAME``."""

    model_config = FRAME
