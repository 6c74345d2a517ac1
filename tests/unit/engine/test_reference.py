"""The reference loop itself, by hand."""

from __future__ import annotations

import torch

from fedradio.core.contracts import Batches, LocalRule, Picks, Start
from fedradio.core.rng import Rng
from fedradio.engine import Engine, Reference
from fedradio.models import logistic


def test_one_step_of_one_sample_by_hand() -> None:
    """Logistic regression from zero: p = (1/2, 1/2), so the step is -lr*(p - onehot) x^T."""
    model = logistic((2,), 2)
    x, y = torch.tensor([[3.0, -1.0]]), torch.tensor([1])
    batches = Batches(
        Picks(torch.zeros(1, 1, 1, dtype=torch.long), torch.ones(1, 1, dtype=torch.long)), None, lambda i: (x[i], y[i])
    )
    start = Start(model.init(Rng(0))[None], torch.tensor([0]))
    for backend in (Engine(1), Reference()):
        trained = backend.run(model, LocalRule(lr=0.2), 0, start, batches, torch.tensor([1]), Rng(0))
        w, b = model.shared.views(trained.delta[0]).values()
        torch.testing.assert_close(w, torch.tensor([[-0.3, 0.1], [0.3, -0.1]]))
        torch.testing.assert_close(b, torch.tensor([-0.1, 0.1]))
        torch.testing.assert_close(trained.loss, torch.tensor([2.0]).log())
