"""What a round is judged by."""

from support.worlds import tiny

from fedradio.core.contracts import SimState
from fedradio.data.partition import shards
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


def _started(sim: Simulation) -> tuple[Simulation, SimState]:
    return sim, begin(sim)
