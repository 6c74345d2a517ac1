"""The page of a sweep: results of its variants over seeds, with intervals and paired differences."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from typing import Any

from fedradio.core.contracts.records import MAIN_SCORES
from fedradio.report.charts.chart import Group
from fedradio.report.charts.costs import cost_of_common_target, costs
from fedradio.report.charts.differences import differences
from fedradio.report.charts.energy import energy
from fedradio.report.page.chart import chart_section, charts, numbers_table
from fedradio.report.page.document import Refresh, document
from fedradio.report.page.html import UNDEFINED, Html, Piece, command, copied, paragraph, section, table, tag
from fedradio.report.page.numbers import count, plus_minus, seconds, spec_yaml, text_of, value_words
from fedradio.report.page.palette import variables
from fedradio.report.page.sections.headline import badge, cards
from fedradio.report.page.sections.learning import learning_section
from fedradio.report.page.sections.rerun import environment_rows, sweep_command
from fedradio.report.page.sweep_data import SweepData, SweptVariant
from fedradio.results.compare import differing_worlds
from fedradio.results.quantities import QUANTITIES, of_variants
from fedradio.results.quantity import Quantity
from fedradio.results.statistics import Interval
from fedradio.spec.yaml import flatten


def sweep_page(sweep: SweepData, refresh: Refresh | None = None) -> str:
    """The page of a sweep; with ``refresh`` it reloads itself."""
    name, groups = sweep.plan.name, [variant.group for variant in sweep.variants]
    header = tag(
        "div",
        paragraph("fedradio sweep", class_="kind"),
        tag("div", tag("h1", name), _badge(sweep), class_="title"),
        paragraph(str(sweep.plan.variants[0].spec.plain["about"]) if sweep.plan.variants else "", class_="about"),
    )
    sections: dict[str, tuple[str, Html]] = {
        "headline": ("Summary", section("headline", "Summary", _warning(sweep), _headline(sweep))),
        "results": ("Results", section("results", "Results", _results(sweep))),
        "learning": ("Learning", learning_section(groups)),
        "differences": ("Differences", _differences(sweep)),
        "cost": ("Cost", _cost(groups)),
        "energy": ("Energy", _energy(groups)),
        "variants": (
            "Variants",
            section("variants", "Variants", *_pages(sweep), *(_variant(sweep, variant) for variant in sweep.variants)),
        ),
        "spec": ("Spec and axes", _spec(sweep)),
        "environment": ("Environment", _environment(sweep)),
    }
    return document(f"{name} - fedradio sweep", [header], sections, variables(sweep.colours()), refresh)


def known_quantities(sweep: SweepData) -> list[Quantity]:
    """The quantities that at least one complete run has."""
    return [each for each in of_variants() if any(variant.numbers.values(each.name) for variant in sweep.variants)]


def _badge(sweep: SweepData) -> Html:
    """The status of the whole sweep."""
    missing = _missing(sweep)
    return badge("complete" if not missing else "unfinished")


def _missing(sweep: SweepData) -> list[tuple[SweptVariant, int, str]]:
    """The incomplete runs: variant, seed, state."""
    missing = []
    for variant in sweep.variants:
        for seed, run in variant.runs.items():
            if run is None:
                missing.append((variant, seed, "not begun"))
            elif run.trouble:
                missing.append((variant, seed, run.trouble))
            elif run.status != "complete":
                missing.append((variant, seed, f"{run.status} after {run.done} of {variant.grid.spec.rounds} rounds"))
    return missing


def _warning(sweep: SweepData) -> Html | None:
    """The list of incomplete runs; None if all are complete."""
    missing = _missing(sweep)
    if not missing:
        return None
    items = [
        tag("li", tag("a", variant.label, href=f"#{variant.identity}"), f", seed {seed}: {state}")
        for variant, seed, state in missing
    ]
    sentence = f"{len(missing)} of {sweep.plan.runs} runs are incomplete and not included in any mean:"
    return tag("div", paragraph(sentence), tag("ul", *items), class_="warning", role="note")


def _headline(sweep: SweepData) -> Html:
    """The cards of a sweep."""
    walls = [wall_s for variant in sweep.variants for wall_s in variant.numbers.values("wall_s").values()]
    name = _main(sweep)
    means = [(variant, mean) for variant in sweep.variants if (mean := variant.numbers.mean(name)) is not None]
    items: dict[str, tuple[Piece, Piece]] = {
        "Variants": (count(len(sweep.variants)), ", ".join(sweep.plan.axes) or "no axes"),
        "Seeds": (
            count(len(sweep.plan.seeds)),
            "variants have different worlds" if _worlds(sweep) else "the same world for every variant",
        ),
        "Complete runs": (count(len(walls)), f"of {sweep.plan.runs:,}; {seconds(sum(walls))} of wall time in total"),
    }
    if means:
        sign = 1.0 if MAIN_SCORES[name] else -1.0
        best, score = max(means, key=lambda item: sign * item[1].mean)
        items[f"Best mean {QUANTITIES[name].title}"] = (QUANTITIES[name].text(score.mean), best.label)
    return cards(items)


def _main(sweep: SweepData) -> str:
    """The main score of the runs of a sweep."""
    return "rmse" if any(variant.numbers.values("rmse") for variant in sweep.variants) else "accuracy"


def _results(sweep: SweepData) -> Html:
    """The table of results, one row per variant."""
    columns = known_quantities(sweep)
    rows: list[list[Piece]] = []
    for variant in sweep.variants:
        row: list[Piece] = [
            tag("a", variant.label, href=f"#{variant.identity}"),
            f"{len(variant.complete())}/{len(variant.runs)}",
        ]
        rows.append([*row, *(plus_minus(variant.numbers.mean(each.name), each.text) for each in columns)])
    caption = "Mean over seeds, ± 95 % confidence interval if there are several"
    return table(caption, ["variant", "runs", *(each.title for each in columns)], rows)


def _differences(sweep: SweepData) -> Html:
    """The section of paired differences from the first variant."""
    title = "Differences"
    if len(sweep.variants) < 2:
        return section(
            "differences",
            title,
            paragraph("There is only one variant, so there is nothing to compare it with.", class_="absent"),
        )
    first, columns = sweep.variants[0], known_quantities(sweep)
    rows: list[list[Piece]] = []
    for variant in sweep.variants[1:]:
        found = [variant.numbers.difference(first.numbers, each.name) for each in columns]
        pairs = max((difference.n for difference in found if difference is not None), default=0)
        values = [_difference(difference, each.text) for difference, each in zip(found, columns, strict=True)]
        rows.append([tag("a", variant.label, href=f"#{variant.identity}"), str(pairs), *values])
    head = ["variant", "seeds", *(each.title for each in columns)]
    caption = "Paired differences: mean ± 95 % confidence interval"
    name = _main(sweep)
    others = [(one.label, one.style, one.numbers.difference(first.numbers, name)) for one in sweep.variants[1:]]
    chart = charts([differences(others, name)], wide=True)
    return section("differences", title, *_pairing(sweep), table(caption, head, rows), *chart)


def _cost(groups: Sequence[Group]) -> Html:
    """The section of costs, with the cost of the highest target that every run reached."""
    common = cost_of_common_target(groups)
    return chart_section("cost", "Cost", costs(groups), after=None if common is None else numbers_table(common))


def _energy(groups: Sequence[Group]) -> Html:
    """The section of energy, with the variants that it leaves out."""
    without = [group.label for group in groups if group.runs and not all(run.joules for run in group.runs)]
    text = f"Variants with undefined energy: {', '.join(without)}."
    aside = paragraph(text, class_="aside") if 0 < len(without) < len(groups) else None
    return chart_section("energy", "Energy", energy(groups), aside)


def _pairing(sweep: SweepData) -> list[Html]:
    """Explanation of the pairs; lists the variants whose world differs from the first one's, with the keys."""
    start, worlds = f"Differences from the first variant, {sweep.variants[0].label}, seed by seed", _worlds(sweep)
    zero = "If an interval contains 0, there is no significant difference."
    if not worlds:
        return [paragraph(f"{start}. All variants see the same world, so its effect cancels out. {zero}")]
    items = [tag("li", f"{'; '.join(labels)} ({', '.join(keys)})") for keys, labels in worlds.items()]
    intro = paragraph("These variants have a different world from the first one, so pairs share only the seed.")
    return [paragraph(f"{start}. {zero}"), tag("div", intro, tag("ul", *items), class_="warning", role="note")]


