"""Shipped results on the terminal."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from support.claimed import claim, claim_test, claimed_item
from support.costing import each_takes
from support.shipped import shipped_of
from support.terminal import shown

from fedradio.papers.items import Item
from fedradio.papers.judge import Judgement
from fedradio.papers.published import items, matching
from fedradio.papers.shipped import is_begun, shipped_results
from fedradio.report.terminal.claims import verdict_counts
from fedradio.report.terminal.shipped import (
    Shipped,
    agreement,
    cost_text,
    made_rows,
    made_text,
    open_shipped,
    opened,
    seeds_made,
    shipped_counts,
    shipped_list_view,
    shipped_view,
    size_text,
)
from fedradio.spec.spec import Spec

ROOT = Path(__file__).parents[4]

CLAIMS = [
    claim(claim_test(than="two", above=0), id="better"),
    claim(claim_test(above=2), id="above_two", tried="another seed"),
    claim(claim_test("long", above=0), id="long_one"),
]


@pytest.fixture
def item(monkeypatch: pytest.MonkeyPatch) -> Item:
    """An item of one run of twenty CPU minutes a seed."""
    item = claimed_item(*CLAIMS)
    each_takes(monkeypatch, [item], 1200.0)
    return item


@pytest.fixture
def one(item: Item) -> Shipped:
    return open_shipped(item, shipped_of(item, {"one": [0.8, 0.81, 0.82], "two": [0.5, 0.52, 0.5]}))


def test_verdicts_follow_from_the_numbers(one: Shipped) -> None:
    assert [judged.judgement for judged in one.judged] == ["holds", "does not hold", "not testable at this scale"]
    assert verdict_counts(one.judged) == "1 holds, 1 does not hold, 1 not testable at this scale"
    assert one.outdated == ()
    assert size_text(one) == "quick scale, 3 seeds"


def test_the_list_has_results_and_costs(one: Shipped, item: Item) -> None:
    text = shown(shipped_list_view([one, item]), width=200)
    assert "quick scale, 3 seeds" in text
    assert "not run" in text
    assert cost_text(item) == "about 60 min of CPU time, 3 seeds"
    assert cost_text(item) in text
    assert shipped_counts([one, item]).sentence() in text
    assert text.splitlines()[2].endswith(cost_text(item))


def test_counts_of_items_and_claims(one: Shipped, item: Item) -> None:
    counts = shipped_counts([one, item])
    assert (counts.items, counts.found, counts.whole, counts.fewer, counts.claims) == (2, 1, 1, 0, 6)
    kinds: dict[Judgement, int] = {"holds": 1, "does not hold": 1, "not testable at this scale": 1, "not run": 3}
    assert {kind: number for kind, number in counts.verdicts.items() if number} == kinds
    sentence = "1 hold, 1 do not hold, 1 need the published scale and 3 have not been run."
    assert (
        counts.sentence() == f"1 of 2 tables, figures and studies were run with all their rows. Of 6 claims, {sentence}"
    )
    assert shipped_counts([]).sentence().startswith("0 of 0 ")


def test_items_with_fewer_seeds_than_planned_are_counted(item: Item) -> None:
    found = open_shipped(item, shipped_of(item, {"one": [0.8, 0.81, 0.82], "two": [0.5, 0.52, 0.5]}))
    made = tuple(each.model_copy(update={"seeds": (1, 2)}) for each in found.stored.made)
    few = replace(found, stored=found.stored.model_copy(update={"scale": "paper", "seeds": (1, 2), "made": made}))
    assert [shipped_counts([each, item]).fewer for each in (found, few)] == [0, 1]
    assert "all their rows, 1 of them with fewer seeds than planned." in shipped_counts([few, item]).sentence()


@pytest.mark.parametrize("page", ["README.md", "docs/hold.md"])
def test_pages_tell_the_counts_of_today(page: str) -> None:
    text = " ".join((ROOT / page).read_text(encoding="utf-8").split())
    assert shipped_counts(opened(items())).sentence() in text


def test_seeds_that_never_reach_a_level_are_told_with_a_bound() -> None:
    """APFL reaches 95 % in round 94 and 98, and with seed 2 not in 100: the mean is above 97 1/3, not 96."""
    [one] = opened(matching("fedcpsl", "fig4_mnist_m2"))
    assert isinstance(one, Shipped)
    entry = one.result.entries[1]["rounds"]
    assert (dict(entry.values), dict(entry.bounds)) == ({1: 94.0, 3: 98.0}, {2: 100.0})
    text = shown(shipped_view(one), width=200)
    assert "> 97, 2 of 3 seeds" in text
    assert "seed 2: not within 100 rounds" in text
    assert "96 ± " not in text


def test_rows_with_fewer_seeds_than_others_are_told(item: Item) -> None:
    found = open_shipped(item, shipped_of(item, {"one": [0.8, 0.81, 0.82], "two": [0.5, 0.52, 0.5]}))
    first, *others = found.stored.made
    made = (first.model_copy(update={"seeds": (1,)}), first.model_copy(update={"label": "b"}), *others)
    assert seeds_made(found.stored) == "3 seeds"
    assert seeds_made(found.stored.model_copy(update={"made": made})) == "1 to 3 seeds"
    assert seeds_made(found.stored.model_copy(update={"made": made[:1]})) == "1 seed"
    few = replace(found, stored=found.stored.model_copy(update={"made": made}))
    assert "1 to 3 seeds" in shown(shipped_view(few), width=200)
    assert "paper scale, 1 to 3 seeds" not in size_text(found)
    assert "1 to 3 seeds" in size_text(few)


def test_a_reference_alone_is_no_result(tmp_path: Path, tiny: Callable[..., Spec]) -> None:
    """A row of another item says nothing about this one's."""
    (tmp_path / "tiny.yaml").write_text(tiny().yaml(), encoding="utf-8")
    own = {"quick": {"spec": str(tmp_path / "tiny.yaml")}}
    item = claimed_item(claim(claim_test(than="two", above=0)), one=own, two={"reference": True})
    both = shipped_of(item, {"one": [0.8], "two": [0.5]})
    alone = both.model_copy(update={"made": tuple(made for made in both.made if made.label == "demo"), "rows": {}})
    assert [type(each) for each in opened([item], {("whfl", "fig9"): both})] == [Shipped]
    assert opened([item], {("whfl", "fig9"): alone}) == [item]
    assert shipped_counts(opened([item], {("whfl", "fig9"): alone})).verdicts["not run"] == 1


