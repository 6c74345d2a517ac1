"""Probabilities to arrive, from records by hand and from a run under fading."""

from collections.abc import Callable
from pathlib import Path

import torch
from support.records import exchange

from fedradio.core.contracts import Note
from fedradio.papers.bounds.arrival import arrival_probability, is_noted
from fedradio.papers.bounds.assess import assess
from fedradio.papers.bounds.participation import participation
from fedradio.papers.bounds.rawhfl import TERMS
from fedradio.papers.bounds.replay import replayed_run
from fedradio.runs.run import run
from fedradio.spec.spec import Spec


def test_notes_of_the_link_come_first() -> None:
    """Client 1 had .5, then .8; client 0 sent once, client 2 never."""
    first = exchange(0, ids=[0, 1], arrived=[True, False], notes={"p_sc": Note("active", [0.9, 0.5])})
    second = exchange(1, ids=[1], notes={"p_sc": Note("active", [0.8])})
    silent = exchange(2, ids=[])
    exchanges = [[first, exchange(0, hop=1, ids=[0])], [second], [silent]]
    assert is_noted(exchanges)
    assert arrival_probability(exchanges, 3)[:, 0].tolist() == [[0.9, 0.5, 1.0], [1.0, 0.8, 1.0], [1.0, 1.0, 1.0]]


def test_without_notes_it_is_the_share_that_arrived() -> None:
    exchanges = [[exchange(0, ids=[0, 1], arrived=[True, False])], [exchange(1, ids=[1])]]
    assert not is_noted(exchanges)
    assert arrival_probability(exchanges, 3)[:, 0].tolist() == [[1.0, 0.5, 1.0]] * 2


def test_a_run_under_fading_has_the_fifth_term_of_the_bound(cells: Callable[..., Spec], tmp_path: Path) -> None:
    """Weak senders, a deadline near the mean airtime: p_sc of the records, losses among the terms of (21)."""
    spec = cells(
        "model=logistic",
        "rule.lr=0.002",
        "rounds=2",
        "hops.0.link={kind: digital, bandwidth_hz: 10.0e+3}",
        "hops.0.channel={kind: urban_macro, fading: rayleigh}",
        "hops.0.fleet={kind: cellular, p_max_dbm: [-10, 0]}",
        "hops.0.policy={kind: fixed, steps: 2}",
        "hops.0.deadline_s=1.0",
        "algorithm={kind: fedavg, weighting: equal, normalise: inverse}",
    )
    run(spec, tmp_path / "run")
    stored = replayed_run(tmp_path / "run")
    averaging = stored.sim.algorithm.averaging
    assert averaging is not None
    shares, _ = participation(stored, averaging)
    noted = torch.tensor(stored.exchanges[0][0].notes["p_sc"].values, dtype=torch.float64)
    assert torch.equal(shares.p_sc[0, 0], noted)
    assert 0.01 < float(shares.p_sc.min()) < 0.99
    found = assess(tmp_path / "run", paper="rawhfl", rounds=2)
    assert found.bounds[0].columns[0].terms[TERMS["arrival"]] > 0
    assert any(note.startswith("p_sc is Pr(t_cp + t_up <= t_th)") for note in found.notes)
