"""Refusals name who and why, and nothing else."""

from fedradio.privacy.refusals import Refusal, Refused


def test_a_refusal_names_who_and_why() -> None:
    error = Refused("ISP", Refusal.OLD_COUNT)
    assert str(error) == "ISP refuses: count not above the last one"
    assert (error.party, error.refusal) == ("ISP", Refusal.OLD_COUNT)


def test_no_two_reasons_read_alike() -> None:
    assert len({refusal.value for refusal in Refusal}) == len(Refusal)
