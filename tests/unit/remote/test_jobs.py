"""Jobs as plain data and back: nothing is lost, and what comes can be written to."""

import numpy as np
import torch

from fedradio.core.contracts import PseudoLabels, Trained
from fedradio.engine.evaluate import Scored
from fedradio.remote.jobs import plain_scored, plain_trained, scored_of, to_array, to_tensor, trained_of


def test_tensors_cross_as_copies_that_can_be_written_to() -> None:
    values = torch.arange(3.0).expand(2, 3)
    array = to_array(values)
    assert array is not None
    array.flags.writeable = False
    back = to_tensor(array)
    assert back is not None
    assert torch.equal(back, values)
    back[0, 0] = 7.0
    assert values[0, 0] == 0.0
    assert to_tensor(to_array(None)) is None


def test_results_come_back_as_they_were() -> None:
    trained = Trained(torch.ones(2, 3), None, torch.tensor([0.5, 0.25]), {"adam_n": torch.tensor([1.0, 2.0])})
    back = trained_of(plain_trained(trained))
    assert torch.equal(back.delta, trained.delta)
    assert torch.equal(back.loss, trained.loss)
    assert torch.equal(back.slots["adam_n"], trained.slots["adam_n"])
    assert (back.local, back.own, back.pseudo, back.nu) == (None, None, None, None)
    scored = Scored(torch.ones(2, 2).double(), None, torch.tensor([0, 1]), None, torch.tensor([3, 4]))
    again = scored_of(plain_scored(scored))
    assert torch.equal(again.losses_and_hits, scored.losses_and_hits)
    assert again.losses_and_hits.dtype == torch.float64
    assert (again.count, again.likelihood) == (None, None)
    assert torch.equal(again.y, scored.y)


def test_nothing_but_arrays_and_numbers_travels() -> None:
    labels = PseudoLabels(torch.tensor([[1]]), torch.ones(1, 1, 2))
    plain = (to_array(labels.number), to_array(labels.nu))
    assert all(isinstance(each, np.ndarray) for each in plain)
