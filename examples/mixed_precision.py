"""What does ``precision: bf16`` cost in accuracy, and what does it save? A paired study.

Every spec is run with both precisions on the same seeds: same world, same mini-batches, same channels. The two
simulations take turns round by round, so that other work on the machine slows both alike. Both are evaluated after
every ``--every`` rounds; the CPU seconds are those of the other rounds, which only train. Runs that are in the file of
``--out`` already are not repeated, so the study can be interrupted.

Run: python examples/mixed_precision.py --seeds 1 --rounds 3    (a few CPU minutes; all seeds and 20 rounds: an hour;
needs ``fedradio data fetch cifar10``)
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from statistics import mean, stdev
from typing import Any

from fedradio import begin, build, load_spec, run_round

SPECS = ("whfl/cifar10/iid/i1", "osafl/paper/lstm_k1/osafl")
PRECISIONS = ("float32", "bf16")

Run = dict[str, Any]


def pair(spec: str, seed: int, rounds: int, every: int) -> list[Run]:
    """The run of each precision: accuracies by round, loss at the end, and CPU seconds of a round that only trains."""
    changes = [f"seed={seed}", f"rounds={rounds}"]
    sims = [build(load_spec(spec, [*changes, f"precision={precision}"])) for precision in PRECISIONS]
    states = [begin(sim) for sim in sims]
    runs: list[Run] = [
        {"spec": spec, "seed": seed, "rounds": rounds, "precision": precision, "accuracy": {}, "cpu_s": []}
        for precision in PRECISIONS
    ]
    for t in range(1, rounds + 1):
        scored = t % every == 0 or t == rounds
        for i, sim in enumerate(sims):
            began = time.process_time()
            states[i], record, _ = run_round(sim, states[i], evaluate=scored)
            if scored:
                runs[i]["accuracy"][str(t)] = record.metrics["accuracy"]
                runs[i]["loss"] = record.metrics["loss"]
            elif t > 1:  # the first round also loads libraries
                runs[i]["cpu_s"].append(time.process_time() - began)
        if scored:
            both = ", ".join(
                f"{run['precision']} {run['accuracy'][str(t)]:.4f} (loss {run['loss']:.4f})" for run in runs
            )
            print(f"{spec}, seed {seed}, round {t} of {rounds}: {both}", file=sys.stderr, flush=True)
    return runs


def stored(path: Path) -> list[Run]:
    """The runs in a file, one on each line."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def summary(runs: Iterable[Run]) -> list[str]:
    """A line for every spec: accuracies of both precisions, their paired difference, and the factor of CPU time."""
    lines = []
    known = list(runs)
    for spec in dict.fromkeys(run["spec"] for run in known):
        mine = [run for run in known if run["spec"] == spec]
        last = {p: [run["accuracy"][str(run["rounds"])] for run in mine if run["precision"] == p] for p in PRECISIONS}
        gaps = [other - one for one, other in zip(last["float32"], last["bf16"], strict=True)]
        cpu = {p: [s for run in mine if run["precision"] == p for s in run["cpu_s"]] for p in PRECISIONS}
        spread = f" +- {stdev(gaps):.4f}" if len(gaps) > 1 else ""
        factor = f"{mean(cpu['float32']) / mean(cpu['bf16']):.2f}" if cpu["bf16"] else "not measured"
        means = ", ".join(f"{precision} {mean(values):.4f}" for precision, values in last.items())
        lines.append(
            f"{spec}: {len(gaps)} seed(s), accuracy {means}, difference {mean(gaps):+.4f}{spread}, CPU factor {factor}"
        )
    return lines


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--specs", default=",".join(SPECS), help="specs, separated by commas")
    parser.add_argument("--seeds", type=int, default=3, help="number of seeds, from 1")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--every", type=int, default=5, help="rounds between evaluations")
    parser.add_argument("--out", type=Path, default=Path("mixed_precision.jsonl"), help="file of the runs")
    options = parser.parse_args(arguments)
    for seed in range(1, options.seeds + 1):
        for spec in options.specs.split(","):
            wanted = (spec, seed, options.rounds)
            if wanted in [(run["spec"], run["seed"], run["rounds"]) for run in stored(options.out)]:
                continue
            runs = pair(*wanted, options.every)
            with options.out.open("a") as file:
                file.writelines(json.dumps(run) + "\n" for run in runs)
    done = [run for run in stored(options.out) if run["rounds"] == options.rounds]
    print(*summary(done), sep="\n")


if __name__ == "__main__":
    main()
