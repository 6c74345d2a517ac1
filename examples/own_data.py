"""Your own arrays in a run: three kinds of wine, described by thirteen chemical measurements.

The first run gets the arrays from a source written here, the second one reads the same table with the source ``csv``.
Both give the same bits. Run it with ``python examples/own_data.py``.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from fedradio import Rng, Samples, load_spec, register, run

TABLE = Path(__file__).with_name("wine.csv")
"""One row per wine: thirteen measurements and its kind, 0 to 2."""


@register("source", "wine")
def wine(clients: int, rng: Rng, /) -> Samples:
    """178 wines of three kinds; the test part is drawn from the seed."""
    table = np.loadtxt(TABLE, delimiter=",", skiprows=1)
    return Samples.from_arrays(table[:, :-1], table[:, -1], rng=rng, standardise=True)


def main() -> None:
    for name, source in (("arrays", "wine"), ("file", f"{{kind: csv, path: '{TABLE}', label: kind}}")):
        spec = load_spec("digits_flat", [f"data.source={source}", "data.partition=iid", "rounds=10"])
        print(f"{name:<6} accuracy {run(spec).accuracy:.3f}")


if __name__ == "__main__":
    main()
