"""A choice of figures for a paper: which metric against which axis, which variants, their order and names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from matplotlib.cbook import is_math_text
from matplotlib.figure import Figure
from matplotlib.mathtext import MathTextParser

from fedradio.core.errors import Problem, SpecError, StoreError, suggest
from fedradio.core.text import harmless
from fedradio.report.figures.axes import literal
from fedradio.report.figures.gallery import Drawing, curve_drawings, drawings
from fedradio.results.compare import main_metric, metric_problems
from fedradio.results.quantities import axes, entry
from fedradio.results.run import Run, open_runs
from fedradio.results.variants import Variant, matching, pieces, shortened, variants


def figures(
    *sources: Run | Path | str,
    metric: str | None = None,
    against: str | Sequence[str] = (),
    only: str | Sequence[str] = (),
    target: float | None = None,
    labels: Mapping[str, str] | None = None,
    order: Sequence[str] = (),
    without: Sequence[str] = (),
) -> dict[str, Figure]:
    """Figures of runs, run folders and sweeps by name, such as ``accuracy-joules``; no file is written.

    The keywords are the options of ``fedradio figures``. They are matplotlib figures that you can change further, drawn
    in the style that you have chosen, as in ``with plt.style.context("paper.mplstyle")``; ``save_figure(figure, path)``
    writes them with fonts that publishers accept.
    """
    given = [source for source in sources if isinstance(source, Run)]
    opened = open_runs(*(source for source in sources if not isinstance(source, Run)))
    chosen = chosen_variants(variants(drawable([*given, *opened])), order, without)
    names = names_of(chosen, labels or {})
    found = chosen_drawings(chosen, metric, _listed(against), _listed(only), target, names)
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


def chosen_variants(every: Sequence[Variant], order: Sequence[str] = (), without: Sequence[str] = ()) -> list[Variant]:
    """The remaining variants in order: the named ones first, then the others in their original order."""
    problems = _unknown("--order", order, every) + _unknown("--without", without, every)
    out = {variant.label for words in without for variant in matching(every, words)}
    left = [variant for variant in every if variant.label not in out]
    if not problems and not left:
        problems.append(Problem("--without", "leaves no variant to draw", "name fewer variants", "; ".join(without)))
    if problems:
        raise SpecError(problems)
    ranks: dict[str, int] = {}
    for rank, words in enumerate(order):
        for variant in matching(left, words):
            ranks.setdefault(variant.label, rank)
    return sorted(left, key=lambda variant: ranks.get(variant.label, len(order)))


def names_of(every: Sequence[Variant], labels: Mapping[str, str]) -> dict[str, str]:
    """Legend names by the labels of the variants that are renamed.

    A key is a label or part of one. If several variants match, the name replaces the matching words in each label, as
    in *rule.lr=0.1, FedProx*.
    """
    problems = _unknown("--label", labels, every)
    names: dict[str, str] = {}
    for key, text in labels.items():
        found = matching(every, key)
        problems += _name_problems(key, text)
        for variant in found:
            name = harmless(text) if len(found) == 1 else _placed(variant.label, key, harmless(text))
            if name is None:
                known = "; ".join(one.label for one in found)
                problems.append(Problem("--label", "several variants match", f"one of: {known}", key))
                break
            names[variant.label] = name
    texts = [names.get(variant.label, variant.label) for variant in every]
    problems += [
        Problem("--label", "two variants have this name", "", text) for text in {*texts} if texts.count(text) > 1
    ]
    if problems:
        raise SpecError(problems)
    return names


def split_labels(texts: Iterable[str], every: Sequence[Variant]) -> dict[str, str]:
    """Split texts ``WORDS=NAME`` at the first ``=`` whose words match a variant; labels may contain ``=`` too."""
    found: dict[str, str] = {}
    for text in texts:
        places = [place for place, letter in enumerate(text) if letter == "="]
        if not places:
            remedy = 'such as --label fedprox="FedProx (mu=0.01)"'
            raise SpecError(Problem("--label", "does not name a variant", remedy, text))
        at = next((place for place in places if matching(every, text[:place])), places[0])
        found[text[:at]] = text[at + 1 :]
    return found


def chosen_drawings(
    every: Sequence[Variant],
    metric: str | None = None,
    against: Sequence[str] = (),
    only: Sequence[str] = (),
    target: float | None = None,
    names: Mapping[str, str] | None = None,
) -> list[Drawing]:
    """The requested figures: all; with a metric, axis or target only the curves; or those listed in ``only``.

    Refused if something is unknown, or if none of the requested figures can be drawn.
    """
    curves = metric is not None or bool(against) or target is not None
    shown = metric or main_metric(run for variant in every for run in variant.runs.values())
    _check(every, shown, against, target)
    names = names or {}
    found = drawings(every, names)
    if curves:
        found = curve_drawings(every, shown, against or None, target, metric is not None, names)
    problems = [_no_figure(name, found) for name in only if name not in {drawing.name for drawing in found}]
    if problems:
        raise SpecError(problems)
    found = [drawing for drawing in found if (drawing.name in only if only else drawing.usual)]
    able = [drawing for drawing in found if drawing.make is not None]
    if (curves or only) and not able:
        raise SpecError([Problem(drawing.name, f"cannot be drawn: {drawing.why}") for drawing in found])
    return found


def _check(every: Sequence[Variant], metric: str, against: Sequence[str], target: float | None) -> None:
    """Refuse an unknown metric or axis and an impossible target, all at once."""
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


def _name_problems(key: str, text: str) -> list[Problem]:
    """Problems with a name that cannot be typeset."""
    if not text.strip():
        return [Problem("--label", "the name is empty", f'such as --label {key}="A name"', key)]
    try:
        if is_math_text(text):
            MathTextParser("path").parse(text)
    except ValueError as error:
        reason = str(error).strip().splitlines()[-1].partition(", found")[0].removeprefix("ParseFatalException: ")
        return [
            Problem("--label", f"the formula cannot be typeset: {reason}", r"write a literal dollar sign as \$", text)
        ]
    return []


def _placed(label: str, key: str, name: str) -> str | None:
    """A label with the key's words replaced by a name; None if it does not contain them."""
    words, left = pieces(key), label.split(", ")
    places = [place for place, word in enumerate(left) if pieces(word) <= words]
    if not places:
        return None
    texts = [literal(shortened(word)) for word in left]
    texts[places[0]] = name
    return ", ".join(text for place, text in enumerate(texts) if place not in places[1:])


def _no_figure(name: str, found: Sequence[Drawing]) -> Problem:
    known = [drawing.name for drawing in found]
    return Problem("--only", "no such figure", suggest(name, known) or f"one of: {', '.join(known)}", name)


def _listed(given: str | Sequence[str]) -> list[str]:
    return [given] if isinstance(given, str) else list(given)
