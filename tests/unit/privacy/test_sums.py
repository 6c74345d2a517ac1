"""Masked sums: by hand, exact with and without dropouts, noise to everybody else, and what is refused."""

import numpy as np
import pytest

from fedradio.core.rng import Rng
from fedradio.privacy.secret import Secret
from fedradio.privacy.sums import (
    MOST_MEMBERS,
    SCALE,
    SEED_BITS,
    Collector,
    Member,
    Slot,
    SumRefused,
    cell,
    mask,
    rounded,
)

SLOT = Slot(3)


def reports(members: list[Member], demand: np.ndarray, slot: Slot = SLOT) -> dict[int, np.ndarray]:
    return {member.number: member.report(demand[i], slot) for i, member in enumerate(members)}


def test_masks_cancel_by_hand() -> None:
    """Demands .5 and .25 with masks +7 and -7 modulo 2^32."""
    plain = rounded(np.array([0.5, 0.25]))
    assert plain.tolist() == [524288, 262144]
    masked = plain + np.array([7, -7]).astype(np.uint32)
    assert masked.tolist() == [524295, 262137]
    assert int(masked.sum(dtype=np.uint32)) == 786432 == 0.75 * SCALE


@pytest.mark.parametrize("members", [2, 3, 12])
def test_the_sum_is_exactly_that_of_the_rounded_numbers(members: int) -> None:
    demand = Rng(1).numpy().random((members, 64))
    made, edge = cell(range(10, 10 + members))
    total = edge.total(reports(made, demand), SLOT)
    assert (total == np.rint(demand * SCALE).sum(axis=0) / SCALE).all()
    assert np.abs(total - demand.sum(axis=0)).max() <= members * 2.0**-21


@pytest.mark.parametrize("gone", [[0], [11], [4, 7], list(range(10))])
def test_the_sum_of_those_who_reported_is_exact_too(gone: list[int]) -> None:
    demand = Rng(2).numpy().random((12, 33))
    made, edge = cell(range(12))
    sent = {who: report for who, report in reports(made, demand).items() if who not in gone}
    assert edge.absent(sent) == gone
    revealed = {member.number: member.reveal(gone, SLOT) for member in made if member.number in sent}
    assert {8 * len(seed) for seeds in revealed.values() for seed in seeds.values()} == {SEED_BITS} == {256}
    total = edge.total(sent, SLOT, revealed)
    assert (total == np.rint(demand[sorted(sent)] * SCALE).sum(axis=0) / SCALE).all()


def test_a_sum_with_a_seed_missing_is_refused() -> None:
    made, edge = cell(range(3))
    sent = reports(made, np.zeros((3, 4)))
    del sent[1]
    with pytest.raises(SumRefused, match="member 0 has not revealed its mask seed with member 1"):
        edge.total(sent, SLOT)


def test_single_reports_and_their_sum_are_noise_to_the_base_station() -> None:
    demand = np.full((12, 4096), 0.25)
    made, _ = cell(range(12))
    sent = reports(made, demand)
    for words in [*sent.values(), np.sum(list(sent.values()), axis=0, dtype=np.uint32)]:
        share = words / 2.0**32
        assert abs(share.mean() - 0.5) < 5 * (1 / 12 / 4096) ** 0.5
        assert np.bincount((8 * share).astype(int), minlength=8).min() > 400  # of 512 on average


def test_slots_and_series_have_masks_of_their_own() -> None:
    made, edge = cell(range(2))
    zero = np.zeros(16)
    masks = [made[0].report(zero, slot).tobytes() for slot in (Slot(0), Slot(1), Slot(0, 1))]
    assert len(set(masks)) == 3
    with pytest.raises(SumRefused, match="already"):
        made[0].report(zero, Slot(0))
    other = edge.total({0: made[0].report(zero, Slot(5)), 1: made[1].report(zero, Slot(6))}, Slot(5))
    assert other.any()  # reports of different slots do not cancel


def test_no_sum_is_somebodys_own_report() -> None:
    (alone,), _ = cell([0])
    with pytest.raises(SumRefused, match="own report"):
        alone.report(np.zeros(4), SLOT)
    made, edge = cell(range(3))
    sent = reports(made, np.zeros((3, 4)))
    for absent in ([1, 2], [0]):
        with pytest.raises(SumRefused, match="own report"):
            made[0].reveal(absent, SLOT)
    with pytest.raises(SumRefused, match="own report"):
        edge.total({0: sent[0]}, SLOT)
    made[0].reveal([1], SLOT)
    with pytest.raises(SumRefused, match="already"):  # two different answers would lay more bare
        made[0].reveal([2], SLOT)


def test_demands_that_do_not_fit_are_refused() -> None:
    for wrong in (-0.1, 1.1, np.nan, np.inf):
        with pytest.raises(SumRefused, match="between 0 and 1"):
            rounded(np.array([wrong]))
    assert MOST_MEMBERS == 4095
    with pytest.raises(SumRefused, match="4095"):
        Collector().meet({number: bytes(32) for number in range(MOST_MEMBERS + 1)})


def test_a_mask_is_the_chacha20_stream_of_rfc_8439() -> None:
    """Appendix A.1, test vector 1: key, counter and nonce 0."""
    words = mask(Secret(bytes(32)), 16)
    assert (
        words.astype("<u4")
        .tobytes()
        .hex()
        .startswith("76b8e0ada0f13d90405d6ae55386bd28bdd219b8a08ded1aa836efcc8b770dc7")
    )
    assert repr(Collector()) == "Collector(0 members)"
    assert repr(Member(number=3)) == "Member(3)"
