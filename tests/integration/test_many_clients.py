"""Many registered clients of which few take part: work, bytes and memory are those of the active."""

import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
import torch
from support.memory import needs_holes, resident_bytes
from torch.utils._python_dispatch import TorchDispatchMode

from fedradio import Simulation, begin, build, check_spec, run_round
from fedradio.core.contracts import SimState
from fedradio.core.mapped import on_file, written_rows
from fedradio.rounds import round as rounds
from fedradio.runs.records import exchange_row, round_row

RADIO = {"channel": "urban_macro", "link": "digital", "fleet": "cellular", "deadline_s": 150.0}


def world(clients: int, cells: int = 1, **parts: Any) -> Simulation:
    """Twenty active clients a round, one sample each, in one cell without radio or in several with it."""
    sampling = {"kind": "sampling", "clients": 20 // cells}
    if cells == 1:
        topology, hops = {"kind": "flat", "clients": clients}, [{"policy": sampling}]
    else:
        topology = {"kind": "hierarchical", "edges": cells, "clients_per_edge": clients // cells}
        hops = [RADIO | {"policy": sampling}, {"policy": "fixed"}]
    images = {"samples": clients, "test_samples": 50, "height": 4, "width": 4}
    plain = {"topology": topology, "hops": hops, "data": {"source": {"kind": "synthetic_images", **images}}}
    return build(check_spec(plain | {"model": "logistic", "rule": {"kind": "sgd", "batch": 5}} | parts), workers=1)


def one_round(sim: Simulation, state: SimState) -> tuple[SimState, int]:
    """The state after a round, and the bytes of its records."""
    state, record, exchanges = run_round(sim, state, evaluate=False)
    return state, len("".join(json.dumps(row) + "\n" for row in [*map(exchange_row, exchanges), round_row(record)]))


@pytest.mark.parametrize(("cells", "most"), [(1, 2000), (10, 8000)])
def test_records_are_those_of_the_active(cells: int, most: int) -> None:
    sim = world(10_000, cells)
    _, size = one_round(sim, begin(sim))
    assert size <= most


class Numbers(TorchDispatchMode):
    """Counts the numbers in the results of all of torch's operations."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        for one in result if isinstance(result, tuple | list) else [result]:
            self.count += one.numel() if isinstance(one, torch.Tensor) else 0
        return result


def test_a_round_computes_few_numbers_of_each_idle_client() -> None:
    """It computes 35 of each, such as draws and masks: less than one vector of 170 parameters."""
    count, sizes = [], (100, 10_000)
    for clients in sizes:
        sim = world(clients)
        state, _ = one_round(sim, begin(sim))
        with Numbers() as numbers:
            one_round(sim, state)
        count.append(numbers.count)
    assert len(state.memory.shared["w"]) == 170
    assert (count[1] - count[0]) / (sizes[1] - sizes[0]) <= 60


def test_rows_of_clients_that_never_took_part_cost_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Control variates of 100,000 clients are 2.2 GB; three rounds and evaluations hold those of 60 clients, in memory
    and on disk."""
    needs_holes(tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    sim = world(100_000, algorithm="scaffold", model={"kind": "mlp", "hidden": [200]})
    held, release = [], rounds.release_memory
    monkeypatch.setattr(rounds, "release_memory", lambda slots: held.append(resident_bytes()) or release(slots))
    before = resident_bytes()
    state, taking = begin(sim), set()
    for _ in range(3):
        state, _, exchanges = run_round(sim, state)
        taking |= set(exchanges[0].ids)
    c = state.memory.client["c"]
    assert on_file(c)
    assert c.numel() * c.element_size() > 2e9
    assert max(held) - before < 150e6
    written = written_rows(c).nonzero().flatten()
    assert len(written) <= 3 * len(taking)  # neighbours share blocks with them
    assert set(written[c[written].any(dim=1)].tolist()) == taking
