"""The server side of a federation: the clients of a run are devices somewhere else.

The spec's channel, link and policy plan every exchange as in a simulation. A payload counts if the plan lets it arrive
and the device's reply is there before the deadline. A late, crashed or garbled reply is a record with a reason.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import torch
from torch import Tensor

from fedradio.core.contracts import BITS, LOSS, Measured, Noted, Reason, SimState, Slots, Updates
from fedradio.core.errors import DataError
from fedradio.remote.flower.letters import Letter, LetterError
from fedradio.remote.flower.mailbox import Answer, Mailbox, ask
from fedradio.remote.flower.roster import Roster, Tell, dismissal, request
from fedradio.remote.flower.state import NEVER
from fedradio.rounds.commit import Writes
from fedradio.rounds.evaluation import Evaluation
from fedradio.rounds.norm_layers import NORMS, sends_norms, without_norms
from fedradio.rounds.parts import CLIENTS, recall
from fedradio.rounds.planning import Planned
from fedradio.rounds.simulation import Simulation
from fedradio.rounds.tiers import Tier
from fedradio.rounds.work import Clients, client_updates, training_notes
from fedradio.spec.spec import Spec
from fedradio.transforms.chain import messages

LEAST_S = 60.0
"""Seconds that a device gets at least, unless the deadline is given."""

TIMES_PLANNED = 10.0
"""Planned durations that a device gets, unless the deadline is given."""

ACKED = "acked"
"""Name of what the state of a run keeps of its clients: the last exchange of each whose upload counted."""

Ask = Callable[[Mailbox, dict[int, bytes], float], dict[int, Answer]]


@dataclass
class Federation(Clients):
    """The devices of a federation as the clients of a run.

    ``run`` names the run, also when it is resumed, ``session`` this process. ``deadline_s`` is the time for a reply
    (None: ten times the planned one, at least a minute); ``acked [C]`` is the last exchange of every client whose
    upload counted, as in the state of the run; ``trouble`` is what was last told of a client; ``strangers`` are nodes
    that have been sent away; ``own``: test samples are the devices' own as well.
    """

    mailbox: Mailbox
    roster: Roster
    spec: Spec
    run: str
    deadline_s: float | None = None
    own: bool = False
    tell: Tell = print
    ask: Ask = ask
    session: str = field(default_factory=partial(secrets.token_hex, 8))
    acked: Tensor | None = None
    trouble: dict[int, str] = field(default_factory=dict)
    strangers: set[int] = field(default_factory=set)

    def describe(self) -> dict[str, Any]:
        """What a run folder remembers of the devices: no names and no addresses."""
        processors = [self.roster.processors.get(number, "") for number in range(self.roster.clients)]
        return {"run": self.run, "deadline_s": self.deadline_s, "own_data": self.own, "processors": processors}

    def start(self, clients: int) -> Slots:
        """Nobody's upload has counted yet."""
        return {ACKED: torch.full((clients,), NEVER)}

    def work(self, sim: Simulation, state: SimState, tier: Tier, planned: Planned) -> tuple[Updates, Writes]:
        self._turn_away()
        self.acked, x = recall(state.parts, CLIENTS)[ACKED], planned.x
        ids: list[int] = x.alloc.active.nonzero().squeeze(1).tolist()
        body = _vectors({name: rows[0] for name, rows in tier.shared.items()}, tier.norms)
        letters = {}
        for number in ids:
            head: dict[str, Any] = {"t": x.clock.t, "e": x.clock.e, "n": x.clock.n, "steps": int(x.alloc.steps[number])}
            head |= {"acked": int(self.acked[number]), "session": self.session}
            letters[self.roster.node[number]] = request("train", self.run, self.spec, head, body)
        answers = self.ask(self.mailbox, letters, self._deadline(planned))
        replies = [self._reply(sim, number, answers[self.roster.node[number]], x.clock.n) for number in ids]
        updates = _updates(sim, state, planned, replies)
        acked = torch.where(updates.arrived, x.clock.n, self.acked[updates.ids])
        return updates, Writes(updates.ids, {CLIENTS: {ACKED: acked}})

    def _turn_away(self) -> None:
        """Send devices away that have come after the run has begun and are none of its clients."""
        for node in self.mailbox.online().keys() - set(self.roster.node.values()) - self.strangers:
            self.strangers.add(node)
            self.mailbox.push(node, dismissal("the run started without this device"))

    def _deadline(self, planned: Planned) -> float:
        if self.deadline_s is not None:
            return self.deadline_s
        done = planned.airtime.done_s
        active = planned.x.alloc.active
        slowest = 0.0 if done is None else float(done[active].nan_to_num(posinf=0.0).max())
        return max(LEAST_S, TIMES_PLANNED * slowest)

    def _reply(self, sim: Simulation, number: int, answer: Answer, n: int) -> Reply:
        """The checked reply of a client; one that is not what it should be counts as none."""
        letter, reason = None, answer.reason
        if answer.reply is not None:
            try:
                letter = checked(sim, Letter.unpack(answer.reply), number, n)
            except (LetterError, RuntimeError) as error:
                self._say(n, number, str(error))
                reason = Reason.CRASHED
        elif reason is not Reason.NONE:
            self._say(
                n, number, "did not reply before the deadline" if reason is Reason.DEADLINE else "is not connected"
            )
        if letter is not None:
            self._say(n, number, "")
        return Reply(letter, answer.seconds, reason, 0 if answer.reply is None else len(answer.reply))

    def _say(self, n: int, number: int, trouble: str) -> None:
        """Tell of a client's trouble when it begins, changes and ends."""
        if trouble != self.trouble.get(number, ""):
            self.tell(f"round {n}: client {number}: {trouble or 'is back'}")
            self.trouble[number] = trouble

    def evaluate(self, sim: Simulation, state: SimState) -> Evaluation | None:
        """Accuracy and loss on the devices' own test samples, weighed by their numbers; None where the server has its
        own."""
        if not self.own:
            return None
        shared = without_norms(state.memory.shared)
        body, t = _vectors(shared, state.memory.shared.get(NORMS)), state.t
        letter = request("evaluate", self.run, self.spec, {"t": t}, body)
        letters = dict.fromkeys(self.roster.node.values(), letter)
        answers = self.ask(self.mailbox, letters, self.deadline_s or LEAST_S)
        scores: dict[int, tuple[int, dict[str, float]]] = {}
        for number, node in sorted(self.roster.node.items()):
            reply = answers[node].reply
            try:
                if reply is not None:
                    scores[number] = _scores(Letter.unpack(reply), number)
            except LetterError as error:
                self.tell(f"evaluation after round {t}: client {number}: {error}")
        result = combined(scores, self.roster.clients, t)
        if not result.metrics:
            self.tell(f"evaluation after round {t}: no device with test samples has answered; this round has no scores")
        return result

    def close(self) -> None:
        """Tell every device that is there that the run is over, and which of its uploads counted last."""
        there = self.mailbox.online()
        letters = {
            node: request("close", self.run, self.spec, {"acked": self._acked(number)})
            for number, node in self.roster.node.items()
            if node in there
        }
        if letters:
            self.ask(self.mailbox, letters, 10.0)

    def _acked(self, number: int) -> int:
        return NEVER if self.acked is None else int(self.acked[number])

    def dismiss(self, reason: str) -> None:
        """Send every device away: the federation does not come about."""
        there = self.mailbox.online()
        for node in self.roster.node.values():
            if node in there:
                self.mailbox.push(node, dismissal(reason))