def test_the_item_of_cifar_10_needs_numbers_of_cifar_10() -> None:
    [item] = matching("whfl", "fig3")
    found = shipped_results()["whfl", "fig3"]
    cifar = any("cifar10" in made.label for made in found.made)
    assert is_begun(item, found) == cifar


def test_one_result_beside_its_paper(one: Shipped) -> None:
    text = shown(shipped_view(one), width=200)
    for words in ("0.81 ± 0.01", "0.79 to 0.83", "What we tried: another seed", "demo", "1 to 3", "made by: fedradio"):
        assert words in text
    assert "outdated" not in text
    assert "not finished" not in text


def test_an_item_without_a_result_says_what_it_costs(item: Item) -> None:
    text = shown(shipped_view(item), width=200)
    assert "not run: fedradio reproduce whfl fig9 --scale paper takes about 60 min of CPU time, 3 seeds" in text


def test_outdated_and_unfinished_results_say_so(item: Item) -> None:
    stored = shipped_of(item, {"one": [0.8], "two": [0.5]})
    old = stored.model_copy(
        update={"made": (stored.made[0].model_copy(update={"spec_sha256": "0" * 64}),), "left": ("another",)}
    )
    found = open_shipped(item, old)
    assert size_text(found) == "quick scale, 1 seed, not finished, outdated"
    text = shown(shipped_view(found), width=200)
    assert "outdated: demo: its spec has changed" in text
    assert "not finished" in text


def test_a_superseded_result_says_so_wherever_it_is_shown(item: Item) -> None:
    why = "joules of late senders were counted beyond the deadline (fedradio 0.2)"
    found = open_shipped(item, shipped_of(item, {"one": [0.8], "two": [0.5]}, superseded=why))
    assert size_text(found) == "quick scale, 1 seed, superseded"
    assert "superseded" in shown(shipped_list_view([found]), width=200)
    assert f"superseded: {why}" in shown(shipped_view(found), width=200)
    plain = open_shipped(item, shipped_of(item, {"one": [0.8], "two": [0.5]}))
    assert "superseded" not in shown(shipped_view(plain), width=200)


def test_items_are_opened_with_the_results_that_there_are(item: Item) -> None:
    stored = shipped_of(item, {"one": [0.8]})
    assert isinstance(opened([item], {("whfl", "fig9"): stored})[0], Shipped)
    assert opened([item], {}) == [item]


def test_agreement_and_what_it_was_made_of(one: Shipped) -> None:
    assert agreement(one.result) == "-"
    [[label, seeds, wall, cpu, spec]] = made_rows(one.stored)
    assert (label, seeds, wall, cpu) == ("demo", "1 to 3", "1 min 15 s", "30 s")
    assert one.stored.made[0].spec_sha256.startswith(spec)
    text = made_text(one.stored)
    assert text.startswith("wall time 1 min 15 s, CPU time 30 s; fedradio 1.2, commit aaaaaaaaaaaa, Python 3.11")
    assert Path("demo").name in label
