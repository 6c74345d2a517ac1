"""The format of what runs write: one number for run folders, checkpoints and sweep files, and one refusal of others."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fedradio._version import __version__
from fedradio.core.errors import FormatError

FORMAT = 3
"""Number of the format that is written; a reader refuses all others."""


def check_format(document: Mapping[str, Any], path: Path) -> None:
    """Refuse a file that says that it has another ``format``, and name the version ``fedradio`` that wrote it."""
    number, version = document.get("format"), document.get("fedradio")
    if type(number) is int and number != FORMAT:
        reason = f"has format {number}, but fedradio {__version__} reads {FORMAT}"
        remedy = f"use fedradio {version}" if isinstance(version, str) else "run its spec again"
        raise FormatError(f"{path} {reason}; {remedy}")
