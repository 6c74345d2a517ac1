"""The figures of some runs: which can be drawn, why others cannot, and their files."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from fedradio.core.contracts import Reason
from fedradio.core.errors import StoreError
from fedradio.core.progress import Progress, silent
from fedradio.report.figures.axes import printed, save
from fedradio.report.figures.design import COLUMN, Design
from fedradio.report.figures.lines import curves_figure, energy_cdf_figure, spread_figure
from fedradio.report.figures.run import network_figure, reasons_figure, selection_figure, spread_rounds_figure
from fedradio.report.lengths import length_unit
from fedradio.report.style import DASH_DOT, DOT, SHORT, SOLID, Dash, Style, style, styles
from fedradio.results.compare import bands
from fedradio.results.quantities import QUANTITIES, axes
from fedradio.results.run import Floats, Run
from fedradio.results.variants import Variant

FORMATS = ("pdf", "png")
DPI = 300
"""Resolution of PNG files, and of images inside PDF files."""


LINES: dict[Any, Dash] = {"-": SOLID, "--": SHORT, ":": DOT, "-.": DASH_DOT}
"""Dashes of the line styles that a property cycle can have."""

ONE_TEST_SET = "all clients share one test set"
"""The reason why there are no accuracies per client."""


@dataclass(frozen=True)
class Drawing:
    """A figure that can be made or not (``make`` is None); ``why`` is the reason, or names the variants left out."""

    name: str
    make: Callable[[], Figure] | None
    why: str = ""


def drawings(variants: Sequence[Variant], design: Design = COLUMN) -> list[Drawing]:
    """All figures of these variants, including those of a single run if there is just one."""
    shared = [
        *curve_drawings(variants, "accuracy", design=design),
        *curve_drawings(variants, "loss", against=("rounds",), design=design),
        *_energy(variants, design),
        _spread(variants, design),
    ]
    runs = [run for variant in variants for run in variant.runs.values()]
    if len(runs) == 1:
        return [*shared, *_of_one(runs[0], design)]
    names = ("spread-rounds", "network", "selection", "reasons")
    return [*shared, *(Drawing(name, None, "it shows a single run; name one run folder") for name in names)]


def curve_drawings(
    variants: Sequence[Variant],
    metric: str,
    against: Iterable[str] | None = None,
    target: float | None = None,
    design: Design = COLUMN,
) -> list[Drawing]:
    """Figures of a metric against costs: by default rounds, seconds, joules and all other axes."""
    looks = looks_of(variants, design)
    runs = [run for variant in variants for run in variant.runs.values()]
    recorded = any(run.rounds for run in runs)
    curves = []
    for quantity in axes() if against is None else [QUANTITIES[name] for name in against]:
        known = bands(variants, metric, quantity.name)
        if against is None and not known and not quantity.absent:
            continue
        lacking = f"{metric} is not measured" if quantity.name == "rounds" else f"{quantity.name} are undefined"
        why = _without(variants, known, lacking if recorded else "no round is recorded")
        draw = partial(curves_figure, known, looks, metric, quantity.name, target, runs, design) if known else None
        curves.append(Drawing(f"{metric}-{quantity.name}", draw, why))
    return curves


def looks_of(variants: Sequence[Variant], design: Design = COLUMN) -> dict[str, Style]:
    """The style of every variant by its label; colours and markers of the design's own cycle take precedence."""
    looks, cycle = styles(variants), design.settings.get("axes.prop_cycle")
    if cycle is not None:
        looks = [cycled(look, turn) for look, turn in zip(looks, itertools.cycle(cycle), strict=False)]
    return {variant.label: look for variant, look in zip(variants, looks, strict=True)}


def cycled(look: Style, turn: Mapping[str, Any]) -> Style:
    """A style updated with one entry of matplotlib's property cycle."""
    dash = turn.get("linestyle", turn.get("dashes"))
    colour, marker = to_hex(turn.get("color", look.colour)), turn.get("marker", look.marker)
    return Style(
        colour, look.dash if dash is None else LINES.get(dash, look.dash), "" if marker is None else str(marker)
    )


def write(
    drawings: Sequence[Drawing],
    folder: Path,
    formats: Sequence[str],
    progress: Progress = silent,
    design: Design = COLUMN,
) -> list[Path]:
    """Draw the figures that can be drawn, in every format; returns their files."""
    files = []
    able = [(drawing.name, drawing.make) for drawing in drawings if drawing.make is not None]
    for number, (name, make) in enumerate(able):
        progress(f"drawing {name}", number / len(able))
        figure = make()
        for suffix in formats:
            file = folder / f"{name}.{suffix}"
            try:
                with printed(design):
                    save(figure, file, _dpi(design))
            except OSError as error:
                raise StoreError(f"cannot write {file}: {error.strerror or error}") from None
            files.append(file)
    return files


