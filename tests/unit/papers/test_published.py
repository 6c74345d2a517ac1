"""The shipped tables and figures: all there, and all can be made."""

from __future__ import annotations

import re

import pytest

from fedradio.core.errors import SpecError
from fedradio.papers.make import load_specs
from fedradio.papers.plan import plan_reproduction, shipped_cost_s
from fedradio.papers.published import PAPERS, items, matching, published
from fedradio.papers.studies import STUDIES
from fedradio.results.measures import measure, paired_measure


def test_unknown_papers_and_items_are_refused_with_suggestions() -> None:
    with pytest.raises(SpecError, match="did you mean 'rawhfl'"):
        items("rawfl")
    with pytest.raises(SpecError, match="did you mean 'table4'"):
        matching("rawhfl", "table44")
    with pytest.raises(SpecError, match=r"one of: .*fig5"):
        matching("rawhfl", "abstract")
    with pytest.raises(SpecError) as refused:
        matching("rawhfl", "table44", "fig4", "abstract")
    assert [problem.value for problem in refused.value.problems] == ["table44", "abstract"]


def test_a_figure_stands_for_its_panels() -> None:
    assert [one.name for one in matching("rawhfl", "fig9")] == ["fig9a", "fig9b"]
    assert [one.name for one in matching("whfl", "fig2")] == ["fig2a", "fig2b", "fig2c"]
    assert [one.name for one in matching("rawhfl", "fig10")] == ["fig10"]
    assert [one.name for one in matching("rawhfl", "fig10", "fig9", "fig9a")] == ["fig10", "fig9a", "fig9b"]
    with pytest.raises(SpecError):
        matching("rawhfl", "fig1")


SHIPPED = {
    "rawhfl": {"tuned", "table2", "table3", "table4", "fig4", "fig5", "fig6", "fig7", "fig8", "fig9", "fig10"},
    "osafl": {
        "tuned",
        "table1",
        "table2",
        "table3",
        "table4",
        "table5",
        "fig1",
        "fig2",
        "fig3",
        "fig4",
        "fig5",
        "fig6",
    },
    "whfl": {"tuned", "fig2a", "fig2b", "fig2c", "fig3", "fig4", "remarks"},
    "fedcpsl": {"table1", "fig1", "fig2", "fig3", "fig4", "fig5", "epochs", "phases", "semi", "tuned", "uplink"},
}
"""Every table and figure with results of the four papers, and studies of ours on their sentences and readings."""


LONGER = {("whfl", "fig3"): 60}
"""CPU minutes of quick items with convolutions, which take longer than twenty."""

SPLIT = re.compile(r"(?<=\d)[a-z]?(_\w+)?$")
"""A figure's panels may be items of their own."""


@pytest.mark.parametrize("paper", PAPERS)
def test_every_table_and_figure_with_results_is_there(paper: str) -> None:
    names = {one.name for one in items(paper)}
    whole = {name if name in SHIPPED[paper] else SPLIT.sub("", name) for name in names}
    assert whole == SHIPPED[paper]


@pytest.mark.usefixtures("shipped_specs_read_once")
@pytest.mark.parametrize(("paper", "name"), list(published()), ids="/".join)
def test_a_shipped_item_can_be_made(paper: str, name: str) -> None:
    """Its specs are right at both scales, its measures and studies are known, its quick scale is quick."""
    one = published()[paper, name]
    for scale in ("quick", "paper"):
        specs = load_specs(plan_reproduction(one, scale, 1).units)
        assert all(spec.rounds >= 1 for spec in specs.values())
    for column in one.columns.values():
        if column.study is None:
            name = column.of or column.measure
            paired_measure(name) if column.paired and column.of is None else measure(name)
    assert {study for row in one.rows for study in one.studied(row)} <= STUDIES.keys()
    assert shipped_cost_s(one, "quick") <= 60 * LONGER.get((paper, one.name), 20)
    assert one.size("quick").seeds <= one.size("paper").seeds
    assert all(row.paper.spec is not None for row in one.rows if one.trains(row))


