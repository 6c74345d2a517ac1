"""Records of exchanges: what the sparse form says of every sender, by hand."""

from support.records import evaluation, exchange, round_

from fedradio.core.contracts import Note


def test_a_dense_record_by_hand() -> None:
    """Five senders: 1 and 3 active, 3 late; 0 and 4 were not selected, 2 had no energy."""
    sparse = exchange(
        ids=[1, 3],
        arrived=[True, False],
        why=["none", "deadline"],
        steps=[2, 4],
        seconds=[1.5, 9.0],
        tx_j=[0.25, 0.5],
        idle={"energy": [2]},
        effective=[1.0, 0.0],
        notes={
            "power": Note("active", [7.0, 8.0], rest=-1.0),
            "score": Note("sender", [0.0, 0.1, 0.2, 0.3, 0.4]),
            "eligible": Note("receiver", [2, 1]),
        },
    )
    dense = sparse.dense(5)
    assert dense.active == [False, True, False, True, False]
    assert dense.arrived == [False, True, False, False, False]
    assert dense.reason == ["not_selected", "none", "energy", "deadline", "not_selected"]
    assert dense.steps == [0, 2, 0, 4, 0]
    assert dense.seconds == [0.0, 1.5, 0.0, 9.0, 0.0]
    assert dense.tx_j == [0.0, 0.25, 0.0, 0.5, 0.0]
    assert (dense.cpu_hz, dense.compute_j, dense.effective) == (None, None, [1.0, 0.0])
    assert dense.notes == {
        "power": [-1.0, 7.0, -1.0, 8.0, -1.0],
        "score": [0.0, 0.1, 0.2, 0.3, 0.4],
        "eligible": [2, 1],
    }


def test_nobody_and_everybody() -> None:
    nobody = exchange(ids=[], rest="energy").dense(3)
    assert (nobody.active, nobody.reason, nobody.steps) == ([False] * 3, ["energy"] * 3, [0] * 3)
    everybody = exchange(ids=[0, 1, 2], rest="none").dense(3)
    assert (everybody.active, everybody.reason, everybody.steps) == ([True] * 3, ["none"] * 3, [1] * 3)


def test_joules_are_those_of_computing_and_sending() -> None:
    assert exchange(compute_j=[1.0, 2.0], tx_j=[0.5, 0.25]).joules == [1.5, 2.25]
    assert exchange(compute_j=[1.0, 2.0]).joules is None


def test_a_round_has_the_metrics_of_its_evaluation() -> None:
    assert (round_().metrics, round_().groups) == ({}, {})
    known = evaluation(1, {"accuracy": [0.5, None]}, accuracy=0.5)
    assert round_(evaluation=known).metrics == {"accuracy": 0.5}
    assert round_(evaluation=known).groups == {"accuracy": [0.5, None]}
