"""A device of a federation: answers the server's letters with what one client computes.

It builds its part of the world once, from the spec in the letters, and keeps it. A letter holds plain data: nothing
that a server sends is executed, and no file is read that a server names.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch

from fedradio._version import __version__
from fedradio.core.contracts import Clock, EvalJob, Samples, Slots
from fedradio.core.errors import DataError, FedradioError, SpecError
from fedradio.core.fingerprint import checksum_of
from fedradio.remote.flower.device import Device
from fedradio.remote.flower.letters import FORMAT, Letter, LetterError
from fedradio.remote.flower.state import NEVER, STATE_FILE, Pending, read_state, write_state
from fedradio.remote.flower.worlds import announced, device_of
from fedradio.spec.spec import Spec, check_spec

Tell = Callable[[str], None]


class Dismissed(FedradioError):
    """The server has sent the device away; says why."""

    exit_code = 2


@dataclass
class Trainer:
    """Client ``number``, with samples of its own (None: its share of the spec's), and a folder for its state (None: it
    is kept in memory only, and lost with the process). ``closed`` is why it is over, empty at the end of a run;
    ``failed``: because it cannot take part."""

    number: int
    samples: Samples | None = None
    folder: Path | None = None
    tell: Tell = print
    closed: str | None = None
    failed: FedradioError | None = None
    _spec: Spec | None = None
    _device: Device | None = None
    _stream: tuple[int, Slots] = (0, {})
    _pending: Pending | None = None
    _build_s: float = field(default=0.0)
    _samples: str = field(default="", init=False)

    def __post_init__(self) -> None:
        if self.folder is not None:
            own = self.samples
            self._samples = "" if own is None else checksum_of([own.x, own.y, own.test_x, own.test_y])
            self._pending = read_state(self.folder)

    def answer(self, data: bytes) -> bytes:
        """The reply to a letter; what goes wrong is a reply too."""
        asked = ""
        try:
            letter = Letter.unpack(data)
            if letter.head.get("format") != FORMAT or letter.head.get("fedradio") != __version__:
                theirs = f"fedradio {letter.head.get('fedradio')!s:.40}"
                raise LetterError(f"the server has {theirs}, but client {self.number} has fedradio {__version__}")
            asked = letter.text("ask")
            if asked == "close":
                return self._close(letter).pack()
            self._ensure(letter)
            self._refuse_other_samples(letter.text("run"))
            answers = {"hello": self._hello, "train": self._train, "evaluate": self._evaluate}
            if asked not in answers:
                raise LetterError(f"unknown request {asked!r:.40}")
            return answers[asked](letter).pack()
        except (FedradioError, ValueError, RuntimeError, KeyError, TypeError, MemoryError) as error:
            reason = "; ".join(map(str, error.problems)) if isinstance(error, SpecError) else str(error)
            self.tell(f"cannot answer: {reason}")
            if isinstance(error, (DataError, SpecError)):  # it will not be better next time
                self.closed, self.failed = reason, error
            code = error.exit_code if isinstance(error, FedradioError) else 1
            return Letter({"client": self.number, "refused": reason[:2000], "code": code}, {}).pack()

    def _ensure(self, letter: Letter) -> None:
        """Build this client's part of the spec that the server tells, unless it stands already."""
        plain = letter.head.get("spec")
        if not isinstance(plain, dict):
            raise LetterError("a request without a spec")
        if self._spec is not None and self._spec.plain == plain:
            return
        began = time.perf_counter()
        spec = check_spec(plain)
        self._device = device_of(spec, self.number, self.samples)
        self._spec, self._stream = spec, (0, self._device.stream.start())
        self._build_s = time.perf_counter() - began

    def _refuse_other_samples(self, run: str) -> None:
        """Refuse to go on in a run that this device has begun with other samples."""
        before = self._pending
        if before is None or self.folder is None or (before.run, before.client) != (run, self.number):
            return
        if before.samples != self._samples:
            reason = f"client {self.number} has taken part in this run with different samples"
            remedy = f"restore them, or remove {STATE_FILE} from its --state to start over with these"
            raise DataError(f"{reason}; {remedy}")

    def _hello(self, letter: Letter) -> Letter:
        assert self._device is not None
        head = {
            "client": self.number,
            "fedradio": __version__,
            "torch": torch.__version__,
            "cpu": torch.backends.cpu.get_cpu_capability(),
            "own": self.samples is not None,
        }
        return Letter(head, announced(self._device))

    def _train(self, letter: Letter) -> Letter:
        device = self._device
        assert device is not None
        run, n, acked = letter.text("run"), letter.whole("n"), letter.whole("acked")
        clock = Clock(letter.whole("t"), letter.whole("e"), n)
        mine, lost = self._settle(run, n, acked, session := letter.text("session"))
        got, norms = self._received(letter)
        stream = self._arrived(n)
        began = time.perf_counter()
        upload = device.work(got, norms, stream, mine, letter.whole("steps"), clock)
        train_s = time.perf_counter() - began
        self._keep(Pending(run, self.number, n, upload.counted, upload.lost, mine, session, self._samples))
        head: dict[str, Any] = {"client": self.number, "n": n, "loss": upload.loss, "train_s": train_s}
        head |= {"build_s": self._build_s, "state_lost": lost, "notes": upload.notes}
        head |= {name: value for name in ("note", "bits") if (value := getattr(upload, name)) is not None}
        self.tell(f"round {clock.t}: {letter.whole('steps')} steps, loss {upload.loss:.4f}, {train_s:.2f} s")
        local = {} if upload.local is None else {"local": upload.local}
        return Letter(head, {"payload": upload.payload} | local)

    def _settle(self, run: str, n: int, acked: int, session: str) -> tuple[Slots, bool]:
        """The state that exchange ``n`` begins with, and whether an earlier one of this run is lost.

        A server that resumes the run may ask for its last exchange once more; the same server may not.
        """
        assert self._device is not None
        pending = self._pending
        if pending is not None and (pending.run, pending.client) == (run, self.number):
            if n <= pending.n and session == pending.session:
                raise LetterError(f"exchange {n} is already done")
            settled = pending.settled(acked) if n > pending.n else pending.before if n == pending.n else None
            if settled is not None:
                return settled, False
        begun = self._device.start()
        lost = acked > NEVER and bool(begun)
        if lost:
            self.tell("the state of earlier rounds is lost: this client starts over")
        return begun, lost

    def _received(self, letter: Letter) -> tuple[Slots, torch.Tensor | None]:
        """The vectors and norm layers of a letter."""
        got = {name.removeprefix("got/"): row for name, row in letter.body.items() if name.startswith("got/")}
        return got, letter.body.get("norms")

    def _arrived(self, n: int) -> Slots:
        """The data before exchange ``n``: the arrivals of all exchanges up to it, replayed where it missed some."""
        assert self._device is not None
        done, stream = self._stream
        if done > n + 1:  # a server that resumes the run has gone back
            done, stream = 0, self._device.stream.start()
        for past in range(done, n + 1):
            stream = self._device.arrive(stream, Clock(past, 0, past))
        self._stream = (n + 1, stream)
        return stream

    def _keep(self, pending: Pending) -> None:
        self._pending = pending
        if self.folder is not None:
            write_state(self.folder, pending)

    def _evaluate(self, letter: Letter) -> Letter:
        """Scores of the received model on the test samples of this device's own."""
        device, test = self._device, None if self.samples is None else self.samples.test_y
        assert device is not None
        if test is None or len(test) == 0:
            return Letter({"client": self.number, "samples": 0, "scores": {}}, {})
        got, norms = self._received(letter)
        shared = {name: row.unsqueeze(0) for name, row in got.items()}
        ensemble = next(iter(device.algorithm.predict(shared, {}).values()))
        local = None if norms is None else norms.unsqueeze(0)
        scores = device.backend.evaluate(EvalJob(device.model, ensemble, device.stream.test(), local))
        found = {"accuracy": scores.accuracy, "loss": scores.loss}
        return Letter({"client": self.number, "samples": len(test), "scores": found}, {})

    def _close(self, letter: Letter) -> Letter:
        """Settle the state at the end of a run, or leave because the server refuses this client."""
        refused = letter.head.get("refused")
        pending = self._pending
        if isinstance(refused, str):
            self.closed = refused[:2000]
        else:
            self.closed = ""
            if pending is not None and pending.run == letter.head.get("run"):
                settled = pending.settled(letter.whole("acked"))
                if settled is not None:
                    self._keep(replace(pending, counted=settled, lost=settled))
        return Letter({"client": self.number, "closed": True}, {})
