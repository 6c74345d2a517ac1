"""Who took part, and why not."""

import numpy as np

from fedradio.core.contracts import Reason
from fedradio.report.page.sections.participation import states
from fedradio.results.run import Participation


def test_states_tell_losses_from_absences() -> None:
    late, idle = int(Reason.DEADLINE), int(Reason.NOT_SELECTED)
    seen = Participation(
        active=np.array([[True, True, False, False]]),
        arrived=np.array([[True, False, False, False]]),
        reason=np.array([[0, late, late, idle]]),
        steps=np.zeros((1, 4), dtype=np.int64),
        joules=None,
    )
    found, words = states(seen)
    names = list(words)
    assert [names[place] for place in found[0]] == ["arrived", "selected, but late", "deadline", "not selected"]
