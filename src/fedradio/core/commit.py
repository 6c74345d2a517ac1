"""The git commit that this program is of, where it runs from a checkout of its sources."""

from __future__ import annotations

import functools
import subprocess
from pathlib import Path

PATIENCE_S = 10.0
"""Longest wait for git."""


def source_commit() -> str | None:
    """The commit of the sources, with ``+changes`` where the package differs from it; None for an installed package."""
    return checkout_commit(Path(__file__).resolve().parents[3])


@functools.cache
def checkout_commit(checkout: Path) -> str | None:
    """The commit of a checkout with a package in ``src/fedradio``; None if it is none, or git does not answer."""
    package = checkout / "src" / "fedradio"
    if not (checkout / ".git").exists() or not package.is_dir():
        return None
    commit = _git(checkout, "rev-parse", "HEAD")
    changes = _git(checkout, "status", "--porcelain", "--", str(package))
    if commit is None or changes is None:
        return None
    return f"{commit}+changes" if changes else commit


def _git(checkout: Path, *words: str) -> str | None:
    """What git answers; None if it does not."""
    try:
        answer = subprocess.run(
            ["git", "--no-optional-locks", "-C", str(checkout), *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=PATIENCE_S,
            check=True,
            text=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return answer.stdout.strip()
