"""Rows of published tables on specs that run in a blink, and how their plans are made."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fedradio.core.errors import DivergenceError
from fedradio.papers.collect import Result, collect
from fedradio.papers.make import Trouble, blocked, load_specs, make_runs, make_studies
from fedradio.papers.plan import Reproduction
from fedradio.runs.run import run
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


def row(folder: Path, name: str, *changes: str, **more: Any) -> dict[str, Any]:
    source = {"spec": str(folder / f"{name}.yaml"), "set": list(changes)}
    return {"label": name, "published": {"accuracy": [0.5, 0.1]}, "quick": source, "paper": source} | more


def made(plan: Reproduction, **options: Any) -> tuple[Result, dict[Path, Trouble]]:
    specs = load_specs(plan.units)
    trouble = blocked(plan, specs) | make_studies(plan, specs) | make_runs(plan, specs, **options)
    return collect(plan, trouble), trouble
