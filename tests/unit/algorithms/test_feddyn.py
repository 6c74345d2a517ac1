"""FedDyn: two quadratics by hand, and a run."""

import pytest
import torch
from support.worlds import after, cells, tiny

from fedradio.algorithms.feddyn import feddyn
from fedradio.core.contracts import Clock, Cohort, Delivery, Held, Info, Trained, Work
from fedradio.core.errors import SpecError
from fedradio.core.rng import Rng


def test_two_quadratics_by_hand() -> None:
    """Costs (w - a)^2/2, a = 0 and 4, alpha 1, w = 1: models .5 and 2.5, g = .5 and -1.5, h = -.5, w = 2."""
    algorithm, ids = feddyn(alpha=1.0), torch.tensor([0, 1])
    memory = algorithm.init(torch.ones(1), 2, 1)
    group = torch.zeros(2).long()
    cohort = Cohort(ids, group, {"w": torch.ones(1, 1)}, {"g": torch.zeros(2, 1)}, Clock(0), Rng(0))
    assert algorithm.start(cohort).shift is not None
    trained = Trained(torch.tensor([[-0.5], [1.5]]), None, torch.zeros(2), {})
    one = torch.ones(2)
    work = Work(one, one, one, one)
    payload = algorithm.upload(cohort, trained, work)
    assert algorithm.keep(cohort, trained, work, payload, torch.tensor([True, True]))["g"].tolist() == [[0.5], [-1.5]]
    assert algorithm.keep(cohort, trained, work, payload, torch.tensor([True, False]))["g"].tolist() == [[0.5], [0.0]]
    info = Info(ids, group, 1, group, torch.tensor([True, True]), one.double(), group, {}, Clock(0), Rng(0))
    held = Held({"w": torch.ones(1, 1)}, {}, dict(memory.receiver))
    assert algorithm.weights(held, info).tolist() == [0.5, 0.5]
    merged = algorithm.merge(held, Delivery(torch.tensor([[[0.5]]]), None, None), info).held
    assert (merged.shared["w"].tolist(), merged.receiver["h"].tolist()) == ([[2.0]], [[-0.5]])


def test_nobody_arrives_and_nothing_moves() -> None:
    algorithm = feddyn(alpha=0.5)
    none = torch.zeros(0).long()
    info = Info(none, none, 1, torch.zeros(3).long(), none.bool(), none.double(), none, {}, Clock(0), Rng(0))
    held = Held({"w": torch.ones(1, 2)}, {}, {"h": torch.full((1, 2), 3.0)})
    merged = algorithm.merge(held, Delivery(torch.zeros(1, 1, 2), None, None), info).held
    assert torch.equal(merged.shared["w"], held.shared["w"])
    assert torch.equal(merged.receiver["h"], held.receiver["h"])


def test_the_correction_is_the_mean_of_the_pulls() -> None:
    """``h = mean(g_i)`` of all clients, whoever came: both move by the same changes."""
    state = after(tiny(algorithm=feddyn(alpha=0.1)), 3)
    h, g = state.memory.receiver["h"][0], state.memory.client["g"]
    assert torch.allclose(h, g.mean(dim=0), atol=1e-5)


def test_more_than_one_hop_is_refused() -> None:
    with pytest.raises(SpecError, match="is defined for clients and a single receiver"):
        cells(algorithm=feddyn())
