"""Local rules as parts."""

from fedradio.core.contracts import LocalRule
from fedradio.engine.rules import adam, sgd


def test_keywords_become_the_rule() -> None:
    assert sgd(lr=0.3, batch=7, momentum=0.9, keep_state=True, updates_per_step=2) == LocalRule(
        lr=0.3, batch=7, momentum=0.9, keep_state=True, updates_per_step=2, schedule=LocalRule.schedule
    )
    found = adam(lr=0.2, batch=3, beta1=0.5, beta2=0.6, eps=0.1, keep_state=False, updates_per_step=4)
    assert (found.optimiser, found.lr, found.batch) == ("adam", 0.2, 3)
    assert (found.beta1, found.beta2, found.eps) == (0.5, 0.6, 0.1)
    assert (found.keep_state, found.updates_per_step) == (False, 4)


def test_adam_keeps_its_moments_unless_told_otherwise() -> None:
    assert adam().keep_state
    assert not sgd().keep_state
    assert sgd().state_names == ()
