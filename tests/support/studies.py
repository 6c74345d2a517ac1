"""Studies of small specs."""

from __future__ import annotations

import json

from fedradio.papers.studies import STUDIES
from fedradio.papers.studies.planned import Finding
from fedradio.spec.spec import Spec

RAW = [
    "topology.edges=2",
    "topology.clients_per_edge=4",
    "hops.0.period=2",
    "hops.0.fleet.energy_j=[0.004, 0.03]",
    "hops.0.policy={kind: joint, clients: 2, max_steps: 3, mode: paper}",
    "data.source.test_requests=20",
    "model.hidden=[8]",
    "rounds=3",
]
BUFFERS = [
    "topology.clients=12",
    "hops.0.policy.mode=paper",
    "data.source.test_requests=20",
    "rule.batch=4",
    "rounds=4",
]


def study(name: str, spec: Spec) -> Finding:
    """What a study found, which must be plain JSON, after telling that all is done."""
    told: list[float] = []
    found = STUDIES[name](spec, told.append)
    assert told == sorted(told)
    assert told[-1] == 1.0
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    return found
