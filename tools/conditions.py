"""Makes the table of docs/conditions.md: which theorem's conditions hold in which shipped spec, from diagnoses.

    python tools/conditions.py [SPEC ...]

Every spec of :data:`SPECS`, or those that are named, runs for a few rounds and is diagnosed (some minutes in all).
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch

import fedradio
from fedradio.algorithms.fedavg import is_plain_averaging
from fedradio.engine.gradients import gradient
from fedradio.rounds.simulation import Simulation
from fedradio.theory import fedcpsl, osafl, rawhfl

PAGE = Path(__file__).parents[1] / "docs" / "conditions.md"
BEGIN, END = "<!-- begin: tools/conditions.py -->", "<!-- end -->"
ROUNDS = 3


@dataclass(frozen=True)
class Work:
    """What the conditions ask of a run: learning rate, local updates of all clients that took part, clients per
    exchange."""

    lr: float
    updates: list[int]
    clients: float


@dataclass(frozen=True)
class Condition:
    """A theorem's condition ``value < limit``; with a limit of 0 it is ``value > 0``.

    ``covered``: whether the theorem is about the spec at all.
    """

    theorem: str
    value: float
    limit: float
    covered: bool = True


Theorem = Callable[[Simulation, Work, float], Condition]
"""The tightest condition of a theorem on the learning rate, from a run's work and the smoothness."""


def of_rawhfl(sim: Simulation, work: Work, smoothness: float) -> Condition:
    if not is_plain_averaging(sim.algorithm) or sim.algorithm.server_lr != 1.0:
        raise ValueError("the theorem is about plain averaging")
    printed, _ = rawhfl.rate_limits(smoothness, sim.edge_rounds, max(work.updates))
    return Condition("RawHFL", work.lr, printed)


def of_osafl(sim: Simulation, work: Work, smoothness: float) -> Condition:
    one = torch.ones(1, len(work.updates), dtype=torch.float64)
    rounds = osafl.Rounds(one[0] / one.sum(), torch.tensor([work.updates]), one, one, 0 * one, 0 * one)
    server_lr: float = sim.algorithm.server_lr  # type: ignore[attr-defined]
    printed, _ = osafl.rate_limits(rounds, osafl.Constants(smoothness, 0.0), server_lr)
    ledger = sim.algorithm.ledger
    return Condition("OSAFL", work.lr, printed, covered=ledger is not None and not ledger.literal)


def of_fedcpsl(sim: Simulation, work: Work, smoothness: float) -> Condition:
    effective = sim.rule.effective_steps(torch.tensor(work.updates))
    share = torch.full((sim.topology.clients,), 1 / sim.topology.clients, dtype=torch.float64)
    setting = fedcpsl.Setting(
        clients=sim.topology.clients,
        sampled=round(work.clients),
        lr=work.lr,
        global_lr=sum(work.updates) / len(work.updates),
        own_lr=work.lr,
        pseudo_lr=0.0,
        most=float(effective.max()),
        least=float(effective.min()),
        batch=sim.rule.batch,
        share=share,
        mixture=0 * share,
    )
    conditions = fedcpsl.conditions_34(setting, fedcpsl.Constants(smoothness))
    tightest = min((each for each in conditions if each.equation == "(34)"), key=lambda each: each.limit)
    return Condition("FedCPSL", tightest.value, tightest.limit)


def of_whfl(sim: Simulation, work: Work, smoothness: float) -> Condition:
    """Curvature along a change that all labels share, of the last layer: softmax outputs do not depend on it."""
    data = sim.stream.draw(sim.stream.start(), torch.tensor([0]), torch.tensor([1]), 1000, sim.rng.child("conditions"))
    x, y = data.fetch(data.labelled.index[0, 0])
    row = sim.model.init(sim.rng.child("model")).double()
    move = torch.zeros_like(row)
    *_, weight, bias = sim.model.shared.views(move).values()
    weight += torch.linspace(-1, 1, weight.shape[1], dtype=torch.float64)
    bias += 1
    bend = gradient(sim.model, row + move, x, y)[1] - gradient(sim.model, row, x, y)[1]
    curvature = float(bend @ move[: len(bend)] / (move @ move))
    return Condition("W-HFL", max(round(curvature, 12), 0.0), 0.0)


SPECS: dict[str, Theorem] = {
    "demo": of_rawhfl,
    "digits_flat": of_rawhfl,
    "digits_central": of_rawhfl,
    "rawhfl": of_rawhfl,
    "rawhfl/quick/fedavg_ub": of_rawhfl,
    "osafl": of_osafl,
    "osafl/quick/afa_cd": of_osafl,
    "fedcpsl": of_fedcpsl,
    "whfl": of_whfl,
}
"""Shipped specs that need no download, and the theorem that is about their algorithm."""


def row(name: str, theorem: Theorem, folder: Path) -> list[str]:
    """Run a spec, diagnose it, and put its numbers against the condition."""
    run = fedradio.run(name, folder, rounds=ROUNDS)
    found = fedradio.diagnose(folder, ROUNDS).rounds
    smoothness = max(each.client_smoothness or 0.0 for each in found)
    sim = fedradio.build(run.spec)
    records = [record for record in run.records(fedradio.ExchangeRecord) if record.hop == 0 and record.ids]
    updates = [steps * sim.rule.updates_per_step for record in records for steps in record.steps if steps]
    work = Work(sim.rule.rates(0, 1)[0], updates, sum(len(record.ids) for record in records) / len(records))
    condition = theorem(sim, work, smoothness)
    fails = "holds" if condition.value > condition.limit else "fails"
    if condition.limit:
        fails = f"{float(f'{condition.value / condition.limit:.2g}'):g}"
    fails += "" if condition.covered else " (not covered)"
    limit = f"{condition.limit:.2g}" if condition.limit else "above 0"
    return [f"`{name}`", condition.theorem, f"{smoothness:.2g}", f"{condition.value:.2g}", limit, fails]


def table(rows: dict[str, list[str]]) -> str:
    """The rows that are known, in the order of :data:`SPECS`."""
    head = ["spec", "theorem", "smoothness", "run", "limit", "factor"]
    lines = [head, ["---"] * len(head), *(rows[name] for name in SPECS if name in rows)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def shown(text: str) -> dict[str, list[str]]:
    """The rows of a table by their spec."""
    lines = [line.strip("|").split("|") for line in text.splitlines() if line.startswith("| `")]
    return {cells[0].strip(" `"): [cell.strip() for cell in cells] for cells in lines}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("specs", nargs="*", metavar="SPEC", help="make only these rows again")
    before, rest = PAGE.read_text(encoding="utf-8").split(BEGIN)
    inside, after = rest.split(END)
    rows = shown(inside)
    for name in parser.parse_args().specs or SPECS:
        with tempfile.TemporaryDirectory() as folder:
            rows[name] = row(name, SPECS[name], Path(folder) / "run")
        print(*rows[name], flush=True)
        PAGE.write_text(f"{before}{BEGIN}\n\n{table(rows)}\n\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
