"""One planned edge round for the terminal: allocation, seconds and joules of every client."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rich.table import Table
from rich.text import Text

from fedradio.core.units import w_to_dbm
from fedradio.report.terminal.words import Cell, plain_table

COLOURS = {"selected": "green", "eligible": "blue", "out": "red"}
"""Colour of clients by their role."""


def _mhz(hz: float) -> str:
    return f"{hz / 1e6:.4g}"


def _dbm(watts: float) -> str:
    return f"{w_to_dbm(watts):.1f}" if watts > 0 else "-inf"


COLUMNS: dict[str, tuple[str, Callable[[Any], str | Text]]] = {
    "distance_m": ("m", "{:.3g}".format),
    "gain_db": ("gain dB", "{:.0f}".format),
    "place": ("status", str),
    "cpu_hz": ("CPU MHz", _mhz),
    "least_cpu_hz": ("lowest CPU MHz", _mhz),
    "most_cpu_hz": ("highest CPU MHz", _mhz),
    "power_w": ("power dBm", _dbm),
    "least_power_w": ("lowest power dBm", _dbm),
    "most_power_w": ("highest power dBm", _dbm),
    "seconds": ("s", "{:.3g}".format),
    "joules": ("J", "{:.3g}".format),
    "waiting_j": ("of it waiting J", "{:.3g}".format),
    "least_cycles_per_bit": ("lowest cycles per bit", "{:.3g}".format),
    "most_cycles_per_bit": ("highest cycles per bit", "{:.3g}".format),
    "least_budget_j": ("lowest budget J", "{:.3g}".format),
    "most_budget_j": ("highest budget J", "{:.3g}".format),
    "planning_ms": ("planning ms", "{:.1f}".format),
}
"""Title and text of the columns of :mod:`fedradio.report.slot_rows`; those of others are their names and values."""


def rows_table(rows: Sequence[Mapping[str, Any]]) -> Table:
    """Rows in SI units as a table, for clients and cells; a client's place and reason are one column."""
    none = {"selected": None, None: None}  # an undefined value is a dash; those who are out have none
    names = [name for name in rows[0] if name != "reason"]
    cells = [
        [
            _place(row)
            if name == "place"
            else none.get(row.get("place"), "")
            if row[name] is None
            else _cell(name, row[name])
            for name in names
        ]
        for row in rows
    ]
    return plain_table([COLUMNS.get(name, (name,))[0] for name in names], cells, left=0, wide=False)


def _place(row: Mapping[str, Any]) -> Text:
    """Whether a client is selected, and why not."""
    return Text((row["reason"] or row["place"]).replace("_", " "), COLOURS[row["place"]])


def columns_table(corner: str, columns: Mapping[str, Mapping[str, Any]]) -> Table:
    """One quantity per row and one column per mode or point, narrow enough for any terminal."""
    names = next(iter(columns.values()))
    rows = [[COLUMNS.get(name, (name,))[0], *(_cell(name, of.get(name)) for of in columns.values())] for name in names]
    return plain_table([corner, *columns], rows, left=1, wide=False)


def _cell(name: str, value: Any) -> Cell:
    if value is None or (isinstance(value, str) and name not in COLUMNS):
        return value
    return COLUMNS[name][1](value) if name in COLUMNS else f"{value:.6g}"
