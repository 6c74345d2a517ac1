"""What a round is judged by."""

from functools import partial
from typing import Literal

import pytest
import torch
from support.worlds import tiny

from fedradio.algorithms.apfl import apfl
from fedradio.core.contracts import SimState
from fedradio.data.partition import shards
from fedradio.engine.rules import sgd
from fedradio.metrics.accuracy import top, worst
from fedradio.metrics.f1 import macro_f1
from fedradio.models.convolutional import cnn_batchnorm
from fedradio.policies.fixed import fixed
from fedradio.rounds.evaluation import final_model
from fedradio.rounds.round import begin, run_round
from fedradio.rounds.simulation import Simulation


def test_per_client_evaluation_reports_the_spread() -> None:
    _, record, _ = run_round(*_started(tiny(test="client", partition=shards)))
    assert {"accuracy", "loss", "accuracy_spread"} <= set(record.metrics)
    assert record.metrics["accuracy_spread"] > 0


def test_top_accuracies_rise_and_change_nothing_else() -> None:
    plain = run_round(*_started(tiny(test="client")))[1].metrics
    top = run_round(*_started(tiny(test="client", eval_top=3)))[1].metrics
    assert {name: top[name] for name in plain} == plain
    assert set(top) - set(plain) == {f"top_{m}_accuracy{end}" for m in (2, 3) for end in ("", "_spread")}
    assert plain["accuracy"] < top["top_2_accuracy"] < top["top_3_accuracy"] <= 1


def test_metrics_add_their_scores_and_change_nothing_else() -> None:
    """Of every prediction, under its name; two guesses are those of ``eval_top``."""
    world = partial(tiny, test="client", algorithm=apfl(), eval_top=2)
    plain = run_round(*_started(world()))[1].metrics
    judged = run_round(*_started(world(metrics=[macro_f1(), worst(), top(m=1)])))[1].metrics
    assert {name: judged[name] for name in plain} == plain
    predictions = ("", "global_", "local_")
    assert set(judged) - set(plain) == {
        f"{name}{score}" for name in predictions for score in ("macro_f1", "worst_accuracy", "top_1_accuracy")
    }
    for name in predictions:
        assert judged[f"{name}top_1_accuracy"] == pytest.approx(judged[f"{name}accuracy"], rel=1e-12)
        assert judged[f"{name}worst_accuracy"] < judged[f"{name}accuracy"]
    alone = run_round(*_started(tiny(test="client", metrics=[top(m=2)])))[1].metrics
    assert alone["top_2_accuracy"] == pytest.approx(
        run_round(*_started(tiny(test="client", eval_top=2)))[1].metrics["top_2_accuracy"], rel=1e-12
    )


def _started(sim: Simulation) -> tuple[Simulation, SimState]:
    return sim, begin(sim)


@pytest.mark.parametrize("norms", ["local", "shared"])
def test_the_final_model_fits_the_network(norms: Literal["local", "shared"]) -> None:
    model = partial(cnn_batchnorm, width=2, norms=norms)
    sim = tiny(model=model, rule=sgd(lr=0.1, batch=4), policy=fixed(steps=1))
    state, _, _ = run_round(sim, begin(sim), evaluate=False)
    found = final_model(sim, state)
    missing, unexpected = sim.model.module.load_state_dict(found, strict=False)
    assert unexpected == []
    assert all(name.endswith("num_batches_tracked") for name in missing)
    beside = state.memory.client["model/local"].mean(dim=0) if norms == "local" else state.memory.shared["model/norms"]
    first, last = sim.model.local.fields[0], sim.model.buffers.fields[-1]
    torch.testing.assert_close(found[first.name].flatten(), beside[: first.size])
    torch.testing.assert_close(found[last.name].flatten(), beside[-last.size :])
