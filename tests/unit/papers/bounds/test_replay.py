"""Stored runs that are run again: changed folders, rounds one by one, samples for gradients."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from support.sealing import reseal

from fedradio.core.errors import StoreError
from fedradio.papers.bounds.assess import assess
from fedradio.papers.bounds.replay import client_data, replayed_run, rounds_again
from fedradio.rounds.parts import STREAM
from fedradio.runs.folder import MODEL_FILE, RECORDS_FILE, SPEC_FILE
from fedradio.runs.run import run
from fedradio.runs.tensors import read_tensors
from fedradio.spec.spec import Spec

Maker = Callable[..., Spec]

GROWING = "data.stream={kind: growing, history: 50, slots: 20}"


def made(spec: Spec, folder: Path) -> Path:
    run(spec, folder)
    return folder


def test_a_changed_folder_is_refused(tiny: Maker, tmp_path: Path) -> None:
    folder = made(tiny(), tmp_path / "a")
    lines = (folder / RECORDS_FILE).read_text().splitlines()
    row = json.loads(lines[1])
    row["steps"] = [n + 1 for n in row["steps"]]
    (folder / RECORDS_FILE).write_text("\n".join([lines[0], json.dumps(row), *lines[2:]]) + "\n")
    with pytest.raises(StoreError, match=r"is damaged: records.jsonl"):
        assess(folder)
    reseal(folder)
    with pytest.raises(StoreError, match="another version"):
        assess(folder)
    (folder / RECORDS_FILE).write_text(lines[0] + "\n")
    reseal(folder)
    with pytest.raises(StoreError, match="before its first round"):
        assess(folder)
    text = (folder / SPEC_FILE).read_text()
    (folder / SPEC_FILE).write_text(text.replace("seed: 3", "seed: 4"))
    with pytest.raises(StoreError, match=r"is damaged: spec.yaml"):
        assess(folder)
    with pytest.raises(StoreError, match="does not exist"):
        assess(tmp_path / "nowhere")


def test_rounds_again_are_the_runs_own(tiny: Maker, tmp_path: Path) -> None:
    opened = replayed_run(made(tiny(GROWING, "rounds=2"), tmp_path / "a"))
    stored = read_tensors(tmp_path / "a" / MODEL_FILE)
    first, second = rounds_again(opened, 2, slots=True)
    assert torch.equal(first.after, second.w)
    views = opened.sim.model.shared.views(second.after)
    assert all(torch.equal(views[name], tensor) for name, tensor in stored.items())
    sizes = [opened.sim.stream.stats(slots)["samples"] for slots in (first.stream, first.later, second.stream)]
    assert torch.equal(sizes[1], sizes[2])
    assert int(sizes[1].sum()) > int(sizes[0].sum())
    assert second.later is second.state.parts[STREAM]  # nothing arrives after the last round


def test_all_samples_of_a_client_and_mini_batches_of_at_most_an_epoch(tiny: Maker, tmp_path: Path) -> None:
    opened = replayed_run(made(tiny("rule.batch=100", "rounds=1"), tmp_path / "a"))
    sim, ids = opened.sim, torch.tensor([4, 1])
    data = client_data(sim, sim.stream.start(), ids, 0)
    held = sim.stream.stats(sim.stream.start())["samples"][ids].tolist()
    assert len(data) == 2
    assert [len(data.samples(i)[1]) for i in range(2)] == held
    assert [sum(len(y) for _, y in data.batches(i)) for i in range(2)] == held
    assert all(len(y) <= 100 for i in range(2) for _, y in data.batches(i))