def _dpi(design: Design) -> int:
    """The resolution set by a style file, or the default."""
    dpi = design.settings.get("savefig.dpi", DPI)
    return DPI if dpi == "figure" else int(dpi)


def _energy(variants: Sequence[Variant], design: Design) -> list[Drawing]:
    """Distributions of joules: per client over the whole run, and per active client and edge round."""
    clients: dict[str, Floats] = {}
    active_clients: dict[str, Floats] = {}
    for variant in variants:
        shares = [run.participation for run in variant.runs.values()]
        known = [(share.active, share.joules) for share in shares if share.joules is not None]
        if known and len(known) == len(shares):
            clients[variant.label] = np.concatenate([joules.sum(axis=0) for _, joules in known])
            active_clients[variant.label] = np.concatenate([joules[active] for active, joules in known])
    looks = looks_of(variants, design)
    drawn = {label: joules for label, joules in active_clients.items() if len(joules)}
    why = _without(variants, clients, "the energy of clients is undefined")
    nobody = "no client took part, or energy is undefined"
    alone = why if len(drawn) == len(active_clients) else _without(variants, drawn, nobody)
    per = "client in an edge round"
    return [
        Drawing("energy-clients", partial(energy_cdf_figure, clients, looks, design=design) if clients else None, why),
        Drawing("energy-edge-rounds", partial(energy_cdf_figure, drawn, looks, per, design) if drawn else None, alone),
    ]


def _spread(variants: Sequence[Variant], design: Design) -> Drawing:
    """Accuracies per client at the last evaluation, over all seeds."""
    accuracies: dict[str, Floats] = {}
    for variant in variants:
        last = [_client_accuracies(run)[-1:] for run in variant.runs.values()]
        values = np.concatenate([rows[0] for rows in last if len(rows)] or [np.zeros(0)])
        if len(known := values[np.isfinite(values)]) and all(map(len, last)):
            accuracies[variant.label] = known
    looks, why = looks_of(variants, design), _without(variants, accuracies, ONE_TEST_SET)
    return Drawing("spread", partial(spread_figure, accuracies, looks, design=design) if accuracies else None, why)


def _of_one(run: Run, design: Design) -> list[Drawing]:
    """Figures of a single run."""
    accuracies, who = _client_accuracies(run), run.participation
    rounds = [record.round for record in run.evaluations]
    colour = style(run.algorithm).colour
    spread = partial(spread_rounds_figure, rounds, accuracies, colour, design=design) if len(accuracies) else None
    empty = "" if len(who.reason) else "no edge round is recorded"
    why = empty or _network_lack(run)
    total = None if who.joules is None else who.joules.sum(axis=0)
    unit = length_unit(run.spec)
    network = None if why else lambda: network_figure(run.network, who.arrived.mean(axis=0), total, unit, design)
    out = empty or ("" if (who.reason != Reason.NONE).any() else "every client arrived in every edge round")
    parent = None if why else run.network["parents"][0]
    return [
        Drawing("spread-rounds", spread, "" if spread else ONE_TEST_SET),
        Drawing("network", network, why),
        Drawing("selection", None if out else partial(selection_figure, who.reason, parent, design), out),
        Drawing("reasons", None if out else partial(reasons_figure, who.reason, design), out),
    ]


def _client_accuracies(run: Run) -> Floats:
    """Accuracies ``[evaluations, clients]``, NaN without samples; empty if clients are not tested individually."""
    rows = [record.groups.get("accuracy") for record in run.evaluations]
    known = [row for row in rows if row]
    return np.array(known if len(known) == len(rows) else [], dtype=np.float64)


def _network_lack(run: Run) -> str:
    """The reason why there is no map."""
    if not run.network:
        return "the run folder has no network.json, because an older version made it"
    if len(run.network["positions"][0]) == 1:
        return "there is only one client"
    return ""


def _without(variants: Sequence[Variant], known: Mapping[str, object], reason: str) -> str:
    """The reason why variants are left out, with their labels unless it applies to all."""
    lacking = [variant.label for variant in variants if variant.label not in known]
    if not lacking:
        return ""
    return reason if not known else f"without {'; '.join(lacking)}: {reason}"
