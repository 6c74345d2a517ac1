"""Freed memory stays with the process: the C library's allocator reuses it, and the kernel clears no pages again.

By default glibc maps every large block anew and gives it back when it is freed. The kernel then clears all its pages
when they are first touched: a round of OSAFL's fully connected network takes 116,000 page faults. Results do not
depend on it.
"""

from __future__ import annotations

import ctypes
import os
import sys
from functools import cache

M_MMAP_THRESHOLD, M_TRIM_THRESHOLD = -3, -1
"""Parameters of ``mallopt``: blocks of so many bytes are mapped on their own; so many free bytes at the end of the heap
are given back."""
LEAST_MAPPED = (256 << 20, 32 << 20)
"""Bytes of the first threshold, the preferred ones first: an older glibc takes at most 32 MiB. With 1 GB, OSAFL's
FCN rounds take as long, but their peak is 1,760 in place of 1,320 MB: freed blocks of more than 256 MiB leave holes."""
NEVER = 2**31 - 1
"""Bytes of the second threshold: the largest that the argument of ``mallopt`` can say."""
OWN_SETTINGS = ("MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_")
"""Environment variables with which users choose the thresholds themselves; ``GLIBC_TUNABLES`` is another."""


@cache
def keep_freed_memory() -> bool:
    """Keep freed memory in this process from now on; whether that was possible, and not the user's own choice.

    It needs glibc. Without it, or if the user has set the thresholds in the environment, nothing changes.
    """
    if not _is_glibc() or _chosen_by_user():
        return False
    mallopt = ctypes.CDLL(None).mallopt
    mapped = any(mallopt(M_MMAP_THRESHOLD, size) for size in LEAST_MAPPED)
    return bool(mapped and mallopt(M_TRIM_THRESHOLD, NEVER))


def _is_glibc() -> bool:
    """Whether this process uses glibc."""
    if sys.platform != "linux":
        return False
    try:
        return (os.confstr("CS_GNU_LIBC_VERSION") or "").startswith("glibc")
    except (OSError, ValueError):  # another C library does not know the name
        return False


def _chosen_by_user() -> bool:
    """Whether the environment has settings of the allocator."""
    tunables = os.environ.get("GLIBC_TUNABLES", "")
    return "glibc.malloc" in tunables or any(name in os.environ for name in OWN_SETTINGS)
