"""Who becomes a client, and who is sent away."""

from typing import Any

import pytest
import torch
from support.federations import Memory, quiet, spec_of, trainers

from fedradio._version import __version__
from fedradio.core.errors import DataError
from fedradio.remote.flower.letters import Letter, LetterError
from fedradio.remote.flower.roster import Roster, assemble
from fedradio.remote.flower.trainer import Trainer

ASKED = {"samples": (1,)}


def hello(body: dict[str, torch.Tensor] | None = None, **head: Any) -> Letter:
    given = {"samples": torch.tensor([40])} if body is None else body
    return Letter({"client": 1, "fedradio": __version__, "cpu": "AVX2"} | head, given)


def test_a_client_is_entered_with_what_it_announces() -> None:
    roster = Roster(3)
    roster.admit(7, hello(), ASKED)
    assert (roster.node, roster.missing, roster.processors) == ({1: 7}, [0, 2], {1: "AVX2"})
    roster.admit(7, hello(), ASKED)  # the same device again
    roster.admit(7, hello(client=2), ASKED)  # started again with another number
    assert roster.node == {2: 7}


@pytest.mark.parametrize(
    ("letter", "reason"),
    [
        (hello(client=3), "numbered 0 to 2"),
        (hello(client=-1), "numbered 0 to 2"),
        (hello(client=0), "two devices have the same number"),
        (hello(client=None), "not a whole number"),
        (hello(fedradio="0.0.1"), "has fedradio 0.0.1"),
        (hello(refused="no data here"), "no data here"),
        (hello({"labels": torch.tensor([1])}), "contains labels, not samples"),
        (hello({}), "contains nothing, not samples"),
        (hello({"samples": torch.tensor([[1]])}), r"of \(1,\)"),
        (hello({"samples": torch.tensor([1 << 60])}), "invalid number of samples"),
        (hello(client=10**300), "too large"),
        (hello({"samples": torch.tensor([1.5])}), "torch.float32"),
        (hello({"samples": torch.tensor([-1])}), "invalid number of samples"),
        (hello({"samples": torch.tensor([1, 2])}), r"of \(1,\)"),
    ],
)
def test_others_are_refused_with_the_reason(letter: Letter, reason: str) -> None:
    roster = Roster(3)
    roster.admit(5, hello(client=0), ASKED)
    with pytest.raises(LetterError, match=reason):
        roster.admit(6, letter, ASKED)
    assert roster.node == {0: 5}


def test_a_key_is_that_of_one_client() -> None:
    """Node 101 has the key of client 2 and says that it is client 1: it is refused by name, and 1 stays free."""
    spec, said = spec_of(), list[str]()
    mailbox, owner = Memory(trainers(spec)), {100: 0, 101: 2, 102: 5}
    with pytest.raises(DataError, match="these clients are still missing: 1, 2"):
        assemble(mailbox, spec, "r", 3, ASKED, 2.0, said.append, mailbox.clock.now, mailbox.clock.sleep, owner)
    assert "device refused: client 1: this device has the key of client 2" in said
    assert "device refused: client 2: this device has the key of client 5" in said
    roster = Roster(3, owner)
    with pytest.raises(LetterError, match="has the key of client None"):
        roster.admit(999, hello(), ASKED)
    roster.admit(101, hello(client=2), ASKED)
    assert roster.node == {2: 101}


def test_missing_clients_are_named_and_devices_that_cannot_be_clients_sent_away() -> None:
    spec, said = spec_of(), list[str]()
    made = trainers(spec)
    made[2] = Trainer(0, tell=quiet)  # a second client 0
    made[5] = Trainer(9, tell=quiet)  # outside the network
    mailbox = Memory(made)
    with pytest.raises(DataError, match=r"after 2 s these clients are still missing: 2; .*--wait"):
        assemble(mailbox, spec, "r", 3, ASKED, 2.0, said.append, mailbox.clock.now, mailbox.clock.sleep)
    assert "2 of 3 clients are connected" in said
    assert any("client 0 is already connected" in line for line in said)
    assert any("numbered 0 to 2" in line for line in said)
    sent_away = [letter for number, _, letter, _ in mailbox.pushed.values() if number in (2, 5)]
    assert all("refused" in Letter.unpack(letter).head for letter in sent_away)
    made[2].answer(sent_away[0])
    assert made[2].closed
    assert [made[number].closed for number in (0, 1)] == [
        "after 2 s these clients are still missing: 2; start them, or increase --wait"
    ] * 2


def test_devices_are_sent_home_when_the_server_is_interrupted_before_all_are_there() -> None:
    spec = spec_of()
    made = trainers(spec)
    del made[2]
    mailbox, naps = Memory(made), list[float]()

    def interrupted(seconds: float) -> None:
        mailbox.clock.sleep(seconds)
        naps.append(seconds)
        if len(naps) == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        assemble(mailbox, spec, "r", 3, ASKED, 9.0, quiet, mailbox.clock.now, interrupted)
    assert [trainer.closed for trainer in made.values()] == ["the server was interrupted"] * 2


def test_a_device_that_was_sent_away_can_come_again() -> None:
    """Client 2 first says that it is client 9, and is started again before it hears that it is not wanted."""
    spec = spec_of()
    made = trainers(spec)
    right, made[2] = made[2], Trainer(9, tell=quiet)
    mailbox = Memory(made)
    sleep = mailbox.clock.sleep

    def later(seconds: float) -> None:
        sleep(seconds)
        if mailbox.clock.seconds > 1 and mailbox.marks.get(2) is None:
            made[2], mailbox.marks[2] = right, "second"

    roster = assemble(mailbox, spec, "r", 3, ASKED, 9.0, quiet, mailbox.clock.now, later)
    assert roster.node == {0: 100, 1: 101, 2: 102}
    assert mailbox.dropped == ["2-1"]
    assert right.closed is None


def test_a_device_that_was_sent_away_and_left_finds_no_old_letter_when_it_comes_back() -> None:
    """It asks for letters as soon as it is connected, before the server has seen that it is there again."""
    spec = spec_of()
    made = trainers(spec)
    right, made[2] = made[2], Trainer(9, tell=quiet)
    mailbox, found = Memory(made), list[str]()
    sleep = mailbox.clock.sleep

    def leave_and_return(seconds: float) -> None:
        sleep(seconds)
        if mailbox.clock.seconds > 1 and 2 not in mailbox.marks:
            made.pop(2)
            mailbox.marks[2] = "second"
        elif mailbox.clock.seconds > 2 and 2 not in made:
            found.extend(name for name, letter in mailbox.pushed.items() if letter[0] == 2)
            made[2] = right

    roster = assemble(mailbox, spec, "r", 3, ASKED, 9.0, quiet, mailbox.clock.now, leave_and_return)
    assert roster.node == {0: 100, 1: 101, 2: 102}
    assert (found, mailbox.dropped) == ([], ["2-1"])
