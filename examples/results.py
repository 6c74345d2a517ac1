"""Results in Python: a run, a sweep, their tables and figures, and a run that was composed from parts.

Run it with ``python examples/results.py``; the tables need pandas (``pip install 'fedradio[pandas]'``).
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import fedradio


def one_run(home: Path) -> None:
    """A run with its folder; the words are those of the command line."""
    run = fedradio.run("demo", home / "demo", changes=["rule.lr=0.05"], rounds=10, seed=2)
    print(run)
    table = run.to_pandas()  # one row an evaluation, with what had been spent by then
    print(table[["rounds", "accuracy", "joules", "bits"]].tail(2).to_string(index=False))
    run.plot("accuracy", against="joules").savefig(home / "accuracy.pdf")


def many_runs(home: Path) -> None:
    """Two algorithms on the same two seeds, and their means."""
    sweep = fedradio.sweep("demo", ["algorithm=fedavg,scaffold"], seeds=2, rounds=5, out=home / "sweep")
    print(sweep)
    means = sweep.to_pandas("variants")
    print(means[["label", "accuracy", "accuracy_low", "accuracy_high"]].round(3).to_string(index=False))
    for outcome in sweep.failed:  # none here
        print(outcome.task.label, outcome.status, outcome.error)
    sweep.plot(against="bits").savefig(home / "sweep.pdf")


def read_again(home: Path) -> None:
    """Folders are read later, by whoever has them."""
    run, sweep = fedradio.open_run(home / "demo"), fedradio.open_sweep(home / "sweep")
    print(f"{run.name}: {run.accuracy:.3f}; sweep: {', '.join(row.label for row in sweep.variants)}")


def main() -> None:
    with TemporaryDirectory() as home:
        for step in (one_run, many_runs, read_again):
            step(Path(home))


if __name__ == "__main__":
    main()
