"""Items on tiny specs, whose runs are made in this process."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from support.reproductions import row, run_task

from fedradio.core.errors import SpecError
from fedradio.papers import make as making
from fedradio.papers.items import Item, parse_item
from fedradio.papers.studies import STUDIES
from fedradio.spec.files import read_spec, shipped
from fedradio.spec.spec import Spec
from fedradio.sweeps.pool import Outcome, RunTask


@pytest.fixture
def make(tmp_path: Path, tiny: Callable[..., Spec], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Item]:
    """An item on two tiny specs, with changes; its study counts its calls."""
    for name in ("one", "two"):
        (tmp_path / f"{name}.yaml").write_text(tiny(f"name={name}").yaml(), encoding="utf-8")

    def item(**changes: Any) -> Item:
        plain = {
            "title": "Accuracy",
            "source": "a paper",
            "show": "table",
            "columns": {"accuracy": {"title": "accuracy", "measure": "accuracy", "within": 1.0}},
            "rows": [row(tmp_path, "one"), row(tmp_path, "two", "rule.lr=0.05")],
            "scales": {
                "quick": {"seeds": 1, "minutes": 4, "about": "less"},
                "paper": {"seeds": 2, "minutes": 60, "about": "all"},
            },
        }
        return parse_item(json.dumps(plain | changes), "whfl", "fig9")

    return item


@pytest.fixture(autouse=True)
def in_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs are made here, not in processes of their own, which take longer to start than these runs."""

    def run_batch(jobs: Sequence[RunTask], **options: Any) -> list[Outcome]:
        return [run_task(job) for job in jobs]

    monkeypatch.setattr(making, "run_batch", run_batch)


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

    def heights(spec: Spec, tell: Callable[[float], None]) -> dict[str, Any]:
        seen.append(spec.seed)
        if spec.seed == 3:
            raise SpecError([])
        tell(1.0)
        return {"mean": float(spec.seed), "x": [1.0, 2.0], "y": [float(spec.seed), 1.0], "unit": "m", "samples": [3, 1]}

    monkeypatch.setitem(STUDIES, "heights", heights)
    return seen
