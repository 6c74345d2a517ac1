"""What the data files of published items are made of: texts and names."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

Scale = Literal["quick", "paper"]
SCALES: tuple[Scale, ...] = ("quick", "paper")
Text = Annotated[str, Field(min_length=1)]
Key = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")]
