"""Waiting for replies: in time, late, crashed, started again, nobody there."""

from collections.abc import Collection
from dataclasses import dataclass, field

from fedradio.core.contracts import Reason
from fedradio.remote.flower.mailbox import ask


@dataclass
class Box:
    """Replies by node and the second at which they come; ``marks`` by node and the second from which they hold."""

    replies: dict[int, tuple[float, bytes | None]]
    marks: dict[int, list[tuple[float, str | None]]]
    seconds: float = 0.0
    dropped: list[str] = field(default_factory=list)

    def now(self) -> float:
        return self.seconds

    def sleep(self, seconds: float) -> None:
        self.seconds = round(self.seconds + seconds, 6)

    def online(self) -> dict[int, str]:
        found = {}
        for node, marks in self.marks.items():
            mark = [name for since, name in marks if since <= self.seconds][-1:]
            if mark and mark[0] is not None:
                found[node] = mark[0]
        return found

    def push(self, node: int, letter: bytes) -> str:
        return str(node)

    def pull(self, wanted: Collection[str]) -> dict[str, bytes | None]:
        due = {str(node): reply for node, (at, reply) in self.replies.items() if at <= self.seconds}
        return {name: due[name] for name in wanted if name in due}

    def drop(self, wanted: Collection[str]) -> None:
        self.dropped += wanted


def test_what_becomes_of_letters() -> None:
    """1 replies after a second, 2 reports an error, 3 is late, 4 goes, 5 is started again, 6 was never there."""
    first: list[tuple[float, str | None]] = [(0.0, "a")]
    box = Box(
        {1: (1.0, b"one"), 2: (2.0, None), 3: (50.0, b"late")},
        {1: first, 2: first, 3: first, 4: [(0.0, "a"), (3.0, None)], 5: [(0.0, "a"), (4.0, "b")]},
    )
    answers = ask(box, dict.fromkeys(range(1, 7), b""), 10.0, box.now, box.sleep)
    reasons = {node: answer.reason for node, answer in answers.items()}
    crashed = Reason.CRASHED
    assert reasons == {1: Reason.NONE, 2: crashed, 3: Reason.DEADLINE, 4: crashed, 5: crashed, 6: crashed}
    assert answers[1].reply == b"one"
    assert {node: round(answers[node].seconds) for node in range(1, 6)} == {1: 1, 2: 2, 3: 10, 4: 3, 5: 4}
    assert sorted(box.dropped) == ["3", "4", "5"]


def test_where_nobody_is_there_somebody_may_come_back() -> None:
    box = Box({1: (8.0, b"back")}, {1: [(0.0, None), (7.0, "a")]})
    assert ask(box, {1: b""}, 10.0, box.now, box.sleep)[1].reply == b"back"
    box = Box({}, {})
    assert ask(box, {1: b""}, 10.0, box.now, box.sleep)[1].reason is Reason.CRASHED
    assert round(box.seconds) == 10
