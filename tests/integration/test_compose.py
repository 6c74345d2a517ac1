"""Parts put together in Python and the spec of the same parts are the same simulation, bit for bit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from functools import partial

import pytest
import torch
from support import worlds

from fedradio.algorithms.fedcpsl import fedcpsl
from fedradio.algorithms.scaffold import scaffold
from fedradio.data.partition import dirichlet
from fedradio.fleet.profile import cellular
from fedradio.links.digital import digital
from fedradio.network.channel import urban_macro
from fedradio.policies.sampling import sampling
from fedradio.rounds.round import begin, run_round
from fedradio.rounds.simulation import Simulation
from fedradio.spec.build import build
from fedradio.spec.spec import Spec

SAMPLED = "hops.0.policy={kind: sampling, clients: 2, steps: [1, 5]}"
RADIO = ("hops.0.link={kind: digital, erasure: 0.2}", "hops.0.channel=urban_macro", "hops.0.fleet=cellular")


def made(sim: Simulation, rounds: int = 2) -> tuple[torch.Tensor, list[object]]:
    """The model after some rounds, and all records."""
    state, records = begin(sim), []
    for _ in range(rounds):
        state, record, exchanges = run_round(sim, state)
        records += [asdict(record), *map(asdict, exchanges)]
    return state.memory.shared["w"], records


@pytest.mark.parametrize(
    ("name", "overrides", "parts"),
    [
        ("tiny", (), {}),
        ("cells", (), {}),
        (
            "cells",
            ("algorithm=scaffold", "data.partition={kind: dirichlet, alpha: 0.5}", SAMPLED),
            {
                "algorithm": scaffold(),
                "partition": partial(dirichlet, alpha=0.5),
                "policy": sampling(clients=2, steps=(1, 5)),
            },
        ),
        (
            "tiny",
            ("algorithm=fedcpsl", "data.unlabelled=0.5", "data.test=client", *RADIO),
            {
                "algorithm": fedcpsl(),
                "unlabelled": 0.5,
                "test": "client",
                "link": digital(erasure=0.2),
                "channel": urban_macro(),
                "fleet": cellular,
            },
        ),
    ],
    ids=["tiny", "cells", "scaffold", "fedcpsl"],
)
def test_parts_equal_their_spec(
    name: str,
    overrides: tuple[str, ...],
    parts: dict[str, object],
    tiny: Callable[..., Spec],
    cells: Callable[..., Spec],
) -> None:
    spec = (tiny if name == "tiny" else cells)(*overrides)
    ours, said = made(getattr(worlds, name)(**parts))
    theirs, told = made(build(spec))
    assert torch.equal(ours, theirs)
    assert str(said) == str(told)  # NaN included
