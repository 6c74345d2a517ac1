"""What stored runs tell of claims, without running anything."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from support.claimed import claim, claim_test, claimed_item
from support.reproductions import made
from support.scripts import script

from fedradio.papers import costs
from fedradio.papers import make as making
from fedradio.papers.absence import Reason
from fedradio.papers.items import Item
from fedradio.papers.known import VERDICTS, known_claims, scale_of
from fedradio.papers.plan import group, plan_reproduction
from fedradio.papers.published import items
from fedradio.papers.shipped import shipped_results
from fedradio.spec.spec import Spec

ABOVE = claim(claim_test(above=-1), id="above")
LONG = claim(claim_test("long", than="one", above=0), id="long_one")
SMALL = claim(claim_test(exact=True, below=2), id="small")
CLOSED = claim(id="closed", not_testable="its data are not public")


@pytest.fixture
def item(tmp_path: Path, tiny: Callable[..., Spec]) -> Item:
    (tmp_path / "tiny.yaml").write_text(tiny().yaml(), encoding="utf-8")
    return claimed_item(ABOVE, LONG, SMALL, CLOSED, spec=str(tmp_path / "tiny.yaml"))


def judgements(item: Item, out: Path, **given: Any) -> dict[str, str]:
    return {one.judged.claim.id: one.judged.judgement for one in known_claims([item], out, **given)}


def test_without_runs_nothing_is_known_and_commands_are_given(
    item: Item, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    labels = {group(unit) for unit in plan_reproduction(item, "quick", 1, out).units}
    monkeypatch.setenv("FEDRADIO_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(costs, "shipped_costs", lambda: {label: 240.0 / len(labels) for label in labels})
    above, long, small, closed = known_claims([item], out)
    assert [one.judged.judgement for one in (above, long, small, closed)] == ["not run"] * 3 + ["not testable"]
    assert above.command == f"fedradio reproduce whfl fig9 --scale quick --seeds 5 --out {out}"
    assert long.command == f"fedradio reproduce whfl fig9 --scale paper --seeds 5 --out {out}"
    assert small.command == f"fedradio reproduce whfl fig9 --scale quick --out {out}"  # one seed decides
    assert closed.command == ""
    assert above.left_s == pytest.approx(5 * 240)
    assert (above.scale, above.seeds) == (None, ())
    assert not out.exists()


def test_all_stored_seeds_are_used_and_nothing_is_run(
    item: Item, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    made(plan_reproduction(item, "quick", (3, 7), out))
    monkeypatch.setattr(making, "run_batch", lambda *_, **__: pytest.fail("nothing is to be run"))
    above, long, small, _ = known_claims([item], out)
    assert (above.scale, above.seeds) == ("quick", (3, 7))
    assert list(above.judged.tests[0].values) == [3, 7]
    assert (small.judged.judgement, small.command) == ("holds", "")
    assert long.judged.judgement == "not testable at this scale"
    assert "--scale paper" in long.command
    assert judgements(item, out, seeds=(3,))["above"] == "undecided"
    assert "--seeds 5" in known_claims([item], out, seeds=(3,))[0].command
    assert judgements(item, out, seeds=(4,))["above"] == "not run"


def test_the_published_scale_tells_more_than_the_quick_one(item: Item, tmp_path: Path) -> None:
    out = tmp_path / "out"
    made(plan_reproduction(item, "quick", 1, out))
    made(plan_reproduction(item, "paper", 1, out))
    small = known_claims([item], out)[2]
    assert (small.judged.judgement, small.scale) == ("holds", "paper")


@pytest.fixture
def tool(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    return script("tools/publish.py", monkeypatch)


def test_the_most_seeds_at_the_largest_scale_are_the_evidence(item: Item, tool: ModuleType, tmp_path: Path) -> None:
    out, mine = tmp_path / "out", tmp_path / "mine"
    made(plan_reproduction(item, "paper", (1, 2), out))
    results = {("whfl", "fig9"): tool.shipped_result(plan_reproduction(item, "paper", (1, 2), out))}

    def known(**given: Any) -> dict[str, tuple[str | None, str | None, tuple[int, ...]]]:
        listed = known_claims([item], mine, shipped=results, **given)
        return {one.judged.claim.id: (one.scale, one.origin, one.seeds) for one in listed}

    assert known()["above"] == ("paper", "shipped", (1, 2))
    assert known()["closed"] == (None, None, ())
    assert known(seeds=(2, 3))["above"] == ("paper", "shipped", (2,))
    assert known(seeds=(3,))["above"] == (None, None, ())
    made(plan_reproduction(item, "quick", (1, 2, 3), mine))
    assert known()["above"] == ("paper", "shipped", (1, 2))
    made(plan_reproduction(item, "paper", (3,), mine))
    assert known()["above"] == ("paper", "shipped", (1, 2))
    made(plan_reproduction(item, "paper", (4,), mine))
    assert known()["above"] == ("paper", "stored", (3, 4))  # as many, and your own
    assert known()["long_one"] == ("paper", "stored", (3, 4))
    above = known_claims([item], mine, (3,), shipped=results)[0]
    assert above.judged.judgement == "undecided"
    assert f"--scale paper --seeds 5 --out {mine}" in above.command  # no quick run could outweigh it


def test_claims_of_shipped_results_have_their_verdicts_without_any_run(tmp_path: Path) -> None:
    listed = known_claims(items(), tmp_path)
    shipped = {
        (one.paper, one.item, claim.id): claim.verdict for one in shipped_results().values() for claim in one.claims
    }
    assert {one.origin for one in listed if one.judged.judgement in VERDICTS} == {"shipped"}
    for one in listed:
        verdict = shipped.get((one.item.paper, one.item.name, one.judged.claim.id), "not run")
        assert one.judged.judgement == ("not testable" if one.judged.claim.not_testable else verdict)


def test_runs_of_another_spec_do_not_count(item: Item, tmp_path: Path, tiny: Callable[..., Spec]) -> None:
    out = tmp_path / "out"
    made(plan_reproduction(item, "quick", 1, out))
    (tmp_path / "tiny.yaml").write_text(tiny("rounds=3").yaml(), encoding="utf-8")
    small = known_claims([item], out)[2]
    assert small.judged.judgement == "not testable"
    assert Reason.OTHER_SPEC in small.judged.why


def test_the_scale_that_a_claim_needs() -> None:
    item = claimed_item(ABOVE, LONG, claim(claim_test(above=0), id="large", scale="paper"))
    assert [scale_of(item, one) for one in item.claims] == ["quick", "paper", "paper"]
