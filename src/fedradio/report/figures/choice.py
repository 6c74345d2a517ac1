"""A choice of figures for a paper: which metric against which axis, which variants, their order and names."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from matplotlib.figure import Figure

from fedradio.core.errors import Problem, SpecError, StoreError, suggest
from fedradio.report.figures.gallery import Drawing, curve_drawings, drawings
from fedradio.results.compare import metric_problems
from fedradio.results.quantities import axes, entry
from fedradio.results.run import Run, open_runs
from fedradio.results.variants import Variant, matching, shortened, variants


def figures(
    *sources: Run | Path | str,
    metric: str | None = None,
    against: str | Sequence[str] = (),
    only: str | Sequence[str] = (),
    target: float | None = None,
    without: Sequence[str] = (),
) -> dict[str, Figure]:
    """Figures of runs, run folders and sweeps by name, such as ``accuracy-joules``; no file is written.

    They are matplotlib figures that you can change further, drawn in the style that you have chosen with
    ``plt.style.use``; ``save_figure(figure, path)`` writes them with fonts that publishers accept.
    """
    given = [source for source in sources if isinstance(source, Run)]
    opened = open_runs(*(source for source in sources if not isinstance(source, Run)))
    chosen = chosen_variants(variants(drawable([*given, *opened])), without)
    found = chosen_drawings(chosen, metric, _listed(against), _listed(only), target)
    return {drawing.name: drawing.make() for drawing in found if drawing.make is not None}


def drawable(runs: Sequence[Run]) -> Sequence[Run]:
    """The runs that can be drawn: a single run even if incomplete, otherwise the complete ones; refused if none."""
    if len(runs) == 1 and not runs[0].damage:
        return runs
    complete = [run for run in runs if run.status == "complete"]
    if not complete:
        reasons = [f"{run.folder} is {run.trouble}" for run in runs if run.damage]
        if len(reasons) < len(runs):
            reasons.insert(0, "no run is complete; name a single run folder to draw what it has so far")
        raise StoreError("\n".join(reasons) or "there are no runs to draw")
    return complete


def chosen_variants(every: Sequence[Variant], without: Sequence[str] = ()) -> list[Variant]:
    """The variants but those that these words name."""
    problems = _unknown("--without", without, every)
    out = {variant.label for words in without for variant in matching(every, words)}
    left = [variant for variant in every if variant.label not in out]
    if not problems and not left:
        problems.append(Problem("--without", "leaves no variant to draw", "name fewer variants", "; ".join(without)))
    if problems:
        raise SpecError(problems)
    return left


def chosen_drawings(
    every: Sequence[Variant],
    metric: str | None = None,
    against: Sequence[str] = (),
    only: Sequence[str] = (),
    target: float | None = None,
) -> list[Drawing]:
    """The requested figures: all; with a metric, axis, limits or target only the curves; or those listed in ``only``.

    Refused if something is unknown, or if none of the requested figures can be drawn.
    """
    curves = metric is not None or bool(against) or target is not None
    _check(every, metric or "accuracy", against, target)
    found = curve_drawings(every, metric or "accuracy", against or None, target) if curves else drawings(every)
    problems = [_no_figure(name, found) for name in only if name not in {drawing.name for drawing in found}]
    if problems:
        raise SpecError(problems)
    found = [drawing for drawing in found if not only or drawing.name in only]
    able = [drawing for drawing in found if drawing.make is not None]
    if (curves or only) and not able:
        raise SpecError([Problem(drawing.name, f"cannot be drawn: {drawing.why}") for drawing in found])
    return found


def _check(every: Sequence[Variant], metric: str, against: Sequence[str], target: float | None) -> None:
    """Refuse an unknown metric or axis and impossible limits, all at once."""
    problems = (
        metric_problems(every, metric) if any(run.evaluations for one in every for run in one.runs.values()) else []
    )
    known = [each.name for each in axes()]
    for name in (name for name in against if name not in known):
        problems.append(
            Problem("--against", "no such axis", suggest(name, known) or f"one of: {', '.join(known)}", name)
        )
    if entry(metric).format == "percent" and target is not None and target > 1:
        problems.append(Problem("--target", "accuracies are between 0 and 1", "such as 0.9 for 90 %", target))
    if problems:
        raise SpecError(problems)


def _unknown(option: str, words: Iterable[str], every: Sequence[Variant]) -> list[Problem]:
    """Problems with words that match no variant."""
    known = [variant.label for variant in every]
    listed = f"one of: {'; '.join(known)}"
    lost = [one for one in words if not matching(every, one)]
    near = [suggest(one, [*known, *map(shortened, known)]) or listed for one in lost]
    return [Problem(option, "no such variant", remedy, one) for one, remedy in zip(lost, near, strict=True)]


def _no_figure(name: str, found: Sequence[Drawing]) -> Problem:
    known = [drawing.name for drawing in found]
    return Problem("--only", "no such figure", suggest(name, known) or f"one of: {', '.join(known)}", name)


def _listed(given: str | Sequence[str]) -> list[str]:
    return [given] if isinstance(given, str) else list(given)
