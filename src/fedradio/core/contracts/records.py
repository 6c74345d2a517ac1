"""Records of a run: its header, exchanges, rounds and evaluations, as plain data that needs no torch to be read.

None is undefined. A record of an exchange lists the active senders only, so that its size is theirs and not that of
everybody who is registered; :meth:`ExchangeRecord.dense` has a value for every sender.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

STRICT = {"extra": "forbid", "strict": True, "allow_inf_nan": False}
"""How readers check records: no foreign fields, no conversions, no NaN or infinity."""

Axis = Literal["active", "sender", "receiver"]
"""What the values of a note belong to: the active senders of an exchange, all senders, or the receivers."""

Number = bool | int | float

NOTHING = "none"
"""Reason of a payload that counts; also the commonest reason of the idle where nobody is idle."""


@dataclass(frozen=True)
class Header:
    """First record of a run: format, version of fedradio, and how many senders and receivers every hop has."""

    format: int
    fedradio: str
    senders: list[int]
    receivers: list[int]

    __pydantic_config__ = STRICT


@dataclass(frozen=True)
class Note:
    """Further quantity of an exchange: one value for each of its ``axis``.

    If only active senders have values, ``rest`` is that of all others.
    """

    axis: Axis
    values: list[Number]
    rest: Number = 0.0

    __pydantic_config__ = STRICT

    def dense(self, ids: Sequence[int], senders: int) -> list[Number]:
        """A value for every sender or receiver."""
        return self.values if self.axis != "active" else _spread(self.values, ids, senders, self.rest)


@dataclass(frozen=True)
class ExchangeRecord:
    """Record of one exchange of a hop: the active senders with their values, totals, seconds per receiver.

    ``ids [A]`` are the active senders, rising; ``why [A]`` names the reason of a payload that did not count, else
    ``none``. ``rest`` names the commonest reason of the idle, who are not listed; ``idle`` lists those with any other
    reason. ``seconds [A]`` end a sender's upload, ``time_s [R]`` the exchange at a receiver; ``bits`` were put on the
    link by all senders, ``uses`` counts channel uses. ``now_s`` is the simulated time at which the exchange opened;
    ``wait_j [A]`` is the energy of waiting, neither computing nor sending, until the exchange ends (None: devices draw
    no power then). Of a
    federation of real devices ``planned_s [A]`` and ``planned_j [A]`` are what the radio was planned to take,
    ``measured_s [A]`` the seconds from a request to its reply, ``train_s [A]`` those of training, ``wire_bits [A]`` the
    size of the reply (None: there was no reply).
    """

    t: int
    hop: int
    e: int
    ids: list[int]
    arrived: list[bool]
    why: list[str]
    steps: list[int]
    cpu_hz: list[float] | None
    power_w: list[float] | None
    seconds: list[float] | None
    compute_j: list[float] | None
    tx_j: list[float] | None
    rest: str
    idle: dict[str, list[int]]
    bits: float | None
    uses: float | None
    time_s: list[float] | None
    effective: list[float]
    notes: dict[str, Note]
    now_s: float | None = None
    wait_j: list[float] | None = None
    planned_s: list[float] | None = None
    planned_j: list[float] | None = None
    measured_s: list[float | None] | None = None
    train_s: list[float | None] | None = None
    wire_bits: list[float | None] | None = None

    __pydantic_config__ = STRICT

    @property
    def joules(self) -> list[float] | None:
        """Joules of computing, sending and waiting of the active senders, ``[A]``; None where computing or sending is
        undefined."""
        if self.compute_j is None or self.tx_j is None:
            return None
        busy = [compute_j + tx_j for compute_j, tx_j in zip(self.compute_j, self.tx_j, strict=True)]
        return busy if self.wait_j is None else [a + b for a, b in zip(busy, self.wait_j, strict=True)]

    def dense(self, senders: int) -> DenseExchange:
        """The same record with a value for each of the hop's ``senders``: 0 for the idle, everybody's reason."""
        reason = [self.rest] * senders
        for name, idle in self.idle.items():
            for sender in idle:
                reason[sender] = name
        for sender, name in zip(self.ids, self.why, strict=True):
            reason[sender] = name

        def spread(values: list[float] | None) -> list[float] | None:
            return None if values is None else _spread(values, self.ids, senders, 0.0)

        return DenseExchange(
            t=self.t,
            hop=self.hop,
            e=self.e,
            active=_spread([True] * len(self.ids), self.ids, senders, False),
            arrived=_spread(self.arrived, self.ids, senders, False),
            reason=reason,
            steps=_spread(self.steps, self.ids, senders, 0),
            cpu_hz=spread(self.cpu_hz),
            power_w=spread(self.power_w),
            seconds=spread(self.seconds),
            compute_j=spread(self.compute_j),
            tx_j=spread(self.tx_j),
            bits=self.bits,
            uses=self.uses,
            time_s=self.time_s,
            effective=self.effective,
            notes={name: note.dense(self.ids, senders) for name, note in self.notes.items()},
            wait_j=spread(self.wait_j),
        )


@dataclass(frozen=True)
class DenseExchange:
    """Record of an exchange with a value for every sender, ``[S]``, active or not."""

    t: int
    hop: int
    e: int
    active: list[bool]
    arrived: list[bool]
    reason: list[str]
    steps: list[int]
    cpu_hz: list[float] | None
    power_w: list[float] | None
    seconds: list[float] | None
    compute_j: list[float] | None
    tx_j: list[float] | None
    bits: float | None
    uses: float | None
    time_s: list[float] | None
    effective: list[float]
    notes: dict[str, list[Number]]
    wait_j: list[float] | None = None


MAIN_SCORES = {"accuracy": True, "rmse": False}
"""Main scores of evaluations, and whether more is better. Every evaluation with metrics has one of them."""


def main_score(metrics: Iterable[str]) -> str:
    """Name of the main score among these metrics; ``accuracy`` if there is none."""
    known = set(metrics)
    return next((name for name in MAIN_SCORES if name in known), "accuracy")


def is_better(name: str, one: float, other: float) -> bool:
    """Whether one value of a main score is better than another."""
    return one > other if MAIN_SCORES[name] else one < other


@dataclass(frozen=True)
class EvaluationRecord:
    """Record of an evaluation after ``round`` rounds: metrics, and what had been spent by then.

    With several evaluation groups, ``groups[metric] [G]`` has the accuracy of each (None: a group without samples). In
    a federation that evaluates on its devices, a record without metrics says that none of them could be asked.
    """

    round: int
    metrics: dict[str, float]
    groups: dict[str, list[float | None]] = field(default_factory=dict)
    time_s: float | None = None
    energy_j: float | None = None
    bits: float | None = None

    __pydantic_config__ = STRICT


@dataclass(frozen=True)
class ShelfRecord:
    """What one placement did in an edge round, with one capacity: per edge ``[R]``.

    ``hits`` and ``misses`` of the requests, files ``moved`` ahead, ``expected`` hits by the true law, bits of missed
    and of moved files, ``seconds`` of all deliveries together, ``stored_bits`` at the end; ``report_bits`` of what all
    clients told their edges for it, ``fetch_bits`` of control on the backhaul by which its edges asked for files (None:
    not counted).
    """

    hits: list[int]
    misses: list[int]
    moved: list[int]
    expected: list[float]
    miss_bits: list[float]
    moved_bits: list[float]
    seconds: list[float]
    stored_bits: list[float]
    report_bits: float
    fetch_bits: float | None = None

    __pydantic_config__ = STRICT


@dataclass(frozen=True)
class CacheRecord:
    """Record of the caches in one edge round of ``slots`` slots: what every placement did with the same requests.

    ``requests [R]`` were made, ``wanted [R]`` expected by the true law; ``files`` were ever asked for so far.
    ``down_bits`` are those of models on their way down the backhaul, counted with the first edge round of a round
    (None: undefined); ``access_bits`` and ``control_bits`` the control of all requests on the access link and on the
    backhaul.
    """

    t: int
    e: int
    slots: int
    requests: list[int]
    wanted: list[float]
    files: int
    down_bits: float | None
    access_bits: float
    control_bits: float
    shelves: dict[str, ShelfRecord]

    __pydantic_config__ = STRICT


@dataclass(frozen=True)
class RoundRecord:
    """Record of one round: simulated seconds, joules (computing, transmitting per hop), bits per hop, training loss.

    ``wait_j`` is the energy of waiting per hop; None where no device draws power then. ``wall_s`` are the seconds that
    it took to simulate; ``evaluation`` is that of the state after it, if there was one, ``caches`` are the records of
    its edge rounds, where there are caches; both are records of their own in a file.
    """

    t: int
    time_s: float | None
    energy_j: float | None
    compute_j: float | None
    tx_j: list[float | None]
    bits: list[float | None]
    train_loss: float | None
    wall_s: float | None = None
    wait_j: list[float] | None = None
    evaluation: EvaluationRecord | None = None
    caches: tuple[CacheRecord, ...] = ()

    __pydantic_config__ = STRICT

    @property
    def metrics(self) -> dict[str, float]:
        """Metrics of the round's evaluation; empty without one."""
        return {} if self.evaluation is None else self.evaluation.metrics

    @property
    def groups(self) -> dict[str, list[float | None]]:
        """Accuracies of the evaluation groups; empty without an evaluation or with a single group."""
        return {} if self.evaluation is None else self.evaluation.groups


Record = ExchangeRecord | RoundRecord | EvaluationRecord | CacheRecord


def _spread(values: Iterable[Any], ids: Iterable[int], senders: int, rest: Any) -> list[Any]:
    """Values of the senders ``ids`` in a list of all senders."""
    spread = [rest] * senders
    for sender, value in zip(ids, values, strict=True):
        spread[sender] = value
    return spread
