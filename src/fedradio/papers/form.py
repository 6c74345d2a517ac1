"""What the data files of published items are made of: checked mappings, texts and names."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, Field

from fedradio.spec.schema import FRAME

Text = Annotated[str, Field(min_length=1)]
Key = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")]


class Strict(BaseModel):
    """Base of the schema: strict and frozen, unknown keys are refused."""

    model_config = FRAME
