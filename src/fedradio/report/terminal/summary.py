"""The header of a run before it starts, and its summary at the end, for the terminal."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.table import Table
from rich.text import Text

from fedradio.report.floors import floors_text
from fedradio.report.terminal.words import plain_table
from fedradio.results.quantities import QUANTITIES, entry, of_runs
from fedradio.results.quantity import Quantity
from fedradio.results.run import CACHE_METRICS, Run
from fedradio.spec.spec import Spec

if TYPE_CHECKING:
    from fedradio.core.contracts import Model
    from fedradio.rounds.simulation import Simulation
    from fedradio.runs.summary import Summary


def simulation_lines(sim: Simulation, spec: Spec) -> list[str]:
    """One line each on the network, the policies, the model and the learning of a run."""
    topology = sim.topology
    tiers = " -> ".join(
        f"{len(positions)} {name}" for positions, name in zip(topology.positions, _tier_names(sim), strict=True)
    )
    kinds = ", ".join(hop["link"]["kind"] for hop in spec.plain["hops"][: len(sim.hops)])
    periods = " x ".join(str(hop.period) for hop in reversed(sim.hops))
    network = f"{tiers}; links: {kinds}; exchanges per round: {periods}"
    return [
        f"network   {'none, all data in one place' if sim.pooled else network}",
        *_policy_lines(spec.plain["hops"][: len(sim.hops)]),
        f"model     {sim.model.shared.size:,} shared parameters" + _norms_text(sim.model),
        *_start_lines(sim.model),
        f"learning  {spec.plain['algorithm']['kind']}, {sim.rule.optimiser}, rate {sim.rule.lr:g}, "
        f"batch {sim.rule.batch}",
    ]


def _policy_lines(hops: Sequence[Mapping[str, Any]]) -> list[str]:
    """A line on the policies of all hops if one of them has modes, such as the exact optimum and the paper's policy."""
    used = [hop["policy"] for hop in hops]
    if not any("mode" in policy for policy in used):
        return []
    texts = [policy["kind"] + (f", mode {policy['mode']}" if "mode" in policy else "") for policy in used]
    return [f"policy    {'; '.join(texts)}"]


def _start_lines(model: Model) -> list[str]:
    """A line on start values that the seed does not draw; none where it does."""
    given = getattr(model, "given_start", None)
    return [] if given is None else [f"start     values as given, sha256 {given.sha256[:12]} ({given.reason})"]


def _norms_text(model: Model) -> str:
    """How many numbers the norm layers have, whether they are sent, and how many parameters are frozen."""
    norms = model.local.size + model.buffers.size
    where = "in norm layers, sent separately" if model.norms == "shared" else "local"
    frozen = getattr(model, "frozen", 0)
    return (f" and {norms:,} {where}" if norms else "") + (f"; {frozen:,} frozen" if frozen else "")


def summary_table(run: Run) -> Table:
    """The headline numbers of a run; a dash marks a quantity that no part defines."""
    rows = []
    for each in _quantities(run):
        value = each.of(run)
        if each.listed([value]):
            more = MORE[each.name](run) if each.name in MORE and value is not None else ""
            rows.append((each.title, each.text(value) + more))
    rows.append(("seed", str(run.spec.seed)))
    if run.spec.plain.get("world_seed") is not None:
        rows.append(("world seed", str(run.spec.world_seed)))
    return plain_table(("", ""), [(Text(title, style="bold"), text) for title, text in rows])


def participation_warning(summary: Summary) -> str | None:
    """A warning about a run whose model never changed, because nobody took part or nothing arrived; else None."""
    if summary.clients == 0:
        return "no client took part in any round, so nothing was learnt; a longer deadline_s or more energy may help"
    if summary.arrived == 0:
        return "no update from any client arrived, so nothing was learnt; a longer deadline_s or more power may help"
    return None


def _quantities(run: Run) -> list[Quantity]:
    """The quantities shown for a run: metrics of its summary, further metrics as evaluated, and costs."""
    first = [each for each in of_runs() if each.per == "evaluation" and each.field]
    known = {*CACHE_METRICS, *(each.name for each in first)}  # caches have a table of their own
    further = [entry(name) for name in run.last if name not in known]
    return [*first, *further, *(each for each in of_runs() if each.per != "evaluation")]


def _best(run: Run) -> str:
    return f" (round {_text(run, 'best_round')})"


def _each_round(run: Run) -> str:
    """Average energy per round, and a remark if the devices have no floors."""
    joules, rounds = QUANTITIES["joules"], QUANTITIES["rounds"].of(run)
    mean = f"{joules.text((joules.of(run) or 0.0) / rounds)} per round" if rounds else ""
    more = "; ".join(filter(None, (mean, floors_text(run))))
    return f" ({more})" if more else ""


def _hops(run: Run) -> str:
    """Bits per hop, if there are two hops."""
    hops = [QUANTITIES["bits"].text(bits) for bits in (run.summary or {}).get("hop_bits", ())]
    return f" ({hops[0]} access, {hops[1]} backhaul)" if len(hops) == 2 else ""


def _clients(run: Run) -> str:
    """Average numbers of clients per edge round that arrived (if fewer took part successfully) and were eligible."""
    clients, arrived = _text(run, "clients"), _text(run, "arrived")
    more = f", {arrived} arrived" if arrived != clients else ""
    eligible = QUANTITIES["eligible"].of(run)
    return f" per edge round{more}" + ("" if eligible is None else f", {_text(run, 'eligible')} eligible")


def _overhead(run: Run) -> str:
    """The share of the wall time spent on checkpoints."""
    wall_s, checkpoint_s = ((run.summary or {}).get(name) for name in ("wall_s", "checkpoint_s"))
    if not wall_s or checkpoint_s is None:
        return ""
    return f" ({100 * checkpoint_s / wall_s:.2g} % of it on checkpoints)"


def _text(run: Run, name: str) -> str:
    return QUANTITIES[name].text(QUANTITIES[name].of(run))


MORE: dict[str, Callable[[Run], str]] = {
    "best_accuracy": _best,
    "best_rmse": _best,
    "joules": _each_round,
    "bits": _hops,
    "clients": _clients,
    "wall_s": _overhead,
}
"""The remark after a number, by the name of its quantity."""


def _tier_names(sim: Simulation) -> list[str]:
    middle = len(sim.topology.positions) - 2
    between = ["edges"] if middle == 1 else [f"tier-{i + 1} nodes" for i in range(middle)]
    return ["clients", *between, "server"]
