"""OSAFL at quick scale: 40 clients, FCN, K=1, the published policy, trials in one world, paired by seed."""

import pytest

from fedradio.core.errors import DivergenceError
from fedradio.papers.published import matching
from fedradio.rounds.round import begin, iterate, run_round
from fedradio.spec.build import build
from fedradio.spec.spec import load_spec


def accuracies(kind: str, seed: int, rounds: int, at: tuple[int, ...]) -> dict[int, float]:
    sim = build(load_spec(f"osafl/quick/{kind}", [f"seed={seed}", f"rounds={rounds}"]))
    state, found = begin(sim), {}
    for done in range(1, rounds + 1):
        state, record, _ = run_round(sim, state, evaluate=done in at)
        if done in at:
            found[done] = record.metrics["accuracy"]
    return found


@pytest.mark.wide
def test_one_seed_is_ahead_of_averaging_early() -> None:
    """At round 10 the scores are ahead by several points; 2 are asked for."""
    ours, theirs = (accuracies(kind, 1, 10, (10,))[10] for kind in ("osafl", "fedavg"))
    assert ours > theirs + 0.02


@pytest.mark.paper
def test_ahead_of_the_model_buffers_and_close_to_the_genie() -> None:
    seeds = (1, 2, 3)
    ours = [accuracies("osafl", seed, 60, (10, 30, 60)) for seed in seeds]
    for kind in ("fedavg", "fedprox", "feddisco"):
        theirs = [accuracies(kind, seed, 30, (10, 30)) for seed in seeds]
        early = [mine[10] - other[10] for mine, other in zip(ours, theirs, strict=True)]
        later = [mine[30] - other[30] for mine, other in zip(ours, theirs, strict=True)]
        print(kind, [f"{100 * gap:.1f}" for gap in early], [f"{100 * gap:.1f}" for gap in later])
        assert sum(early) / 3 >= 0.05
        assert sum(later) / 3 >= 0.015  # both come close to the ceiling: 2.6 to 7.4 points measured
    genie = [accuracies("central", seed, 60, (60,))[60] for seed in seeds]
    assert sum(genie) / 3 - sum(mine[60] for mine in ours) / 3 <= 0.02


@pytest.mark.paper
def test_the_literal_buffer_diverges_at_the_published_rate() -> None:
    """Clients that were never seen count as w/eta: at global rate 35 the run ends within a few rounds, named."""
    sim = build(load_spec("osafl/quick/osafl", ["algorithm={kind: osafl, server_lr: 35, never_seen: literal}"]))
    with pytest.raises(DivergenceError, match="round"):
        list(iterate(sim, 60))


@pytest.mark.paper
def test_table_2_at_quick_scale() -> None:
    """Accuracies as shares of the ceiling beside the published ones, and whether they agree within .03; seed 1.

    After 20 of 100 rounds slow algorithms are below what is published. OSAFL has to lead, close to the ceiling, and
    M-AFA-CD to collapse as printed and to learn from zero.
    """
    (item,) = matching("osafl", "table2")
    share = {}
    for row in item.rows:
        if row.quick.spec is None:
            continue
        spec = row.quick.load(1)
        evaluated = [record.metrics for record in iterate(build(spec), spec.rounds, spec.eval_every) if record.metrics]
        share[row.label] = max(found["accuracy"] for found in evaluated) / evaluated[0]["bayes"]
        (published,) = row.published.get("share", (float("nan"),))
        agrees = "agrees" if item.columns["share"].agrees(share[row.label], published) else "differs"
        print(f"{row.label:26} {share[row.label]:.3f}  published {published:.3f}  {agrees}")
    federated = {label: value for label, value in share.items() if not label.startswith("central")}
    assert max(federated, key=lambda label: federated[label]) == "OSAFL, FCN"
    assert share["OSAFL, FCN"] > 0.9
    assert share["M-AFA-CD, FCN"] < 0.15
    assert share["M-AFA-CD from zero, FCN"] > 0.3