def _worlds(sweep: SweepData) -> dict[tuple[str, ...], list[str]]:
    """Labels of the variants whose world differs from the first one's, by the keys that differ."""
    by_keys: dict[tuple[str, ...], list[str]] = {}
    for variant in sweep.variants[1:]:
        if keys := tuple(differing_worlds(variant.grid.spec, sweep.variants[0].grid.spec)):
            by_keys.setdefault(keys, []).append(variant.label)
    return by_keys


def _difference(difference: Interval | None, formatted: Callable[[float], str]) -> str:
    """A difference with its sign; accuracies differ by percentage points."""
    if difference is None:
        return UNDEFINED
    text = plus_minus(difference, formatted).replace("%", "pp")
    return f"+{text}" if difference.mean > 0 else text


def _pages(sweep: SweepData) -> list[Html]:
    """How to make the pages of the runs, if some are missing."""
    runs = [run for variant in sweep.variants for run in variant.runs.values() if run is not None]
    lacking = sum(not run.page for run in runs)
    if not lacking:
        return []
    have = (
        f"{lacking} of {len(runs)} runs do not have their own page yet"
        if lacking < len(runs)
        else "The runs do not have pages yet"
    )
    return [
        paragraph(f"{have}. To make them all, and to link them from this page, run this in the sweep's folder:"),
        command("fedradio report . --runs"),
    ]


