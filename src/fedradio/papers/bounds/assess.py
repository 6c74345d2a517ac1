"""Evaluates the theory of a paper on a run folder."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from fedradio.core.errors import Problem, SpecError, suggest
from fedradio.core.progress import Progress, silent
from fedradio.papers.bounds.assessment import Assessment
from fedradio.papers.bounds.fedcpsl import FEDCPSL
from fedradio.papers.bounds.osafl import OSAFL
from fedradio.papers.bounds.paper import Paper
from fedradio.papers.bounds.rawhfl import RAWHFL
from fedradio.papers.bounds.replay import StoredRun, replayed_run
from fedradio.papers.bounds.whfl import WHFL

PAPERS: dict[str, Paper] = {"osafl": OSAFL, "fedcpsl": FEDCPSL, "whfl": WHFL, "rawhfl": RAWHFL}
"""The papers with a theory; where none is asked for, the first that covers the run is taken."""


def assess(
    folder: Path,
    *,
    paper: str | None = None,
    rounds: int = 3,
    given: Mapping[str, float] | None = None,
    progress: Progress = silent,
) -> Assessment:
    """Evaluate a paper's theory on a run folder; without a ``paper`` the one whose theorem covers the run.

    The first ``rounds`` rounds are replayed to estimate the constants that are not ``given`` and to measure what the
    theorem bounds. A run that the theorem does not cover raises :class:`SpecError` with every reason.
    """
    asked = None if paper is None else _named(paper)
    if rounds < 0:
        raise SpecError(Problem("--replay", "must be 0 or more", value=rounds))
    if asked is not None:
        asked.refuse(given or {})
    progress("reading the run", 0.0)
    run = replayed_run(folder)
    if asked is None:
        asked = covering(run)
        asked.refuse(given or {})
    elif problems := asked.uncovered(run):
        raise SpecError([*problems, *_others(run, asked)])
    return asked.assess(run, rounds, dict(given or {}), progress)


def covering(run: StoredRun) -> Paper:
    """The paper whose theorem covers the run; where there is none, the reasons of the nearest are told: of one that is
    about the run's algorithm, and has the fewest."""
    reasons = {name: paper.uncovered(run) for name, paper in PAPERS.items()}
    for name, found in reasons.items():
        if not found:
            return PAPERS[name]
    nearest = min(reasons, key=lambda name: (any(p.path == "algorithm" for p in reasons[name]), len(reasons[name])))
    others = ", ".join(name for name in PAPERS if name != nearest)
    reason = f"no theorem covers this run; {PAPERS[nearest].name}'s comes closest, but its conditions are not met"
    remedy = f"fix the problems below, or see why another one does not apply: {others}"
    raise SpecError([Problem("--paper", reason, remedy), *reasons[nearest]])


def _named(paper: str) -> Paper:
    """The paper of that name."""
    if paper not in PAPERS:
        remedy = " ".join(filter(None, [suggest(paper, list(PAPERS)), f"one of: {', '.join(sorted(PAPERS))}"]))
        raise SpecError(Problem("--paper", "no theory of that name", remedy, paper))
    return PAPERS[paper]


def _others(run: StoredRun, asked: Paper) -> list[Problem]:
    """The papers whose theorems cover a run that the asked one does not."""
    names = [name for name, other in PAPERS.items() if other is not asked and not other.uncovered(run)]
    return [Problem("--paper", "another theorem covers this run", f"--paper {names[0]}")] if names else []
