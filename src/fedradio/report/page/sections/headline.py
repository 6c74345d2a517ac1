"""The first numbers of a run's page, and what people must know about its state."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from fedradio.report.page.html import Html, Piece, command, join, paragraph, tag
from fedradio.report.page.numbers import count, number, percent, quantity, seconds
from fedradio.report.page.run_data import Reading

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
"""How good each status is, its sign, and its warning."""


KEYS = (
    *("accuracy", "best_accuracy", "best_round", "loss", "rounds", "clients", "arrived"),
    *("time_s", "energy_j", "bits", "uses", "wall_s"),
)
"""What the page reads of a summary; those of earlier versions may lack some."""


def facts(data: Reading) -> Mapping[str, Any]:
    """The run's summary; of a run without one, the same numbers as far as its records tell."""
    run = data.run
    if run.summary is not None:
        return dict.fromkeys(KEYS) | dict(run.summary)
    last = run.evaluations[-1] if run.evaluations else {}
    totals = {axis: float(values[-1]) for axis, values in data.totals.items()}
    seen = run.participation if data.edge_rounds else None
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
        "clients": None if seen is None else float(seen.active.sum(axis=1).mean()),
        "arrived": None if seen is None else float(seen.arrived.sum(axis=1).mean()),
    }


def badge(status: str) -> Html:
    """The status as a word with a sign and a colour."""
    kind, sign, _ = STATES.get(status, ("bad", "?", ""))
    return tag("span", tag("span", f"{sign} ", aria_hidden="true"), status, class_=f"badge {kind}")


def warning(data: Reading, where: str) -> Html | None:
    """What people must know before they read on; ``where`` is the run folder for the command line."""
    words = STATES.get(data.run.status, ("", "", "The status of this run is unknown to this version."))[2]
    if not words:
        return None
    told = words.format(done=len(data.run.rounds), all=data.run.spec.rounds)
    again = data.run.status in ("interrupted", "unfinished", "failed")
    inside = [paragraph(told)] + ([paragraph("Go on with it:"), command(f"fedradio resume {where}")] if again else [])
    return tag("div", *inside, class_="warning", role="note")


def cards(items: Mapping[str, tuple[Piece, Piece]]) -> Html:
    """Numbers in large print: ``name -> (value, more)``."""
    found = [
        tag("div", tag("dt", name), tag("dd", tag("span", value, class_="value"), tag("span", more, class_="more")))
        for name, (value, more) in items.items()
    ]
    return tag("dl", join(found), class_="cards")


def headline(data: Reading) -> Html:
    """The numbers that sum the run up; a dash is a quantity that no part defines."""
    found = facts(data)
    items: dict[str, tuple[Piece, Piece]] = {
        "Accuracy": (percent(found["accuracy"]), _loss(found)),
        "Best accuracy": (percent(found["best_accuracy"]), _best(found)),
        "Rounds": (count(found["rounds"]), f"of {data.run.spec.rounds:,}; {data.edge_rounds:,} edge rounds"),
        "Simulated time": (seconds(found["time_s"]), _each(found, "time_s")),
        "Energy": (quantity(found["energy_j"], "J"), _each(found, "energy_j")),
        "Uplink": _uplink(found),
        "Clients": (count(found["clients"]), _clients(data, found)),
        "Wall time": (seconds(found["wall_s"]), "on the machine that ran it"),
    }
    return cards(items)


def _loss(found: Mapping[str, Any]) -> Piece:
    return None if found["loss"] is None else f"test loss {number(found['loss'])}"


def _best(found: Mapping[str, Any]) -> Piece:
    return None if found["best_round"] is None else f"after round {found['best_round']}"


def _each(found: Mapping[str, Any], key: str) -> Piece:
    if found[key] is None or not found["rounds"]:
        return None
    each = found[key] / found["rounds"]
    return f"{seconds(each) if key == 'time_s' else quantity(each, 'J')} a round"


def _uplink(found: Mapping[str, Any]) -> tuple[Piece, Piece]:
    if found.get("uses") is not None:
        return count(found["uses"]), "channel uses" + (
            "" if found["bits"] is None else f", {quantity(found['bits'], 'bit')} beside"
        )
    hops = [value for value in found.get("hop_bits") or [] if value is not None]
    more = f"{quantity(hops[0], 'bit')} access, {quantity(hops[1], 'bit')} backhaul" if len(hops) == 2 else None
    return quantity(found["bits"], "bit"), more


def _clients(data: Reading, found: Mapping[str, Any]) -> str:
    words = f"of {data.clients:,} took part in an edge round, on average"
    if found["arrived"] is not None and found["arrived"] < found["clients"]:
        words += f"; {count(found['arrived'])} arrived"
    return words
