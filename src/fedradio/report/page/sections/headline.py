"""The headline numbers of a run's page, and the warning about an incomplete run."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from fedradio.report.floors import floors_text
from fedradio.report.page.html import Html, Piece, command, join, paragraph, tag
from fedradio.report.page.numbers import text_of
from fedradio.results.quantities import QUANTITIES, of_runs
from fedradio.results.quantity import Quantity
from fedradio.results.run import Run

STATES = {
    "complete": ("good", "✓", ""),
    "interrupted": ("fair", "!", "This run was interrupted: the numbers are those after {done} of {all} rounds."),
    "unfinished": (
        "fair",
        "!",
        "This run has no summary: it is still in progress, or its process was killed. "
        "The numbers are those after the {done} of {all} rounds on record.",
    ),
    "diverged": (
        "bad",
        "\N{MULTIPLICATION SIGN}",
        "This run diverged: a loss or a parameter became NaN or infinite after {done} of {all} rounds. The "
        "numbers are those before it diverged. A smaller rule.lr or algorithm rate usually helps.",
    ),
    "damaged": (
        "bad",
        "\N{MULTIPLICATION SIGN}",
        "Files of this run have been changed or damaged, so nothing on this page can be relied on.",
    ),
    "not begun": ("fair", "!", ""),
    "failed": (
        "bad",
        "\N{MULTIPLICATION SIGN}",
        "This run failed after {done} of {all} rounds: the numbers are those up to that point.",
    ),
}
"""Class, sign and warning of every status."""


def badge(status: str) -> Html:
    """The status with a sign and a colour."""
    kind, sign, _ = STATES.get(status, ("bad", "?", ""))
    return tag("span", tag("span", f"{sign} ", aria_hidden="true"), status, class_=f"badge {kind}")


def warning(run: Run, where: str) -> Html | None:
    """The warning about an incomplete run; ``where`` is the run folder for the command line."""
    template = STATES.get(run.status, ("", "", "This version of fedradio does not know the status of this run."))[2]
    if not template:
        return None
    message = template.format(done=len(run.rounds), all=run.spec.rounds)
    damage = [tag("ul", *(tag("li", str(each)) for each in run.damage))] if run.damage else []
    resumable = run.status in ("interrupted", "unfinished", "failed", "damaged")
    doing = "To set these files aside and make their rounds again:" if damage else "To resume it:"
    again = f"fedradio serve SPEC --out {where} --resume" if run.environment.get("federation") else ""
    resume = [paragraph(doing), command(again or f"fedradio resume {where}")] if resumable else []
    inside = [paragraph(message), *damage, *resume]
    return tag("div", *inside, class_="warning", role="note")


def cards(items: Mapping[str, tuple[Piece, Piece]]) -> Html:
    """Cards with numbers in large print: ``name -> (value, more)``."""
    listed = [
        tag("div", tag("dt", name), tag("dd", tag("span", value, class_="value"), tag("span", more, class_="more")))
        for name, (value, more) in items.items()
    ]
    return tag("dl", join(listed), class_="cards")


def headline(run: Run) -> Html:
    """The cards of a run; a dash marks a quantity that no part defines."""
    items: dict[str, tuple[Piece, Piece]] = {}
    for each in of_runs():
        value = each.of(run)
        if each.listed([value]) and (each.per != "evaluation" or each.shown == "variants"):
            items[each.heading] = text_of(each, value), _more(each, value, run)
    return cards(items)


def _more(quantity: Quantity, value: float | None, run: Run) -> Piece:
    """The remark below a number: a specific one, or the mean per round."""
    if quantity.name in MORE:
        return MORE[quantity.name](run)
    rounds = QUANTITIES["rounds"].of(run)
    return f"{quantity.text(value / rounds)} per round" if quantity.axis and value is not None and rounds else None


def _loss(run: Run) -> Piece:
    loss = QUANTITIES["loss"]
    value = loss.of(run)
    return None if value is None else f"{loss.title} {loss.text(value)}"


def _best(run: Run) -> Piece:
    after = QUANTITIES["best_round"].of(run)
    return None if after is None else f"after round {after}"


def _rounds(run: Run) -> Piece:
    return f"of {run.spec.rounds:,}; {run.digest.states.edge_rounds:,} edge rounds"


def _joules(run: Run) -> Piece:
    """The mean per round, and a remark if the devices have no floors."""
    joules, rounds = QUANTITIES["joules"], QUANTITIES["rounds"].of(run)
    value = joules.of(run)
    mean = f"{joules.text(value / rounds)} per round" if value is not None and rounds else ""
    return "; ".join(filter(None, (mean, floors_text(run)))) or None


def _hops(run: Run) -> Piece:
    """Bits per hop, if there are two hops."""
    hops = [bits for bits in (run.summary or {}).get("hop_bits", ()) if bits is not None]
    text = QUANTITIES["bits"].text
    return f"{text(hops[0])} access, {text(hops[1])} backhaul" if len(hops) == 2 else None


def _clients(run: Run) -> Piece:
    clients, arrived = (QUANTITIES[name].text(QUANTITIES[name].of(run)) for name in ("clients", "arrived"))
    more = f"; {arrived} arrived" if arrived != clients else ""
    return f"of {run.clients:,} took part per edge round, on average{more}"


MORE: dict[str, Callable[[Run], Piece]] = {
    "accuracy": _loss,
    "best_accuracy": _best,
    "rmse": _loss,
    "best_rmse": _best,
    "rounds": _rounds,
    "joules": _joules,
    "bits": _hops,
    "clients": _clients,
    "wall_s": lambda _: "on the machine that ran it",
    "planned_s": lambda _: "by the spec's radio; median over the devices' uploads",
    "measured_s": lambda _: "from request to reply; median over the devices' uploads",
    "planned_j": lambda _: "median; energy is not measured",
}
"""The remark below a number, by the name of its quantity."""
