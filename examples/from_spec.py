"""Specs from Python: load, override, run, and read the records back.

Three algorithms see the same world (one seed), so that their curves can be compared round by round.
Run it with ``python examples/from_spec.py``.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from fedradio import EvaluationRecord, RoundRecord, load_spec, read_records, read_summary, run

ALGORITHMS = {
    "fedavg": "algorithm=fedavg",
    "fedprox": "algorithm={kind: fedprox, mu: 0.1}",
    "scaffold": "algorithm=scaffold",
}
TARGET = 0.8


def accuracies(folder: Path) -> list[float]:
    """The test accuracy after every evaluated round."""
    return [record.metrics["accuracy"] for record in read_records(folder, EvaluationRecord)]


def uplink_bits(folder: Path) -> list[float]:
    """Bits sent in every round, over all hops."""
    return [sum(bits or 0.0 for bits in record.bits) for record in read_records(folder, RoundRecord)]


def report(name: str, folder: Path) -> None:
    curve, bits, summary = accuracies(folder), uplink_bits(folder), read_summary(folder)
    reached = next((t for t, accuracy in enumerate(curve) if accuracy >= TARGET), None)
    cost = "never" if reached is None else f"round {reached + 1} after {sum(bits[: reached + 1]) / 1e6:.1f} Mbit"
    print(f"{name:<9} final {summary['accuracy']:.3f}  best {summary['best_accuracy']:.3f}  {TARGET:.0%}: {cost}")


def main() -> None:
    with TemporaryDirectory() as home:
        for name, algorithm in ALGORITHMS.items():
            spec = load_spec("digits_flat", [algorithm, f"name={name}", "rounds=25"])
            folder = Path(home) / name
            run(spec, folder)
            report(name, folder)


if __name__ == "__main__":
    main()
