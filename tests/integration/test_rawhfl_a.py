"""x"""

from fedradio.core.contracts import Reason
from fedradio.rounds.round import begin, run_round


def test_clients_without_data_leave_their_place_to_others() -> None:
    """A growing stream without history: only those with samples are eligible, and are selected."""
    sim = build(load_spec("rawhfl", ["data.stream.history=0", "hops.0.policy.max_steps=1"]))  # noqa
    _, _, exchanges = run_round(sim, begin(sim), evaluate=False)
    first = exchanges[0]
    have = sum(reason != Reason.NO_DATA for reason in first.reason)
    assert 0 < have < 48
    assert sum(first.notes["eligible"]) <= have
    assert sum(first.active) == 16
