"""Rows of published tables on specs that run in a blink, and how their plans are made."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from fedradio.core.errors import DivergenceError, SpecError
from fedradio.papers.absence import Absence
from fedradio.papers.collect import Result, collect
from fedradio.papers.items import Item, parse_item
from fedradio.papers.make import blocked, load_specs, make_runs, make_studies
from fedradio.papers.plan import Reproduction
from fedradio.runs.run import run
from fedradio.spec.spec import Spec
from fedradio.sweeps.pool import Outcome, RunTask

WILD = ("rule.lr=10000", "algorithm.server_lr=10000", "hops.0.policy.steps=60", "rounds=30")
"""Diverges."""


def run_task(job: RunTask) -> Outcome:
    """A run that is made here, not in a process of its own, which takes longer to start than these runs."""
    try:
        run(job.spec, job.folder, workers=1)
    except DivergenceError as error:
        return Outcome(job, "diverged", str(error), fresh=True, exit_code=error.exit_code)
    return Outcome(job, "complete", None, fresh=True)


def run_here(jobs: Sequence[RunTask], **options: Any) -> list[Outcome]:
    """A batch of runs that are made here; it takes the place of ``run_batch``."""
    return [run_task(job) for job in jobs]


def heights(seen: list[int]) -> Callable[[Spec, Callable[[float], None]], dict[str, Any]]:
    """A study that notes the seeds it is called with; it fails for seed 3."""

    def study(spec: Spec, tell: Callable[[float], None]) -> dict[str, Any]:
        seen.append(spec.seed)
        if spec.seed == 3:
            raise SpecError([])
        tell(1.0)
        return {"mean": float(spec.seed), "x": [1.0, 2.0], "y": [float(spec.seed), 1.0], "unit": "m", "samples": [3, 1]}

    return study


def item_maker(folder: Path, tiny: Callable[..., Spec]) -> Callable[..., Item]:
    """A function that makes W-HFL's item fig9 on two tiny specs of this folder, with changes."""
    for name in ("one", "two"):
        (folder / f"{name}.yaml").write_text(tiny(f"name={name}").yaml(), encoding="utf-8")

    def item(**changes: Any) -> Item:
        plain = {
            "title": "Accuracy",
            "source": "a paper",
            "show": "table",
            "columns": {"accuracy": {"title": "accuracy", "measure": "accuracy", "within": 1.0}},
            "rows": [row(folder, "one"), row(folder, "two", "rule.lr=0.05")],
            "scales": {
                "quick": {"seeds": 1, "about": "less"},
                "paper": {"seeds": 2, "about": "all"},
            },
        }
        return parse_item(json.dumps(plain | changes), "whfl", "fig9")

    return item


def row(folder: Path, name: str, *changes: str, **more: Any) -> dict[str, Any]:
    source = {"spec": str(folder / f"{name}.yaml"), "set": list(changes)}
    return {"label": name, "published": {"accuracy": [0.5, 0.1]}, "quick": source, "paper": source} | more


def made(plan: Reproduction, **options: Any) -> tuple[Result, dict[Path, Absence]]:
    specs = load_specs(plan.units)
    failures = blocked(plan, specs) | make_studies(plan, specs) | make_runs(plan, specs, **options)
    return collect(plan, failures), failures
