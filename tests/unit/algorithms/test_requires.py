"""Rules that algorithms refuse."""

import pytest

from fedradio.algorithms.requires import require_sgd
from fedradio.core.contracts import LocalRule
from fedradio.core.errors import SpecError


def test_only_sgd_of_this_rounds_gradients() -> None:
    require_sgd("fednova", LocalRule(0.1, momentum=0.9))
    with pytest.raises(SpecError, match="fednova divides changes") as caught:
        require_sgd("fednova", LocalRule(0.1, optimiser="adam"))
    assert caught.value.problems[0].path == "rule.kind"
    with pytest.raises(SpecError, match="contains older ones") as caught:
        require_sgd("fednova", LocalRule(0.1, momentum=0.9, keep_state=True))
    assert caught.value.problems[0].path == "rule.keep_state"
