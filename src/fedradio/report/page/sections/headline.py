"""The headline numbers of a run's page, and the warning about a run that is not complete."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from fedradio.report.page.html import Html, Piece, command, join, paragraph, tag
from fedradio.report.page.numbers import count, number, percent, quantity, seconds
from fedradio.report.page.run_data import RunData

STATES = {
    "complete": ("good", "✓", ""),
    "interrupted": ("fair", "!", "This run was interrupted: its numbers are those after {done} of {all} rounds."),
    "unfinished": (
        "fair",
        "!",
        "This run has no summary: it is under way, or its process was killed. "
        "Numbers are those of the {done} of {all} rounds on record.",
    ),
    "diverged": (
        "bad",
        "\N{MULTIPLICATION SIGN}",
        "This run diverged: a loss or a parameter became NaN or infinite after {done} of {all} rounds. Numbers are "
        "those before. A smaller rule.lr or algorithm rate usually helps.",
    ),
    "not begun": ("fair", "!", ""),
    "failed": (
        "bad",
        "\N{MULTIPLICATION SIGN}",
        "This run failed after {done} of {all} rounds: its numbers are those until then.",
    ),
}
"""Class, sign and warning of every status."""


KEYS = (
    *("accuracy", "best_accuracy", "best_round", "loss", "rounds", "clients", "arrived"),
    *("time_s", "energy_j", "bits", "uses", "wall_s"),
)
"""Fields of a summary that the page reads; summaries of earlier versions may lack some."""


def facts(data: RunData) -> Mapping[str, Any]:
    """The headline numbers of a run: its summary, or without one what its records give."""
    run = data.run
    if run.summary is not None:
        return dict.fromkeys(KEYS) | dict(run.summary)
    last = run.evaluations[-1] if run.evaluations else {}
    totals = {axis: float(values[-1]) for axis, values in data.totals.items()}
    took_part = run.participation if data.edge_rounds else None
    return {
        "accuracy": last.get("accuracy"),
        "best_accuracy": last.get("best_accuracy"),
        "best_round": last.get("best_round"),
        "loss": last.get("loss"),
        "rounds": len(run.rounds),
        "time_s": totals.get("seconds"),
        "energy_j": totals.get("joules"),
        "bits": totals.get("bits"),
        "uses": totals.get("uses"),
        "wall_s": float(np.sum([row["wall_s"] for row in run.rounds])),
        "clients": None if took_part is None else float(took_part.active.sum(axis=1).mean()),
        "arrived": None if took_part is None else float(took_part.arrived.sum(axis=1).mean()),
    }


def badge(status: str) -> Html:
    """The status with a sign and a colour."""
    kind, sign, _ = STATES.get(status, ("bad", "?", ""))
    return tag("span", tag("span", f"{sign} ", aria_hidden="true"), status, class_=f"badge {kind}")


def warning(data: RunData, where: str) -> Html | None:
    """The warning about a run that is not complete; ``where`` is the run folder for the command line."""
    template = STATES.get(data.run.status, ("", "", "The status of this run is unknown to this version."))[2]
    if not template:
        return None
    message = template.format(done=len(data.run.rounds), all=data.run.spec.rounds)
    resumable = data.run.status in ("interrupted", "unfinished", "failed")
    resume = [paragraph("Go on with it:"), command(f"fedradio resume {where}")] if resumable else []
    inside = [paragraph(message), *resume]
    return tag("div", *inside, class_="warning", role="note")


def cards(items: Mapping[str, tuple[Piece, Piece]]) -> Html:
    """Cards with numbers in large print: ``name -> (value, more)``."""
    listed = [
        tag("div", tag("dt", name), tag("dd", tag("span", value, class_="value"), tag("span", more, class_="more")))
        for name, (value, more) in items.items()
    ]
    return tag("dl", join(listed), class_="cards")


def headline(data: RunData) -> Html:
    """The cards of a run; a dash is a quantity that no part defines."""
    numbers = facts(data)
    items: dict[str, tuple[Piece, Piece]] = {
        "Accuracy": (percent(numbers["accuracy"]), _loss(numbers)),
        "Best accuracy": (percent(numbers["best_accuracy"]), _best(numbers)),
        "Rounds": (count(numbers["rounds"]), f"of {data.run.spec.rounds:,}; {data.edge_rounds:,} edge rounds"),
        "Simulated time": (seconds(numbers["time_s"]), _each(numbers, "time_s")),
        "Energy": (quantity(numbers["energy_j"], "J"), _each(numbers, "energy_j")),
        "Uplink": _uplink(numbers),
        "Clients": (count(numbers["clients"]), _clients(data, numbers)),
        "Wall time": (seconds(numbers["wall_s"]), "on the machine that ran it"),
    }
    return cards(items)


def _loss(numbers: Mapping[str, Any]) -> Piece:
    return None if numbers["loss"] is None else f"test loss {number(numbers['loss'])}"


def _best(numbers: Mapping[str, Any]) -> Piece:
    return None if numbers["best_round"] is None else f"after round {numbers['best_round']}"


def _each(numbers: Mapping[str, Any], key: str) -> Piece:
    if numbers[key] is None or not numbers["rounds"]:
        return None
    each = numbers[key] / numbers["rounds"]
    return f"{seconds(each) if key == 'time_s' else quantity(each, 'J')} a round"


def _uplink(numbers: Mapping[str, Any]) -> tuple[Piece, Piece]:
    if numbers.get("uses") is not None:
        return count(numbers["uses"]), "channel uses" + (
            "" if numbers["bits"] is None else f", {quantity(numbers['bits'], 'bit')} beside"
        )
    hops = [value for value in numbers.get("hop_bits") or [] if value is not None]
    more = f"{quantity(hops[0], 'bit')} access, {quantity(hops[1], 'bit')} backhaul" if len(hops) == 2 else None
    return quantity(numbers["bits"], "bit"), more


def _clients(data: RunData, numbers: Mapping[str, Any]) -> str:
    text = f"of {data.clients:,} took part in an edge round, on average"
    if numbers["arrived"] is not None and numbers["arrived"] < numbers["clients"]:
        text += f"; {count(numbers['arrived'])} arrived"
    return text
