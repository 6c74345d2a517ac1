"""The scales of reproductions, and the folder of their results: what the command line names before anything is read."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

Scale = Literal["quick", "paper"]
SCALES: tuple[Scale, ...] = ("quick", "paper")

OUT = Path("reproductions")
"""Default folder of all results."""
