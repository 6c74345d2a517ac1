"""Sentences of abstracts: the claims that are evidence for them, and who decides where a claim does not hold."""

from __future__ import annotations

from fedradio.papers.abstracts import abstracts
from fedradio.papers.published import PAPERS, items
from fedradio.papers.shipped import shipped_results

DECIDERS = ("The paper's print", "Our threshold", "Our reading", "Our derivation")


def test_every_sentence_has_claims_or_says_why_not() -> None:
    assert list(abstracts()) == list(PAPERS)
    for paper, sentences in abstracts().items():
        named = {claim.abstract for item in items(paper) for claim in item.claims} - {None}
        assert named <= set(sentences)
        assert {key for key, sentence in sentences.items() if sentence.untested} == set(sentences) - named
    assert all(sentence.fleets for paper in ("rawhfl", "osafl") for sentence in abstracts()[paper].values())


def test_claims_that_do_not_hold_say_what_was_tried_and_who_decides() -> None:
    claims = {(item.paper, item.name, claim.id): claim for item in items() for claim in item.claims}
    refuted = [
        claims[one.paper, one.item, found.id]
        for one in shipped_results().values()
        for found in one.claims
        if found.verdict == "does not hold"
    ]
    assert refuted
    for claim in refuted:
        assert claim.tried, claim.id
        assert (claim.decided_by or "").startswith(DECIDERS), claim.id


def test_our_choices_are_named_as_ours() -> None:
    claims = {claim.id: claim for item in items("whfl") for claim in item.claims}
    assert str(claims["slightly_below_iid"].decided_by).startswith("Our threshold")
    assert str(claims["faster_than_flat"].decided_by).startswith("Our derivation")
