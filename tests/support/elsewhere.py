"""What another process gets of a value that is sent to it."""

from __future__ import annotations

import pickle  # noqa: TID251 what process pools use; nothing is stored
from typing import TypeVar

T = TypeVar("T")


def received(value: T) -> T:
    """The value after a way to another process, in this one."""
    copy: T = pickle.loads(pickle.dumps(value))
    return copy
