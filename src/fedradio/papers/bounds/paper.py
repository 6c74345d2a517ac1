"""The shape of a paper's theory: which runs it covers, which constants it needs, how it is evaluated."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from fedradio.core.errors import Problem, SpecError, suggest
from fedradio.core.progress import Progress
from fedradio.papers.bounds.assessment import Assessment
from fedradio.papers.bounds.replay import StoredRun

Evaluate = Callable[[StoredRun, int, dict[str, float], Progress], Assessment]


@dataclass(frozen=True)
class Paper:
    """A paper's theory on runs.

    ``symbols`` are the constants that can be given instead of estimated, with their symbols in the paper; ``least`` the
    smallest that some may be (0: any above 0). ``uncovered`` says why the theorem does not cover a run; ``assess``
    evaluates it with that many replayed rounds and the constants that are given.
    """

    name: str
    symbols: Mapping[str, str]
    uncovered: Callable[[StoredRun], list[Problem]]
    assess: Evaluate
    least: Mapping[str, float] = field(default_factory=dict)

    def refuse(self, given: Mapping[str, float]) -> None:
        """Refuse constants that the theorem does not have, or that are negative, not finite or too small."""
        problems = []
        for name, value in given.items():
            path, least = f"--set {name}", self.least.get(name)
            if name not in self.symbols:
                near = suggest(name, list(self.symbols))
                remedy = " ".join(filter(None, [near, f"one of: {', '.join(self.symbols)}"]))
                problems.append(Problem(path, f"{self.name}'s theorem has no constant with that name", remedy, value))
            elif not (math.isfinite(value) and value >= 0):
                problems.append(Problem(path, "must be a finite number, at least 0", value=value))
            elif least == 0 == value:
                problems.append(Problem(path, "must be above 0", value=value))
            elif least is not None and value < least:
                problems.append(Problem(path, f"must be at least {least:g}", value=value))
        if problems:
            raise SpecError(problems)
