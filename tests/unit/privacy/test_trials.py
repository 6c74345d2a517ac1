"""Every attempt of the list of refusals meets the refusal that it must, on a live service."""

import pytest

from fedradio.privacy.refusals import Refusal
from fedradio.privacy.trials import TRIALS, Trial, flipped, small_service, try_all, try_one, up_to_isp


@pytest.mark.parametrize("trial", TRIALS, ids=lambda trial: trial.what)
def test_an_attempt_is_refused(trial: Trial) -> None:
    assert try_one(trial).refusal is trial.expected


def test_the_list_covers_what_a_message_can_be_refused_for() -> None:
    tried = {trial.expected for trial in TRIALS}
    assert set(Refusal) - tried == {Refusal.MALFORMED, Refusal.UNKNOWN_CONTENT}  # tested with their modules
    assert [trial.what for trial in TRIALS if trial.expected is None] == ["order routed to another cell"]
    assert all(outcome.as_expected for outcome in try_all())


def test_one_bit_is_flipped() -> None:
    request = up_to_isp(small_service())
    changed = flipped(request, "sealed", 9)
    assert changed.sealed[1] ^ request.sealed[1] == 2
    assert changed.sealed[2:] == request.sealed[2:]


def test_a_trial_that_nobody_refuses_is_seen() -> None:
    outcome = try_one(Trial("nothing at all", "UE", Refusal.WRONG_MAC, lambda _: None))
    assert not outcome.as_expected
    assert outcome.party is None
