"""Samples, references and labels, against runs."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from support.studies import BUFFERS, RAW, study

from fedradio.core.contracts import ExchangeRecord
from fedradio.results.run import open_run
from fedradio.runs.run import run
from fedradio.spec.spec import Spec, load_spec


def test_bits_of_a_sample() -> None:
    few = ["topology.clients=2"]
    features = study("sample_bits", load_spec("osafl/paper/fcn_k1/osafl", few))
    assert features == {"features": 3168, "bits": 101_376, "input": 3168, "input_bits": 101_376}
    history = study("sample_bits", load_spec("osafl/paper/lstm_k1/osafl", few))
    assert history == {"features": 1, "bits": 7, "input": 10, "input_bits": 70}


def test_reference_accuracies(tmp_path: Path, tiny: Callable[..., Spec]) -> None:
    """Those that a run reports; with v = .7 nobody can do better than .70."""
    spec = load_spec("rawhfl", RAW)
    metrics = run(spec, tmp_path / "run").metrics
    found = study("reference", spec)
    assert {name: found[name] for name in ("bayes", "top_popular")} == {
        name: metrics[name] for name in ("bayes", "top_popular")
    }
    assert found["top"][0] == found["top_popular@1"] == pytest.approx(found["top_popular"])
    assert found["top"] == sorted(found["top"])
    assert len(found["top"]) == len(found["top_spread"]) == 10
    assert min(found["over_slots"], found["over_clients"]) > 0
    assert study("reference", load_spec("rawhfl/paper/z4", ["data.source.similarity=0.7"]))["bayes"] == pytest.approx(
        0.70, abs=0.02
    )
    nothing = dict.fromkeys(("bayes", "top_popular", "over_slots", "over_clients"))
    assert study("reference", tiny()) == nothing


def test_labels_are_those_of_a_run(tmp_path: Path) -> None:
    spec = load_spec("osafl", BUFFERS)
    run(spec, tmp_path / "run")
    *_, record = open_run(tmp_path / "run").records(ExchangeRecord)
    last = {name: note.values for name, note in record.notes.items()}
    found = study("labels", spec)
    assert found["at"] == [1, 2, 3, 4]
    assert [sum(row) for row in found["shares"]] == pytest.approx([1.0] * 4)
    assert found["shares"][0] == sorted(found["shares"][0], reverse=True)
    assert found["top_start"] == pytest.approx(sum(found["shares"][0][:2]))
    assert found["top_end"] == pytest.approx(last["top_labels"][0])
    assert found["least_end"] == pytest.approx(last["least_labels"][0])
    assert found["shift"] == pytest.approx(np.mean(last["label_shift"]))


def test_labels_of_static_data_stay(tiny: Callable[..., Spec]) -> None:
    found = study("labels", tiny("rounds=9"))
    assert found["at"] == [1, 3, 4, 6, 7, 9]
    assert found["shift"] == 0.0
    assert found["top_start"] == found["top_end"]
