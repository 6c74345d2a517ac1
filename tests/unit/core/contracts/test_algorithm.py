"""What receivers know when they merge."""

import torch

from fedradio.algorithms.fedavg import fedavg
from fedradio.core.contracts import Algorithm, Info


def test_members_count_the_absent_too() -> None:
    """Clients 0 and 1 belong to receiver 0, client 2 to receiver 2; only client 1 takes part."""
    one = torch.tensor([1])
    info = Info(one, torch.tensor([0]), 3, torch.tensor([0, 0, 2]), one.bool(), one.double(), {})
    assert info.members.tolist() == [2, 0, 1]


def test_the_protocol_tells_algorithms_from_other_things() -> None:
    assert isinstance(fedavg(), Algorithm)
    assert not isinstance(torch.nn.Linear(1, 1), Algorithm)
