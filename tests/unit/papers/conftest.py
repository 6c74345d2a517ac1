"""Items on tiny specs, whose runs are made in this process."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from support.reproductions import heights, item_maker, run_here

from fedradio.papers import make as making
from fedradio.papers.items import Item
from fedradio.papers.studies import STUDIES
from fedradio.spec.files import read_spec, shipped
from fedradio.spec.spec import Spec


@pytest.fixture
def make(tmp_path: Path, tiny: Callable[..., Spec]) -> Callable[..., Item]:
    """An item on two tiny specs, with changes."""
    return item_maker(tmp_path, tiny)


@pytest.fixture(autouse=True)
def in_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs are made here, not in processes of their own, which take longer to start than these runs."""
    monkeypatch.setattr(making, "run_batch", run_here)


NAMES = frozenset(shipped())

read_shipped = cache(read_spec)


@pytest.fixture(scope="module")
def shipped_specs_read_once() -> Iterator[None]:
    """Hundreds of rows are changes of the same shipped specs."""

    def read(source: str | Path) -> dict[str, Any]:
        return read_shipped(source) if source in NAMES else read_spec(source)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("fedradio.spec.spec.read_spec", read)
        yield


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Seeds that the study ``heights`` was called with; it fails for seed 3."""
    seen: list[int] = []
    monkeypatch.setitem(STUDIES, "heights", heights(seen))
    return seen
