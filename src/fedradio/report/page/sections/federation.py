"""Planned and measured times of the real devices of a federation."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Sequence

from fedradio.core.units import show, show_seconds
from fedradio.report.page.html import DASH, Html, paragraph, section, table
from fedradio.results.digest import DeviceTimes
from fedradio.results.run import Run

NONE = "none"
"""The reason recorded for an upload that counts."""

HEAD = (
    "client",
    "planned",
    "measured",
    "slower",
    "training",
    "planned energy",
    "sent",
    "uploads that counted",
    "others",
)


def federation(run: Run) -> Html:
    """The section of a federation: one row per device, with medians over its uploads."""
    says = (
        "Planned values are the time and energy that an upload would take with the spec's radio and devices. Measured "
        "values are the seconds from the server's request to the real device's reply, including training. The energy "
        "of real devices is not measured. All values are medians over uploads."
    )
    rows = [_row(client, times) for client, times in sorted(run.digest.devices.items())]
    return section("federation", "Federation", paragraph(says), table("Real devices", HEAD, rows))


def _row(client: int, times: DeviceTimes) -> list[str]:
    planned, measured = median(times.planned_s), median(times.measured_s)
    slower = DASH if not planned or measured is None else f"{measured / planned:.3g} times"
    others = Counter(reason for reason in times.why if reason != NONE)
    return [
        str(client),
        show_seconds(planned),
        show_seconds(measured),
        slower,
        show_seconds(median(times.train_s)),
        show(median(times.planned_j), "J"),
        show(median(times.wire_bits), "bit"),
        f"{times.why.count(NONE)} of {len(times.why)}",
        ", ".join(f"{count} {name}" for name, count in sorted(others.items())) or DASH,
    ]


def median(values: Sequence[float]) -> float | None:
    """The median; None of no values."""
    return float(statistics.median(values)) if values else None