@dataclass(frozen=True)
class Reply:
    """A client's reply that was checked (None: there is none that counts), after so many seconds, of ``size`` bytes."""

    letter: Letter | None
    seconds: float
    reason: Reason
    size: int

    def row(self, name: str, shape: tuple[int, ...]) -> Tensor:
        """A tensor of the reply; zeros, which no sum counts, where there is none."""
        return torch.zeros(shape) if self.letter is None else self.letter.body[name]

    def value(self, name: str) -> float:
        """A number of the reply; NaN where there is none."""
        return math.nan if self.letter is None or name not in self.letter.head else self.letter.number(name)


def _updates(sim: Simulation, state: SimState, planned: Planned, replies: list[Reply]) -> Updates:
    """The replies of the active clients as updates: whoever was to arrive and has not replied does not arrive."""
    replied = torch.tensor([reply.letter is not None for reply in replies])
    reasons = torch.tensor([int(reply.reason) for reply in replies])
    shapes = reply_shapes(sim)
    rows = {name: torch.stack([reply.row(name, shape) for reply in replies]) for name, shape in shapes.items()}
    bits = [reply.value("bits") for reply in replies]
    columns = {} if all(map(math.isnan, bits)) else {BITS: torch.tensor(bits).double().nan_to_num(nan=0.0)}
    columns[LOSS] = torch.tensor([reply.value("loss") for reply in replies]).double()
    loss_note = _known([reply.value("note") for reply in replies])
    noted = {} if loss_note is None or sim.rule.loss is None else {sim.rule.loss.target_note: loss_note}
    notes = training_notes(noted) | _notes(replies)
    updates = client_updates(sim, state, planned, rows["payload"], columns, rows.get("local"), notes)
    measured = Measured(
        seconds=torch.tensor([reply.seconds if reply.letter else math.nan for reply in replies]).double(),
        train_s=torch.tensor([reply.value("train_s") for reply in replies]).double(),
        wire_bits=torch.tensor([8.0 * reply.size if reply.letter else math.nan for reply in replies]).double(),
    )
    return replace(
        updates,
        arrived=updates.arrived & replied,
        reason=torch.where(replied, updates.reason, reasons),
        measured=measured,
    )