def _variant(sweep: SweepData, variant: SweptVariant) -> Html:
    """The runs of a variant."""
    columns = known_quantities(sweep)
    rows: list[list[Piece]] = []
    for seed, run in variant.runs.items():
        if run is None:
            rows.append([str(seed), badge("not begun"), *([UNDEFINED] * len(columns)), None])
            continue
        values = [text_of(each, run.facts.get(each.name)) for each in columns]
        place = tag("code", f"runs/{run.folder.name}")
        rows.append([str(seed), badge(run.status), *values, tag("a", place, href=run.page) if run.page else place])
    sets = ", ".join(f"{key} = {value_words(value)}" for key, value in variant.grid.changes.items())
    return tag(
        "div",
        tag("h3", variant.label, id=variant.identity),
        paragraph(f"Set: {sets}." if sets else "The spec without changes."),
        table("Runs", ["seed", "status", *(each.title for each in columns), "folder"], rows, shown=False),
        class_="variant",
    )


def _spec(sweep: SweepData) -> Html:
    """The spec, the axes, and commands that reproduce the sweep."""
    plan = sweep.plan
    rows: list[list[Piece]] = [[key, ", ".join(map(value_words, values))] for key, values in plan.axes.items()]
    rows.append(["seeds", ", ".join(map(str, plan.seeds))])
    return section(
        "spec",
        "Spec and axes",
        table("Axes of the sweep", ["key", "values"], rows, numbers=False),
        paragraph("The spec to which they apply:"),
        copied("Copy the spec", spec_yaml(plan.base), "Spec in YAML"),
        *_rerun(sweep),
    )


def _rerun(sweep: SweepData) -> list[Html]:
    """Commands that reproduce the whole sweep, and one run of it."""
    whole = sweep_command(sweep.plan)
    pieces = []
    if whole is not None:
        saved = f"To repeat the whole sweep, with the spec above saved as {sweep.plan.name}.yaml:"
        pieces = [
            paragraph(saved if whole[1] else "To repeat the whole sweep, from a shipped spec:"),
            command(whole[0]),
        ]
    runs = [run for variant in sweep.variants for run in variant.complete().values()]
    if not runs:
        return pieces
    intro = "Every run folder contains its complete spec. To repeat one run and make its page, from the sweep's folder:"
    name = shlex.quote(runs[0].folder.name)
    return [
        *pieces,
        paragraph(intro),
        command(f"fedradio run runs/{name}/spec.yaml"),
        command(f"fedradio report runs/{name}"),
    ]


def _environment(sweep: SweepData) -> Html:
    """Versions and machine of the first run, and what differs for the others."""
    runs = [run for variant in sweep.variants for run in variant.runs.values() if run is not None and run.environment]
    if not runs:
        why = "No run has a readable environment.json."
        return section("environment", "Environment", paragraph(why, class_="absent"))
    first = runs[0].environment
    differ = sorted({key for run in runs for key, _ in _versions(run.environment) ^ _versions(first)})
    warning = None
    if differ:
        warning = paragraph(f"The environments of the runs differ in: {', '.join(differ)}.", class_="warning")
    rows = environment_rows(first)
    return section(
        "environment",
        "Environment",
        warning,
        table("Environment of the first run", ("what", "value"), rows, numbers=False, shown=False),
    )


def _versions(environment: Any) -> set[tuple[str, str]]:
    """The entries of an environment that results may depend on."""
    return {
        (key, str(value)) for key, value in flatten(dict(environment)) if key not in ("started", "workers", "resumed")
    }
