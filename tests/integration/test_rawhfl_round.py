"""RawHFL's round against its printed equations: (9), (15) and (17) in plain float64, with payloads that are lost."""

from collections.abc import Callable

import pytest
import torch
from support.plain_logistic import plain

from fedradio.core.contracts import ExchangeRecord
from fedradio.rounds.round import begin, run_round
from fedradio.rounds.simulation import Simulation
from fedradio.spec.build import build
from fedradio.spec.spec import Spec

Maker = Callable[..., Spec]

RADIO = (
    "model=logistic",
    "hops.0.link={kind: digital, erasure: 0.3}",
    "hops.0.channel=urban_macro",
    "hops.0.policy={kind: sampling, clients: 2, steps: [1, 3]}",
    "data.partition={kind: dirichlet, alpha: 0.5}",
    "algorithm={kind: fedavg, weighting: equal, normalise: inverse}",
)


def accumulated(sim: Simulation, record: ExchangeRecord, start: torch.Tensor) -> dict[int, torch.Tensor]:
    """Gradients ``g~_u`` summed over a client's local steps (9), from its edge's model ``start [B, d]``."""
    ids, updates = torch.tensor(record.ids), torch.tensor(record.steps)
    rng = sim.rng.child("train", record.t, record.e).child("batches")
    drawn = sim.stream.draw(sim.stream.start(), ids, updates, sim.rule.batch, rng)
    found = {}
    for row, (u, steps) in enumerate(zip(record.ids, record.steps, strict=True)):
        w = start[int(sim.topology.parents[0][u])].clone()
        total = torch.zeros_like(w)
        for j in range(steps):
            picks = drawn.labelled.index[row, j, : int(drawn.labelled.count[row, j])]
            gradient = plain(sim, w, *drawn.fetch(picks))[1]
            total, w = total + gradient, w - sim.rule.lr * gradient
        found[u] = total
    return found


@pytest.mark.parametrize("seed", [3, 4])
def test_a_round_is_17(cells: Maker, seed: int) -> None:
    """Two cells, two edge rounds, two of three clients each, every payload lost with probability .3: p_sc = .7."""
    sim = build(cells(*RADIO, f"seed={seed}"))
    state = begin(sim)
    w = state.memory.shared["w"].double()
    state, _, records = run_round(sim, state, evaluate=False)
    first = [record for record in records if record.hop == 0]
    edge, arrived = sim.topology.parents[0].tolist(), 0
    models, moved = w.repeat(2, 1), [torch.zeros_like(w), torch.zeros_like(w)]
    for record in first:
        sums = accumulated(sim, record, models)
        models = models.clone()
        for u, ok in zip(record.ids, record.arrived, strict=True):
            b = edge[u]
            if ok:  # alpha_u = 1 / selected of the edge
                selected = sum(edge[other] == b for other in record.ids)
                models[b] -= sim.rule.lr * sums[u] / (selected * 0.7)  # (15)
                moved[b] += sums[u] / (selected * 0.7)
                arrived += 1
    assert 0 < arrived < sum(len(record.ids) for record in first)  # some were lost, some were not
    wanted = w - sim.rule.lr * (0.5 * moved[0] + 0.5 * moved[1])  # (17), cells of equal size
    assert torch.allclose(state.memory.shared["w"].double(), wanted, rtol=0, atol=1e-6)
    assert float((wanted - w).abs().max()) > 1e-3
