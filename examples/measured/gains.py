"""From a measurement to gains: reference signal powers of a drive test, as the channel ``trace`` reads them.

A phone reports the power of the reference signal that it hears (RSRP, dBm); the base station sends it with a known
power. Their difference is the power gain of the pair in dB. Run it with ``python gains.py`` in this folder.
"""

from __future__ import annotations

import csv
from pathlib import Path

REFERENCE_DBM = 18.0
"""Power of the reference signal, per resource element."""


def main() -> None:
    with Path("measured.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    with Path("gains.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["time_s", "receiver", "sender", "gain_db"])
        for row in rows:
            gain_db = float(row["rsrp_dbm"]) - REFERENCE_DBM
            writer.writerow([row["seconds"], row["cell"], row["device"], f"{gain_db:.1f}"])
    print(f"gains.csv: {len(rows)} gains")


if __name__ == "__main__":
    main()