def reply_shapes(sim: Simulation) -> dict[str, tuple[int, ...]]:
    """Tensors of an upload, with their shapes."""
    coded = messages(sim.transforms, sim.message(0))[-1]
    shapes: dict[str, tuple[int, ...]] = {"payload": (coded.blocks, coded.size)}
    if sends_norms(sim):
        shapes["local"] = (sim.model.local.size + sim.model.buffers.size,)
    return shapes


def checked(sim: Simulation, letter: Letter, number: int, n: int) -> Letter:
    """The upload of a client in exchange ``n``; raises :class:`LetterError` for anything else."""
    if "refused" in letter.head:
        raise LetterError(letter.text("refused")[:300])
    if letter.whole("client") != number or letter.whole("n") != n:
        raise LetterError("an upload for another client or round")
    letter.expect(reply_shapes(sim))
    letter.number("loss")
    if "note" in letter.head and not -1.0 <= letter.number("note") <= 1.0:
        raise LetterError("the note of the loss is not a share")
    if letter.number("train_s") < 0 or not isinstance(letter.head.get("state_lost"), bool):
        raise LetterError("an upload without times or state")
    if "bits" in letter.head:
        foreseen = sim.hops[0].link.bits(messages(sim.transforms, sim.message(0))[-1])
        if not 0 <= letter.number("bits") <= (math.inf if foreseen is None else foreseen):
            raise LetterError("more bits than planned")
    letter.numbers("notes")
    return letter


def combined(scores: dict[int, tuple[int, dict[str, float]]], clients: int, t: int) -> Evaluation:
    """Means of the clients' scores weighed by their test samples. By hand: 1/2 of 4 and 1 of 12 samples are 7/8.

    Without any score there are no metrics; :class:`DataError` if all clients have answered and none has test samples.
    """
    total = sum(samples for samples, _ in scores.values())
    if total == 0 and len(scores) == clients:
        raise DataError(f"round {t}: no device has test samples: give the devices test files, or use serve --test DIR")
    names = ("accuracy", "loss") if total else ()
    metrics = {
        name: sum(samples * values[name] for samples, values in scores.values() if samples) / total for name in names
    }
    groups = [scores[i][1]["accuracy"] if i in scores and scores[i][0] else None for i in range(clients)]
    return Evaluation(metrics, {"accuracy": groups} if clients > 1 else {})


def _scores(letter: Letter, number: int) -> tuple[int, dict[str, float]]:
    """Number of test samples and scores in a reply."""
    if "refused" in letter.head:
        raise LetterError(letter.text("refused")[:300])
    samples, values = letter.whole("samples"), letter.numbers("scores")
    whole = letter.whole("client") == number and samples >= 0 and (samples == 0 or {"accuracy", "loss"} <= set(values))
    if not whole or not 0.0 <= values.get("accuracy", 0.0) <= 1.0:
        raise LetterError("no scores from this client")
    return samples, values


def _vectors(shared: Slots, norms: Tensor | None) -> Slots:
    """The server's vectors as the body of a letter."""
    body = {f"got/{name}": vector for name, vector in shared.items()}
    if norms is None:
        return body
    return body | {"norms": norms[0] if norms.ndim == 2 else norms}


def _known(values: list[float]) -> Tensor | None:
    return None if all(map(math.isnan, values)) else torch.tensor(values).double()


def _notes(replies: list[Reply]) -> dict[str, Noted]:
    """Notes of the transforms and, where any device has lost its state, who has."""
    letters = [reply.letter for reply in replies]
    names = sorted({name for letter in letters if letter for name in letter.numbers("notes")})
    notes = {}
    for name in names:
        values = [0.0 if letter is None else letter.numbers("notes").get(name, 0.0) for letter in letters]
        notes[name] = Noted("active", torch.tensor(values).double())
    lost = [letter is not None and letter.head["state_lost"] is True for letter in letters]
    return notes | ({"state_lost": Noted("active", torch.tensor(lost))} if any(lost) else {})
