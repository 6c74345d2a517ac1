"""APFL and its relatives: pairs of models, mixtures, rules."""

from dataclasses import replace

import pytest
import torch
from support.receiver import vector
from support.worlds import after, tiny

from fedradio.algorithms.apfl import apfl, apfl_tuned, apsfl
from fedradio.algorithms.fedcpsl import fedcpsl, fedshvr
from fedradio.core.contracts import LocalRule, Phased
from fedradio.core.errors import SpecError
from fedradio.policies.sampling import sampling
from fedradio.rounds.round import begin, run_round


def test_a_mixture_of_each_client() -> None:
    memory = fedcpsl(mixture=(0.0, 0.5, 1.0)).init(vector(1.0, 2.0), 3, 1)
    assert memory.client["mixture"].tolist() == [0.0, 0.5, 1.0]
    for learn in (False, True):
        said = apfl(learn_mixture=learn).predict({"w": vector(1.0)[None]}, memory.client)
        assert [ensemble.learned for ensemble in said.values()] == [learn, False, False]
    with pytest.raises(SpecError, match="there are 2 clients"):
        fedcpsl(mixture=(0.5,)).init(vector(1.0), 2, 1)
    with pytest.raises(SpecError, match="must start strictly between 0 and 1"):
        apfl(mixture=1.0, learn_mixture=True)


def test_rules_of_the_relatives() -> None:
    rule = LocalRule(0.1, batch=16)
    cpsl = fedcpsl().rule(rule)
    assert cpsl.momentum == 0.8
    assert cpsl.loss is not None
    assert cpsl.loss.unlabelled_batch == 16
    assert cpsl.loss.pair
    assert (cpsl.loss.lr_factor, cpsl.loss.momentum_own) == (2.0, 0.8)
    assert fedcpsl(unlabelled_batch=5).rule(rule).loss.unlabelled_batch == 5  # type: ignore[union-attr]
    semi = fedshvr().rule(rule)
    assert semi.momentum == 0.0
    assert semi.loss is not None
    assert not semi.loss.pair
    assert fedshvr(alpha_p=0.0, alpha_r=0.0).rule(rule).loss is None
    plain, tuned = apfl().rule(rule), apfl_tuned().rule(rule)
    assert plain.loss is not None
    assert (plain.momentum, plain.loss.lr_factor, plain.loss.unlabelled_batch) == (0.0, 1.0, 0)
    assert tuned.loss is not None
    assert (tuned.momentum, tuned.loss.lr_factor, tuned.loss.momentum_own) == (0.8, 2.0, 0.8)
    assert apsfl(alpha_p=0.0, alpha_r=0.0).rule(rule).loss == plain.loss
    assert apsfl().rule(rule).loss.unlabelled_batch == 16  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("changes", "paths"),
    [
        ({"momentum": 0.9}, ["rule.momentum"]),
        ({"momentum": 0.9, "keep_state": True}, ["rule.keep_state", "rule.momentum"]),
        ({"optimiser": "adam", "keep_state": True}, ["rule.kind"]),
    ],
)
def test_refused_rules(changes: dict[str, object], paths: list[str]) -> None:
    for algorithm in (fedcpsl(), fedshvr(), apfl()):
        with pytest.raises(SpecError) as caught:
            algorithm.rule(replace(LocalRule(0.1), **changes))  # type: ignore[arg-type]
        assert [problem.path for problem in caught.value.problems] == paths


@pytest.mark.parametrize("mixture", [-0.1, 1.1, float("nan")])
def test_refused_mixtures(mixture: float) -> None:
    for make in (fedcpsl, apfl, apfl_tuned, apsfl):
        with pytest.raises(SpecError, match=r"\[0, 1\]"):
            make(mixture=mixture)


def test_apsfl_without_alphas_is_apfl() -> None:
    a = after(tiny(algorithm=apfl(), unlabelled=0.5), 3).memory
    b = after(tiny(algorithm=apsfl(alpha_p=0.0, alpha_r=0.0), unlabelled=0.5), 3).memory
    assert torch.equal(a.shared["w"], b.shared["w"])
    assert torch.equal(a.client["own"], b.client["own"])
    c = after(tiny(algorithm=apsfl(), unlabelled=0.5), 3).memory
    assert not torch.equal(a.client["own"], c.client["own"])


def test_two_phases_by_hand() -> None:
    """Two rounds of the shared model, whose clients all predict with it, then own models that begin as it ended: at an
    own rate of almost 0 they stay there."""
    slow = fedcpsl(phases={"global": 2, "own": 3}, lr_factor=1e-3)
    sim = tiny(algorithm=slow, policy=sampling(clients=2, steps=2), unlabelled=0.5)
    plain = tiny(algorithm=fedcpsl(), policy=sampling(clients=2, steps=2), unlabelled=0.5)
    state, joint = begin(sim), after(plain, 2)
    start = state.memory.shared["w"].clone()
    for _ in range(2):
        state, record, _ = run_round(sim, state)
        assert record.metrics["accuracy"] == record.metrics["global_accuracy"] == record.metrics["local_accuracy"]
    shared = {name: vector.clone() for name, vector in state.memory.shared.items()}
    assert all(torch.equal(vector, joint.memory.shared[name]) for name, vector in shared.items())
    assert torch.equal(state.memory.client["own"], start.expand(6, -1))
    state, _, (exchange,) = run_round(sim, state)
    here = torch.zeros(6)
    here[exchange.ids] = 1.0
    assert all(torch.equal(vector, state.memory.shared[name]) for name, vector in shared.items())
    assert torch.equal(state.memory.client["begun"], here)
    predicted = sim.algorithm.predict({"w": shared["w"][None]}, state.memory.client)["local"].members[0]
    moved = (predicted - shared["w"]).norm(dim=1)
    assert torch.equal(moved > 0, here > 0)
    assert float(moved.max()) < 0.1 * float((shared["w"] - start).norm())


def test_refused_phases() -> None:
    with pytest.raises(SpecError, match="phase 'own'"):
        apfl(phases={"global": 3})
    with pytest.raises(SpecError, match="already is fine-tuning"):
        fedcpsl(phases={"global": 3, "own": 3}, finetune_after=2)
    algorithm = apsfl(phases={"global": 3, "own": 4})
    assert (algorithm.lasts(7), apfl().lasts(1000)) == ("", "")
    assert isinstance(algorithm, Phased)
    assert "7 rounds in total, but the run has 8" in algorithm.lasts(8)


def test_a_rate_of_labels_in_closed_form_is_refused() -> None:
    with pytest.raises(SpecError, match="take no gradient steps"):
        apsfl(pseudo_rate=0.1)
