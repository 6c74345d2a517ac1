"""What the data files of published items are made of: texts and names."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

Text = Annotated[str, Field(min_length=1)]
Key = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")]
