"""Arrays of one's own in a run: three kinds of wine, told by thirteen chemical measures.

The arrays are a source of their own; ``wine.csv``, which this writes, is the same table for the source ``csv``. Both
runs give the same bits. Run it with ``python examples/own_data.py``.
"""

from __future__ import annotations

import csv
from pathlib import Path

from sklearn.datasets import load_wine

from fedradio import Rng, Samples, load_spec, register, run


@register("source", "wine")
def wine(clients: int, rng: Rng, /) -> Samples:
    """178 wines of three kinds; the test part is drawn from the seed."""
    x, y = load_wine(return_X_y=True)
    return Samples.from_arrays(x, y, rng=rng, standardise=True)


def write_table(path: Path) -> None:
    """The same as a CSV file: a column a measure, and the kind as a number."""
    data = load_wine()
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow([*data.feature_names, "kind"])
        writer.writerows([*row, label] for row, label in zip(data.data.tolist(), data.target.tolist(), strict=True))


def main() -> None:
    write_table(Path("wine.csv"))
    for source in ("wine", "{kind: csv, path: wine.csv, label: kind}"):
        spec = load_spec("digits_flat", [f"data.source={source}", "data.partition=iid", "rounds=10"])
        print(f"{source:<42} accuracy {run(spec).accuracy:.3f}")


if __name__ == "__main__":
    main()
