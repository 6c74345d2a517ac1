"""Replayed rounds of W-HFL: links that are listened to do what they did; the run's last model."""

from pathlib import Path

import pytest
import torch

from fedradio.core.progress import silent
from fedradio.papers.bounds.replay import replayed_run, rounds_again
from fedradio.papers.bounds.whfl_rounds import last_model, replay
from fedradio.runs.folder import MODEL_FILE
from fedradio.runs.run import run
from fedradio.spec.spec import Spec, load_spec


def small(*overrides: str) -> Spec:
    return load_spec("whfl", ("topology.clusters=2", "topology.clients_per_cluster=2", "eval_every=2", *overrides))


def test_listening_changes_nothing(tmp_path: Path) -> None:
    run(small("rounds=2"), tmp_path / "a")
    opened = replayed_run(tmp_path / "a")
    plain = [again.after.clone() for again in rounds_again(opened, 2)]
    heard = replay(opened, 2, silent, probe=False)
    assert all(torch.equal(one.after, other) for one, other in zip(heard, plain, strict=True))
    assert torch.equal(heard[1].w, plain[0])
    assert [round_.amplitude for round_ in heard] == pytest.approx([1.01, 1.02])
    assert [round_.edge_amplitude for round_ in heard] == pytest.approx([20.2, 20.4])
    assert (heard[0].steps, heard[0].fewest) == (1, 1)


def test_the_last_model_is_the_stored_one(tmp_path: Path) -> None:
    run(small("rounds=2"), tmp_path / "a")
    opened = replayed_run(tmp_path / "a")
    *_, last = rounds_again(opened, 2)
    assert torch.equal(last_model(opened, torch.zeros_like(last.after)), last.after)
    (tmp_path / "a" / MODEL_FILE).unlink()
    otherwise = torch.ones_like(last.after)
    assert last_model(opened, otherwise) is otherwise
