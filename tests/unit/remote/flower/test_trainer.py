"""A device's answers: hello, training, state, replayed requests, the end; wrong letters are answered, not suffered."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from support.federations import quiet, spec_of

from fedradio._version import __version__
from fedradio.core.contracts import Samples
from fedradio.core.errors import DataError
from fedradio.remote.flower.letters import FORMAT, Letter
from fedradio.remote.flower.roster import request
from fedradio.remote.flower.trainer import Trainer
from fedradio.rounds.round import begin
from fedradio.spec.build import build

SPEC = spec_of(algorithm={"kind": "scaffold"})


def body() -> dict[str, torch.Tensor]:
    shared = begin(build(SPEC, workers=1)).memory.shared
    return {f"got/{name}": vector for name, vector in shared.items()}


def train(trainer: Trainer, n: int, acked: int, run: str = "run", session: str = "first") -> Letter:
    head = {"t": n, "e": 0, "n": n, "steps": 2, "acked": acked, "session": session}
    return Letter.unpack(trainer.answer(request("train", run, SPEC, head, body())))


def test_it_announces_what_the_algorithm_reveals_and_no_more() -> None:
    trainer = Trainer(1, tell=quiet)
    plain = Letter.unpack(trainer.answer(request("hello", "run", SPEC, {})))
    assert plain.head["client"] == 1
    assert plain.body == {}  # scaffold weighs all alike
    weighed = Letter.unpack(Trainer(1, tell=quiet).answer(request("hello", "run", spec_of(), {})))
    assert list(weighed.body) == ["samples"]
    assert 400 < int(weighed.body["samples"]) < 600


def test_the_state_follows_what_counted(tmp_path: Path) -> None:
    """Had exchange 0 counted, c_i has moved; had it not, training begins as if it had not been."""
    counted, lost = Trainer(0, folder=tmp_path, tell=quiet), Trainer(0, tell=quiet)
    for trainer in (counted, lost):
        assert train(trainer, 0, -1).head["state_lost"] is False
    again = Trainer(0, folder=tmp_path, tell=quiet)  # started again, from its folder
    first, second, third = train(counted, 1, 0), train(lost, 1, -1), train(again, 1, 0)
    assert torch.equal(first.body["payload"], third.body["payload"])
    assert not torch.equal(first.body["payload"], second.body["payload"])


def test_lost_state_is_told() -> None:
    assert train(Trainer(0, tell=quiet), 3, 2).head["state_lost"] is True
    assert train(Trainer(0, tell=quiet), 3, -1).head["state_lost"] is False
    other = Trainer(0, tell=quiet)
    train(other, 0, -1, run="another")
    assert train(other, 0, -1).head["state_lost"] is False  # a new run begins anew


def test_a_request_that_is_replayed_is_refused() -> None:
    trainer = Trainer(0, tell=quiet)
    train(trainer, 1, -1)
    assert train(trainer, 1, -1).head["refused"] == "exchange 1 is already done"
    assert "refused" not in train(trainer, 2, 1).head


def test_a_server_that_resumes_may_ask_for_the_last_exchange_once_more(tmp_path: Path) -> None:
    """It gets the same bits, also from a device that was started again; of an earlier one the state is lost."""
    trainer = Trainer(0, folder=tmp_path, tell=quiet)
    train(trainer, 0, -1)
    first = train(trainer, 1, 0)
    trainer.answer(request("close", "run", SPEC, {"acked": 1}))
    again = Trainer(0, folder=tmp_path, tell=quiet)
    second = train(again, 1, 0, session="second")
    assert torch.equal(first.body["payload"], second.body["payload"])
    assert second.head["state_lost"] is False
    assert train(again, 1, 0, session="second").head["refused"] == "exchange 1 is already done"
    assert train(again, 0, -1, session="third").head["state_lost"] is False  # nothing had been kept before it
    train(again, 3, 0, session="third")
    assert train(again, 2, 1, session="fourth").head["state_lost"] is True


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"noise", "incomplete message"),
        (request("hello", "run", spec_of(), {"fedradio": "0.0.1"}), f"client 1 has fedradio {__version__}"),
        (request("hello", "run", spec_of(), {"spec": None}), "without a spec"),
        (request("hello", "run", spec_of(), {"spec": {"rounds": -1}}), "rounds"),
        (request("obey", "run", spec_of(), {}), "unknown request 'obey'"),
        (request("train", "run", spec_of(), {"t": 0}), "n is not a whole number"),
        (request("hello", "run", spec_of(topology={"kind": "flat", "clients": 1}), {}), "numbered 0 to 0"),
    ],
)
def test_wrong_letters_get_an_answer(data: bytes, reason: str) -> None:
    reply = Letter.unpack(Trainer(1, tell=quiet).answer(data))
    assert reason in reply.head["refused"]


@pytest.mark.parametrize("ask", ["hello", "train"])  # the first letter of one that comes back is not hello
def test_a_device_that_cannot_take_part_is_over(ask: str) -> None:
    trainer = Trainer(5, tell=quiet)
    trainer.answer(request(ask, "run", SPEC, {}))
    assert isinstance(trainer.failed, DataError)
    assert trainer.closed == "client 5 does not exist: the clients of this federation are numbered 0 to 2"


def test_no_file_is_read_that_a_server_names(tmp_path: Path) -> None:
    np.savez(tmp_path / "x.npz", x=np.zeros((9, 4)), y=np.arange(9) % 3)
    spec = spec_of(data={"source": {"kind": "npz", "path": str(tmp_path / "x.npz")}})
    reply = Letter.unpack(Trainer(1, tell=quiet).answer(request("hello", "run", spec, {})))
    assert "does not read files named by the server" in reply.head["refused"]


def test_the_end_settles_the_state_and_a_refusal_is_the_end() -> None:
    trainer = Trainer(0, tell=quiet)
    train(trainer, 0, -1)
    assert trainer._pending is not None
    moved = trainer._pending.counted["c"]
    assert Letter.unpack(trainer.answer(request("close", "run", SPEC, {"acked": 0}))).head["closed"] is True
    assert trainer.closed == ""
    assert torch.equal(trainer._pending.lost["c"], moved)
    other = Trainer(0, tell=quiet)
    head: dict[str, Any] = {"ask": "close", "format": FORMAT, "fedradio": __version__, "refused": "two of you"}
    other.answer(Letter(head, {}).pack())
    assert other.closed == "two of you"


def test_scores_on_samples_of_its_own() -> None:
    x = torch.randn(20, 1, 8, 8, generator=torch.Generator().manual_seed(1))
    y = torch.arange(20) % 10
    spec = spec_of(data={"source": {"kind": "own", "shape": [1, 8, 8], "classes": 10}})
    trainer = Trainer(2, Samples(x, y, x[:6], y[:6], 10, 512.0), tell=quiet)
    w = begin(build(spec_of(), workers=1)).memory.shared["w"]
    letter = request("evaluate", "run", spec, {"t": 1}, {"got/w": w})
    reply = Letter.unpack(trainer.answer(letter))
    assert reply.head["samples"] == 6
    assert 0 <= reply.head["scores"]["accuracy"] <= 1
    without = Trainer(2, Samples(x, y, x[:0], y[:0], 10, 512.0), tell=quiet)
    assert Letter.unpack(without.answer(letter)).head["samples"] == 0


def test_other_samples_of_its_own_are_noticed(tmp_path: Path) -> None:
    """A device that is started again with one label changed is refused, in this run only, and ends."""
    spec = spec_of(data={"source": {"kind": "own", "shape": [1, 8, 8], "classes": 10}})
    x, y = torch.rand(20, 1, 8, 8), torch.arange(20) % 10
    head = {"t": 0, "e": 0, "n": 0, "steps": 1, "acked": -1, "session": "first"}

    def started(labels: torch.Tensor) -> Trainer:
        return Trainer(2, Samples(x, labels, x[:0], y[:0], 10, 512.0), tmp_path, quiet)

    def hello(trainer: Trainer, run: str) -> dict[str, Any]:
        return Letter.unpack(trainer.answer(request("hello", run, spec, {}))).head

    assert "payload" in Letter.unpack(started(y).answer(request("train", "run", spec, head, body()))).body
    other = torch.cat([y[1:2], y[1:]])
    assert "refused" not in hello(started(y), "run")
    assert "refused" not in hello(started(other), "a new run")
    for ask in ("hello", "train", "evaluate"):  # it may come back in the midst of a run
        changed = started(other)
        reply = Letter.unpack(changed.answer(request(ask, "run", spec, head | {"n": 1}, body())))
        assert "has taken part in this run with different samples" in reply.head["refused"]
        assert str(tmp_path) not in reply.head["refused"]
        assert isinstance(changed.failed, DataError)