CLAIMS = {
    "rawhfl": """close_to_ub_table2 close_to_ub_table3 close_to_ub_table4 plateau_at_14 two_clients_fluctuate
        larger_v_faster joules_alike ub_needs_five_times fedavg_meets_ub no_plateau central_ahead_to_seven
        eight_almost_sure gap_shrinks linear_speed_up""",
    "osafl": """first_fcn_k1 first_cnn_k1 first_squeezenet_k1 first_lstm_k1 first_fcn_k2 first_cnn_k2
        first_squeezenet_k2 first_lstm_k2 fastest_fcn_k1 fastest_cnn_k1 fastest_squeezenet_k1 fastest_lstm_k1
        fastest_fcn_k2 fastest_cnn_k2 fastest_squeezenet_k2 fastest_lstm_k2 nova_meets_fcn nova_meets_squeezenet
        nova_meets_cnn saturates_fcn_k1 saturates_squeezenet_k1 saturates_cnn_k1 loss_plateau_k1 loss_plateau_k2
        times_lstm_k1 times_lstm_k2 afa_flat level_at_80_cnn dataset2_below_k1 dataset2_below_k2
        more_payload_more_stragglers varying_unstable""",
    "whfl": """better_than_flat less_power_than_flat worse_with_iterations order_changes slightly_below_iid gap_closed
        i2_more_power_than_i4 faster_than_flat no_limit_of_zero more_clusters more_antennas more_clients
        more_parameters""",
    "fedcpsl": """beta_075_mnist_m2 beta_1_mnist_m2 gamma_08_m2 tenth_beats_all_mnist rounds_95_m2 rounds_95_m4
        others_above_80_m2 others_above_80_m4 semi_steadier_mnist_m2 least_hurt_mnist least_hurt_cifar10
        apfl_ahead_cifar10_m4_hlu one_vector_up finetuning""",
}
"""What the papers say in their texts that a run or a formula could refute, by the names of the claims."""


@pytest.mark.parametrize("paper", PAPERS)
def test_a_claim_has_a_name_of_its_own_in_its_paper(paper: str) -> None:
    names = [claim.id for item in items(paper) for claim in item.claims]
    assert sorted(names) == sorted(set(names))


@pytest.mark.parametrize("paper", CLAIMS)
def test_what_the_papers_say_is_among_the_claims(paper: str) -> None:
    there = {claim.id for item in items(paper) for claim in item.claims}
    assert not set(CLAIMS[paper].split()) - there


def test_similar_means_every_pair() -> None:
    """Z = 2 may be like 4, and 4 like 6, where 2 is not like 6."""
    [item] = matching("rawhfl", "fig8")
    [alike] = item.claims
    pairs = {frozenset(test.rows) for test in alike.tests or ()}
    assert pairs == {frozenset(f"RawHFL, Z={z}" for z in two) for two in ((2, 4), (4, 6), (2, 6))}


def test_claims_over_layouts_that_our_rule_accepts_say_so() -> None:
    """Whatever compares W-HFL with conventional FL in accuracy or bound, on our rule's layouts, has the condition."""
    depends, conditional = set(), {}
    for item in items("whfl"):
        for claim in item.claims:
            if claim.condition:
                conditional[item.name, claim.id] = claim.condition
            for test in claim.tests or ():
                kinds = {(label or "").split(",")[0] for label in (test.row, test.than)}
                if kinds == {"W-HFL", "conventional FL"} and test.column in ("accuracy", "last"):
                    depends.add((item.name, claim.id))
    assert conditional.keys() == depends >= {("fig3", "gap_closed"), ("fig4", "faster_than_flat_low")}
    assert all("2.56 %" in text and "48 % to 97 %" in text for text in conditional.values())
