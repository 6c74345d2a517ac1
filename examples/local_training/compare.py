"""Do losses, sharpness-aware updates and personal layers help? Paired comparisons with plain FedAvg.

Every spec of this folder runs on the same seeds as the same spec without its one feature: same world, same
mini-batches. The table has the means at the end and the paired difference with its 95 % confidence interval
(Student's t). Finished runs are not repeated.

Run: python examples/local_training/compare.py --seeds 5    (some CPU minutes)
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

from fedradio import Run, load_spec, open_run, paired, run

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Case:
    """A spec, the changes that make it ``plain`` FedAvg on the same world, those of its ``rival`` (none: the spec as it
    is), and those of ``both``."""

    spec: str
    plain: tuple[str, ...] = ()
    rival: tuple[str, ...] = ()
    both: tuple[str, ...] = ()


FEW = ("hops.0.policy={kind: sampling, clients: 5, epochs: 1}",)
CASES = {
    "moon": Case("moon", ("loss=null",)),
    "distil": Case("distil", ("loss=null",)),
    "fedsam": Case("fedsam", ("rule.sharpness=0",)),
    "fedper": Case("fedper", ("personal=[]",)),
    "fedper, 5 of 20": Case("fedper", ("personal=[]",), both=FEW),
    "fedrep": Case("fedrep", ("personal=[]", "rule.personal_steps=0")),
    "regression: scaffold": Case("regression", rival=("algorithm=scaffold",)),
}


def finished(spec: str, changes: tuple[str, ...], folder: Path) -> Run:
    """The run of a spec with these changes, from its folder if it is there."""
    if (folder / "summary.json").exists():
        return open_run(folder)
    return run(load_spec(HERE / f"{spec}.yaml", list(changes)), folder)


def row(name: str, seeds: int, rounds: int | None, out: Path) -> str:
    """Line of the table for one case."""
    case, unit = CASES[name], "%"
    values: list[dict[int, float]] = []
    for label, changes in (("plain", case.plain), ("with", case.rival)):
        scores = {}
        for seed in range(1, seeds + 1):
            more = (f"seed={seed}", *((f"rounds={rounds}",) if rounds else ()))
            made = finished(case.spec, (*case.both, *changes, *more), out / f"{name}-{label}-{seed}")
            unit = "RMSE" if made.accuracy is None else "%"
            score = made.rmse if made.accuracy is None else 100 * made.accuracy
            assert score is not None
            scores[seed] = score
        values.append(scores)
    plain, other = values
    difference = paired(other, plain)
    assert difference is not None
    spread = "" if difference.half is None else f" ± {difference.half:.3g}"
    means = (f"{sum(each.values()) / len(each):.4g}" for each in (plain, other))
    return f"| {name} | {' | '.join(means)} | {difference.mean:+.3g}{spread} | {unit} |"


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="*", default=list(CASES), help="cases of the table")
    parser.add_argument("--seeds", type=int, default=5, help="number of seeds, from 1")
    parser.add_argument("--rounds", type=int, default=None, help="default: as in the specs")
    parser.add_argument("--out", type=Path, default=Path("local_training"), help="folder of the runs")
    options = parser.parse_args(arguments)
    print("| case | plain FedAvg | with it | difference | |\n|---|---|---|---|---|")
    for name in options.only:
        print(row(name, options.seeds, options.rounds, options.out), flush=True)


if __name__ == "__main__":
    main()
