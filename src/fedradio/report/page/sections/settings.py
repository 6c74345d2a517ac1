"""What the run is made of: every part with its values, units and meaning."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fedradio.core.errors import SpecError
from fedradio.core.registry import FAMILIES, Parameter, part
from fedradio.report.page.html import DASH, Html, Piece, paragraph, section, table, tag
from fedradio.report.page.numbers import seconds, value_words
from fedradio.spec.schema import spec_schema

RADIO = ("link", "policy", "channel", "fleet")
"""Parts of a hop."""

ABSENT = {
    "channel": "none: the link needs no channel",
    "fleet": "none: computing and sending take no defined time or energy",
}

LEARNING = ("model", "rule", "schedule", "algorithm")

HEAD = ("keyword", "value", "unit", "meaning")


def settings(plain: Mapping[str, Any]) -> Html:
    """What each hop has, and every value of every part."""
    hops = plain["hops"]
    data = plain["data"]
    data_rows = [row for family in ("source", "partition", "stream") for row in _rows(family, data[family])]
    learning = [row for family in LEARNING for row in _rows(family, plain[family])]
    return section(
        "settings",
        "Settings",
        _overview(hops),
        paragraph("All values, defaults included:", class_="screen"),
        *(_block(f"Hop {number}, {_between(number, len(hops))}", _hop(hop)) for number, hop in enumerate(hops)),
        _block("Network and frame", [*_rows("topology", plain["topology"]), *_frame(plain, spec_schema())]),
        _block("Data", data_rows + _frame(data, _inner("data"))),
        _block("Learning", learning),
    )


def _overview(hops: Sequence[Mapping[str, Any]]) -> Html:
    """One column a hop."""
    head = ["", *(f"Hop {number}, {_between(number, len(hops))}" for number in range(len(hops)))]
    rows: list[list[Piece]] = [
        [family, *(DASH if hop[family] is None else str(hop[family]["kind"]) for hop in hops)] for family in RADIO
    ]
    rows.append(["period", *(value_words(hop["period"]) for hop in hops)])
    rows.append(["deadline", *(DASH if hop["deadline_s"] is None else seconds(hop["deadline_s"]) for hop in hops)])
    return table("What each hop has", head, rows, numbers=False)


def _between(number: int, hops: int) -> str:
    """The two tiers that a hop joins."""
    names = ["clients", *(["edges"] if hops == 2 else [f"tier {tier}" for tier in range(1, hops)]), "server"]
    return f"{names[number]} to {names[number + 1]}"


def _hop(hop: Mapping[str, Any]) -> list[list[Piece]]:
    return [row for family in RADIO for row in _rows(family, hop[family])] + _frame(hop, _inner("hops"))


def _inner(name: str) -> Any:
    """The schema of the data, or of a hop."""
    found = spec_schema().model_fields[name].default
    return type(found[0] if name == "hops" else found)


def _frame(values: Mapping[str, Any], schema: Any) -> list[list[Piece]]:
    """Keys that are no parts, with what the schema says of them."""
    fields = schema.model_fields
    plain = [key for key in values if key not in (*FAMILIES, "name", "about", "hops", "data")]
    unit = {"deadline_s": "s"}
    return [[key, value_words(values[key]), unit.get(key), fields[key].description] for key in plain if key in fields]


def _block(title: str, rows: list[list[Piece]]) -> Html:
    inner = table(title, HEAD, rows, numbers=False, shown=False)
    return tag("details", tag("summary", tag("h3", title)), inner, class_="block")


def _rows(family: str, value: Mapping[str, Any] | None) -> list[list[Piece]]:
    """A part's kind and keywords."""
    if value is None:
        return [[tag("strong", family), DASH, None, ABSENT.get(family, FAMILIES[family])]]
    kind = str(value["kind"])
    known = _parameters(family, kind)
    rows: list[list[Piece]] = [[tag("strong", family), tag("strong", kind), None, _summary(family, kind)]]
    for key, item in value.items():
        if key != "kind":
            arg = known[key].arg if key in known else None
            rows.append([key, value_words(item), arg.unit if arg else None, arg.doc if arg else None])
    return rows


def _parameters(family: str, kind: str) -> dict[str, Parameter]:
    try:
        return {parameter.name: parameter for parameter in part(family, kind).parameters()}
    except SpecError:
        return {}


def _summary(family: str, kind: str) -> str:
    try:
        return part(family, kind).summary.replace("``", "")
    except SpecError:
        return FAMILIES[family]
