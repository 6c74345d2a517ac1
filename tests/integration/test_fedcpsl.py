"""FedCPSL end to end: what records and metrics say, fine-tuning, other links, clients with odd data."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from fedradio.core.contracts import RoundRecord, SimState
from fedradio.core.errors import SpecError
from fedradio.data.streams import Window
from fedradio.losses.kept_targets import draw
from fedradio.papers.items import Row
from fedradio.papers.published import published
from fedradio.rounds.round import begin, run_round
from fedradio.rounds.simulation import Simulation
from fedradio.runs.resume import resume
from fedradio.runs.run import Observer, run
from fedradio.spec.build import build
from fedradio.spec.spec import load_spec

CELLS = (
    "topology={kind: hierarchical, edges: 2, clients_per_edge: 5}",
    "hops=[{link: digital, channel: urban_macro, fleet: cellular, policy: {kind: joint, clients: 2, max_steps: 5}, "
    "deadline_s: 150, period: 2}, {}]",
)
AIR = (
    "topology={kind: clusters, clusters: 2, clients_per_cluster: 5, flat: true}",
    "hops=[{link: over_the_air, channel: {kind: power_law, noise_symbol: 1e-4}, "
    "policy: {kind: sampling, clients: 4, epochs: 1}}]",
)


def simulation(*overrides: str) -> Simulation:
    return build(load_spec("fedcpsl", list(overrides)))


def test_records_and_metrics() -> None:
    sim = simulation()
    state = begin(sim)
    for _ in range(3):
        state, record, (exchange,) = run_round(sim, state)
    assert {"accuracy", "global_accuracy", "local_accuracy", "variate_norm", "variate_error"} <= record.metrics.keys()
    assert record.metrics["variate_norm"] > 0
    assert record.metrics["variate_error"] < 1e-5
    right = exchange.notes["pseudo_accuracy"]
    assert [value >= 0 for value in right.dense(exchange.ids, 10)] == exchange.dense(10).active


def test_fine_tuning_leaves_the_shared_model_alone() -> None:
    sim = simulation("algorithm.finetune_after=2")
    state = begin(sim)
    for _ in range(2):
        state, _, _ = run_round(sim, state, evaluate=False)
    shared = {name: rows.clone() for name, rows in state.memory.shared.items()}
    client = {name: rows.clone() for name, rows in state.memory.client.items()}
    for _ in range(2):
        state, _, _ = run_round(sim, state, evaluate=False)
    assert all(torch.equal(rows, state.memory.shared[name]) for name, rows in shared.items())
    assert torch.equal(client["c"], state.memory.client["c"])
    assert not torch.equal(client["own"], state.memory.client["own"])


@pytest.mark.parametrize("overrides", [CELLS, AIR], ids=["cells", "air"])
def test_combinations_that_no_paper_has_run_and_learn(overrides: tuple[str, ...]) -> None:
    sim = simulation(*overrides)
    state = begin(sim)
    for done in range(20):
        state, record, exchanges = run_round(sim, state, evaluate=done == 19)
    assert record.metrics["accuracy"] > 0.85
    if overrides is CELLS:
        assert record.energy_j is not None
        assert record.metrics["variate_error"] < 1e-5
    else:
        assert exchanges[0].uses == 2405.0  # 64*64 + 64 + 64*10 + 10 numbers, two a symbol
        assert sim.warnings == ("hops.0: control variates over the air are noisy, and no longer average to zero",)


def test_all_labels_known_is_worth_a_word() -> None:
    sim = simulation("data.unlabelled=0")
    assert any("every sample is labelled" in warning for warning in sim.warnings)
    assert not simulation("data.unlabelled=0", "algorithm={kind: fedcpsl, pseudo_on: labelled}").warnings
    run_round(sim, begin(sim))


def test_pseudo_labels_that_feed_on_themselves_are_worth_a_word() -> None:
    """rho = alpha_r/alpha_p = 1/2: 1/(rho (1 + rho)) = 4/3; rho = 1: 1/2."""
    said = simulation("algorithm.alpha_p=0.2", "algorithm.alpha_r=0.1").warnings
    assert any("by 1.33 per round" in warning for warning in said)
    assert not simulation().warnings


@pytest.mark.parametrize(
    ("overrides", "words"),
    [
        (["algorithm.mixture=1.5"], "1"),
        (["algorithm.mixture=-0.1"], "0"),
        (["algorithm.mixture=[0.5, 0.5]"], "there are 10 clients"),
        (["algorithm.learn_mixture=true"], "no labels to learn"),
        (["data.held_out=1"], "less than 1"),
        (["rule.momentum=0.5"], "momentum"),
        (["rule=adam"], "sgd"),
        (["data.source={kind: synthetic_images, height: 16, width: 16}", "model=cnn_batchnorm"], "norm layers"),
    ],
)
def test_refusals(overrides: list[str], words: str) -> None:
    with pytest.raises(SpecError, match=words):
        simulation(*overrides)


def test_mixtures_are_learned_from_labels_that_nobody_trains_on() -> None:
    sim = simulation("algorithm.learn_mixture=true", "data.held_out=0.2", "hops.0.policy={kind: fixed, epochs: 1}")
    assert isinstance(sim.stream, Window)
    validation, tapes = sim.stream.validation(), sim.stream.tapes
    assert validation is not None
    assert set(validation.index.tolist()).isdisjoint(tapes.index.tolist())
    whole = simulation().stream
    assert isinstance(whole, Window)
    lit, before = (stream.stats(stream.start())["labelled"] for stream in (sim.stream, whole))
    assert torch.equal(lit + torch.bincount(validation.group, minlength=10), before)
    state = begin(sim)
    for _ in range(3):
        state, record, _ = run_round(sim, state)
    assert set(state.memory.client["mixture"].tolist()) == {0.75}
    assert 0 < record.metrics["mixture"] < 1
    assert record.metrics["mixture"] != pytest.approx(0.75)
    assert record.metrics["mixture_spread"] > 0


def test_one_weight_for_all_is_the_same_as_one_for_each() -> None:
    found = []
    for mixture in ("0.6", "[0.6, 0.6, 0.6, 0.6, 0.6, 0.6, 0.6, 0.6, 0.6, 0.6]"):
        sim = simulation(f"algorithm.mixture={mixture}")
        found.append(run_round(sim, begin(sim))[1].metrics)
    assert found[0] == found[1]


def test_a_weight_of_each_client_is_its_own() -> None:
    """Whoever has b = 0 predicts with the shared model alone, whoever has b = 1 with the own."""
    sim = simulation("algorithm.mixture=[0, 1, 0, 1, 0, 1, 0, 1, 0, 1]", "hops.0.policy={kind: fixed, epochs: 1}")
    _, record, _ = run_round(sim, begin(sim))
    personal, shared, own = (record.groups[f"{name}accuracy"] for name in ("", "global_", "local_"))
    assert personal[0::2] == shared[0::2]
    assert personal[1::2] == own[1::2]


def test_clients_without_labels_and_without_unlabelled_samples_train() -> None:
    """Client 0 has lost every label, client 1 none: both move their own model, only the first has pseudo-labels."""
    sim = simulation("hops.0.policy={kind: fixed, epochs: 1}")
    assert isinstance(sim.stream, Window)
    tapes = sim.stream.tapes
    owner = torch.arange(10).repeat_interleave(tapes.offset.diff())
    labelled = (tapes.labelled | (owner == 1)) & (owner != 0)
    sim = replace(sim, stream=Window(replace(tapes, labelled=labelled)))
    before = begin(sim)
    own = before.memory.client["own"].clone()
    state, _, (exchange,) = run_round(sim, before, evaluate=False)
    assert exchange.ids == list(range(10))
    assert bool(((state.memory.client["own"] - own).norm(dim=1) > 0).all())
    assert exchange.notes["pseudo_accuracy"].values[0] >= 0
    assert exchange.notes["pseudo_accuracy"].values[1] == -1.0


@pytest.mark.parametrize("algorithm", ["fedcpsl", "{kind: fedcpsl, pseudo: gradient}", "apsfl", "fedshvr"])
def test_nobody_has_a_label(algorithm: str) -> None:
    """``unlabelled: 1``: the labelled term is absent, everything else is defined, and every client can still be judged.
    Pseudo-labels pull to what the model says already: accuracy says nothing here, finite numbers do."""
    sim = simulation("data.unlabelled=1", f"algorithm={algorithm}", "hops.0.policy={kind: fixed, epochs: 1}")
    assert any("repeat the model's own predictions" in warning for warning in sim.warnings)
    state = begin(sim)
    assert state.signals["labelled"].tolist() == [0] * 10
    w = state.memory.shared["w"].clone()
    for _ in range(2):
        state, record, (exchange,) = run_round(sim, state)
    assert exchange.ids == list(range(10))
    assert record.train_loss is not None
    assert not torch.equal(w, state.memory.shared["w"])
    assert all(0 <= value <= 1 for value in exchange.notes["pseudo_accuracy"].values)


def test_labels_that_nobody_has_cannot_be_learned_from() -> None:
    with pytest.raises(SpecError, match="no client has a labelled sample"):
        simulation("data.unlabelled=1", "algorithm=apfl")
    with pytest.raises(SpecError, match="no client has a labelled sample"):
        simulation("data.unlabelled=1", "algorithm={kind: fedcpsl, pseudo_on: labelled}")


def test_phases_and_kept_labels_go_on_after_a_checkpoint(tmp_path: Path) -> None:
    """Stopped in the second phase and resumed, with kept pseudo-labels: the same bits as in one go."""
    phases = "{kind: fedcpsl, pseudo: gradient, phases: {global: 2, own: 3}}"
    spec = load_spec("fedcpsl", [f"algorithm={phases}", "rounds=5"])
    run(spec, tmp_path / "whole", workers=1)

    class Stops(Observer):
        def advanced(self, state: SimState, record: RoundRecord) -> None:
            if record.t == 2:
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(spec, tmp_path / "cut", workers=1, observer=Stops())
    resume(tmp_path / "cut", workers=1)
    whole, cut = ((tmp_path / name / "model.safetensors").read_bytes() for name in ("whole", "cut"))
    assert whole == cut


IMAGES = "data.source={kind: synthetic_images, channels: 1, height: 28, width: 28, samples: 2000}"


@pytest.mark.parametrize("row", published()["fedcpsl", "semi"].rows, ids=lambda row: row.label)
def test_the_control_of_the_study_semi_uses_labelled_inputs(row: Row) -> None:
    """And the rows beside it the unlabelled ones, as many; on made-up images in place of MNIST's."""
    assert row.quick.spec is not None
    sim = build(load_spec(row.quick.spec, [*row.quick.set, IMAGES]))
    assert isinstance(sim.stream, Window)
    extra, tapes = sim.rule.unlabelled_batch, sim.stream.tapes
    assert extra == (0 if row.label.startswith("APFL") or "alpha=0" in row.label.split(", ") else 32)
    ids, updates = torch.arange(20), torch.full((20,), 4)
    picks = draw(sim.rule, sim.stream, sim.stream.start(), ids, updates, sim.rng).unlabelled
    if extra == 0:
        assert picks is None
        return
    assert picks is not None
    assert int(picks.count.min()) > 0
    known = dict(zip(tapes.index.tolist(), tapes.labelled.tolist(), strict=True))
    real = torch.arange(picks.index.shape[2]) < picks.count[:, :, None]
    assert {known[number] for number in picks.index[real].tolist()} == {row.label.endswith("labelled inputs")}


def test_more_rounds_than_phases_are_refused() -> None:
    with pytest.raises(SpecError, match="4 rounds in total, but the run has 40"):
        simulation("algorithm={kind: fedcpsl, phases: {global: 2, own: 2}}")
    with pytest.raises(SpecError, match="phases"):
        simulation("algorithm={kind: fedcpsl, phases: {global: 0, own: 2}}")


def test_batch_larger_than_the_data_and_a_single_class() -> None:
    sim = simulation("rule.batch=5000", "data.partition={kind: shards, per_client: 1, pure: true}")
    state = begin(sim)
    for _ in range(3):
        state, record, _ = run_round(sim, state)
    assert record.metrics["accuracy"] > 0.5
