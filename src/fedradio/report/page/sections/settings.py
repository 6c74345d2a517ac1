"""Section of a run's page: every part with its values, units and meaning."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fedradio.core.registry import FAMILIES, PART_LISTS
from fedradio.report.page.html import DASH, Html, Piece, paragraph, section, table, tag
from fedradio.report.page.numbers import seconds, value_words
from fedradio.spec.yaml import Plain

RADIO = ("link", "policy", "channel", "fleet")
"""Parts of a hop."""

ABSENT = {
    "channel": "none; the link needs no channel",
    "fleet": "none; the time and energy of computing and sending are undefined",
}

LEARNING = ("model", "rule", "schedule", "algorithm")

HEAD = ("keyword", "value", "unit", "meaning")


def settings(plain: Mapping[str, Any], description: Plain) -> Html:
    """The parts of each hop, and every value of every part; ``description`` says what they mean."""
    hops, data = plain["hops"], plain["data"]
    parts, keys = description.get("parts", {}), description.get("keys", {})
    hop_keys, data_keys, spec_keys = (keys.get(name, {}) for name in ("hop", "data", "spec"))
    data_rows = [row for family in ("source", "partition", "stream") for row in _rows(family, data[family], parts)]
    learning = [row for family in LEARNING for row in _rows(family, plain[family], parts)]
    learning += _start(description.get("start"))
    return section(
        "settings",
        "Settings",
        _overview(hops),
        paragraph("All values, including defaults:", class_="screen"),
        *(
            _block(f"Hop {number}, {_between(number, len(hops))}", _hop(hop, parts, hop_keys))
            for number, hop in enumerate(hops)
        ),
        _block("Network and frame", [*_rows("topology", plain["topology"], parts), *_frame(plain, spec_keys)]),
        _block("Data", data_rows + _frame(data, data_keys)),
        _block("Learning", learning + _listed(plain, parts, spec_keys)),
        None if plain.get("cache") is None else _block("Cache", _cache(plain["cache"], parts, keys.get("cache", {}))),
    )


def _start(given: Plain | None) -> list[list[Piece]]:
    """A row on start values of the model that no seed draws."""
    if given is None:
        return []
    meaning = f"values that the model starts from, not drawn from the seed: {given['reason']}"
    return [[tag("strong", "start"), f"as given, sha256 {given['sha256'][:12]}", None, meaning]]


def _cache(cache: Mapping[str, Any], parts: Plain, keys: Plain) -> list[list[Piece]]:
    return _listed(cache, parts, keys) + _frame(cache, keys)


def _overview(hops: Sequence[Mapping[str, Any]]) -> Html:
    """One column per hop."""
    head = ["", *(f"Hop {number}, {_between(number, len(hops))}" for number in range(len(hops)))]
    rows: list[list[Piece]] = [
        [family, *(DASH if hop[family] is None else str(hop[family]["kind"]) for hop in hops)] for family in RADIO
    ]
    rows.append(["period", *(value_words(hop["period"]) for hop in hops)])
    rows.append(["deadline", *(DASH if hop["deadline_s"] is None else seconds(hop["deadline_s"]) for hop in hops)])
    return table("Parts of each hop", head, rows, numbers=False)


def _between(number: int, hops: int) -> str:
    """The two tiers that a hop connects."""
    names = ["clients", *(["edges"] if hops == 2 else [f"tier {tier}" for tier in range(1, hops)]), "server"]
    return f"{names[number]} to {names[number + 1]}"


def _hop(hop: Mapping[str, Any], parts: Plain, keys: Plain) -> list[list[Piece]]:
    radio = [row for family in RADIO for row in _rows(family, hop[family], parts)]
    return radio + _listed(hop, parts, keys) + _frame(hop, keys)


def _frame(values: Mapping[str, Any], meanings: Plain) -> list[list[Piece]]:
    """Keys that are not parts, with their meanings."""
    plain = [key for key in values if key not in (*FAMILIES, *PART_LISTS, "name", "about", "hops", "data", "cache")]
    unit = {"deadline_s": "s"}
    return [[key, value_words(values[key]), unit.get(key), meanings.get(key)] for key in plain]


def _listed(values: Mapping[str, Any], parts: Plain, meanings: Plain) -> list[list[Piece]]:
    """Lists of parts, in order; an empty list is one line without values."""
    rows: list[list[Piece]] = []
    for key in (key for key in values if key in PART_LISTS):
        rows += [row for item in values[key] for row in _rows(PART_LISTS[key], item, parts)]
        rows += [] if values[key] else [[tag("strong", key), DASH, None, meanings.get(key)]]
    return rows


def _block(title: str, rows: list[list[Piece]]) -> Html:
    inner = table(title, HEAD, rows, numbers=False, shown=False)
    return tag("details", tag("summary", tag("h3", title)), inner, class_="block")


def _rows(family: str, value: Mapping[str, Any] | None, parts: Plain) -> list[list[Piece]]:
    """A part's kind and keywords."""
    if value is None:
        return [[tag("strong", family), DASH, None, ABSENT.get(family, FAMILIES[family])]]
    kind = str(value["kind"])
    part = parts.get(family, {}).get(kind, {})
    summary, keywords = part.get("summary", FAMILIES[family]), part.get("keywords", {})
    rows: list[list[Piece]] = [[tag("strong", family), tag("strong", kind), None, summary]]
    for key, item in value.items():
        if key != "kind":
            meaning = keywords.get(key, {})
            rows.append([key, value_words(item), meaning.get("unit"), meaning.get("doc")])
    return rows
