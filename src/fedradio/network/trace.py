"""Trace channel: measured or simulated power gains, played from a file.

A CSV file has the columns ``time_s,receiver,sender,gain_db``; an npz file the arrays ``time_s [T]`` and ``gain_db
[T, R, S]``. Between two times the last gain of a pair holds, before its first time the first one. Exchange ``n`` of the
run takes place at ``n interval_s``, never at the simulated time, which depends on decisions: two policies must see the
same world. By hand: gains of -90 dB at 0 s and -80 dB at 10 s, ``interval_s = 4``: exchanges 0, 1 and 2 have 1e-9,
exchange 3 (12 s) has 1e-8.
"""

from __future__ import annotations

import io
import math
import zipfile
from dataclasses import dataclass, replace
from typing import Annotated, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fedradio.core.contracts import Channel, ChannelState, Site, Slots
from fedradio.core.errors import Problem, SpecError
from fedradio.core.registry import Arg, register
from fedradio.core.rng import Rng
from fedradio.core.tables import given_sha256, read_given, read_table, wrong
from fedradio.core.units import dbm_to_w

COLUMNS = ("time_s", "receiver", "sender", "gain_db")
WHERE = "channel.path"

Missing = Literal["refuse", "outage"]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Gains:
    """Gains in dB ``[T, R, S]`` from the times ``time_s [T]`` on, which rise; NaN for a pair that was not measured."""

    time_s: Floats
    gain_db: Floats


@dataclass(frozen=True, eq=False)
class Trace(Channel):
    """Gains played from a file, see :func:`trace`; ``interval_s`` None: that of the clients' deadline."""

    gains: Gains
    path: str
    sha256: str
    interval_s: float | None
    missing: Missing
    noise_w_hz: float

    def every(self, interval_s: float) -> Trace:
        """The same gains with that many seconds from one exchange to the next."""
        return replace(self, interval_s=interval_s)

    def realise(self, site: Site, state: Slots, rng: Rng) -> tuple[ChannelState, Slots]:
        """The gains of all pairs ``[R, S]`` at the time of the exchange; 0 for a pair in outage."""
        receivers, senders = len(site.receivers_m), len(site.senders_m)
        known = self.gains.gain_db.shape[1:]
        if known[0] > receivers or known[1] > senders:
            sizes = f"{known[0]} receiver(s) and {known[1]} sender(s)"
            reason = f"{self.path} has {sizes}, but the hop has {receivers} and {senders}"
            raise SpecError(Problem("channel.path", reason, "use a trace of this network", self.path))
        now = site.clock.n * (self.interval_s or 0.0)
        at = max(0, int(np.searchsorted(self.gains.time_s, now, side="right")) - 1)
        gain_db = torch.full((receivers, senders), torch.nan, dtype=torch.float64)
        gain_db[: known[0], : known[1]] = torch.from_numpy(self.gains.gain_db[at])
        self._refuse_missing(gain_db)
        gain = torch.where(gain_db.isnan(), 0.0, torch.pow(10.0, gain_db / 10.0))
        return ChannelState(gain, self.noise_w_hz), state

    def _refuse_missing(self, gain_db: Tensor) -> None:
        if self.missing == "outage" or not bool(gain_db.isnan().any()):
            return
        pairs = gain_db.isnan().nonzero().tolist()
        receiver, sender = pairs[0]
        more = f" and {len(pairs) - 1} more" if len(pairs) > 1 else ""
        reason = f"{self.path} has no gain for receiver {receiver} and sender {sender}{more}"
        raise SpecError(Problem("channel.path", reason, "add every pair, or set channel.missing=outage", self.path))


@register("channel", "trace")
def trace(
    *,
    path: Annotated[
        str,
        Arg(
            "CSV file with columns time_s,receiver,sender,gain_db, or npz file with time_s [T] and gain_db [T, R, S]",
            file=True,
        ),
    ],
    interval_s: Annotated[
        float | None, Arg("time between two exchanges; null: the deadline of hop 0", unit="s", gt=0, le=1e9)
    ] = None,
    missing: Annotated[Missing, Arg("pairs missing from the file: an error, or in permanent outage")] = "refuse",
    noise_dbm_hz: Annotated[float, Arg("thermal noise density", unit="dBm/Hz", ge=-250, le=0)] = -174.0,
    noise_figure_db: Annotated[float, Arg("noise figure of the receiver", unit="dB", ge=0, le=50)] = 0.0,
) -> Trace:
    """Measured gains from a file; each gain of a pair applies until the next one.

    Nodes are numbered as in the topology. The run stores the file's checksum and cannot be resumed with a different
    file.
    """
    gains = _npz(path) if path.lower().endswith(".npz") else _csv(path)
    noise_w_hz = dbm_to_w(noise_dbm_hz + noise_figure_db)
    return Trace(gains, path, given_sha256(path, WHERE), interval_s, missing, noise_w_hz)


def _csv(path: str) -> Gains:
    """The gains of a CSV file, checked line by line."""
    table = read_table(path, WHERE, COLUMNS)
    time_s, gain_db = table.numbers("time_s"), table.numbers("gain_db")
    receiver, sender = table.whole("receiver", "a node"), table.whole("sender", "a node")
    last: dict[tuple[int, int], float] = {}
    for row, pair in enumerate(zip(receiver.tolist(), sender.tolist(), strict=True)):
        if time_s[row] <= last.get(pair, -math.inf):
            reason = f"time_s {time_s[row]:g} does not increase for receiver {pair[0]} and sender {pair[1]}"
            raise table.wrong(reason, row)
        last[pair] = float(time_s[row])
    times = np.unique(time_s)
    gains = np.full((len(times), 1 + receiver.max(), 1 + sender.max()), np.nan)
    gains[np.searchsorted(times, time_s), receiver, sender] = gain_db
    return Gains(times, _held(gains))


def _npz(path: str) -> Gains:
    """The gains of an npz file, checked; pickles in it are never loaded."""
    try:
        with np.load(io.BytesIO(read_given(path, WHERE)), allow_pickle=False) as arrays:
            time_s, gain_db = (np.asarray(arrays[name], dtype=np.float64) for name in ("time_s", "gain_db"))
    except KeyError as error:
        raise wrong(WHERE, path, f"no array {error.args[0].split()[0]}") from None
    except (ValueError, OSError, TypeError, zipfile.BadZipFile) as error:
        raise wrong(WHERE, path, f"not a readable npz file ({type(error).__name__})") from None
    if gain_db.ndim != 3 or time_s.shape != gain_db.shape[:1] or not gain_db.size:
        raise wrong(WHERE, path, f"time_s {time_s.shape} and gain_db {gain_db.shape} are not [T] and [T, R, S]")
    if not np.isfinite(time_s).all() or (np.diff(time_s) <= 0).any():
        raise wrong(WHERE, path, "time_s does not increase")
    if np.isinf(gain_db).any():
        raise wrong(WHERE, path, "gain_db contains infinite values; use NaN for gains that were not measured")
    return Gains(time_s, _held(gain_db))


def _held(gain_db: Floats) -> Floats:
    """Gains ``[T, R, S]`` in which the last one of a pair holds, before the first one that; NaN where there is none."""
    filled = gain_db.copy()
    for at in range(1, len(filled)):
        filled[at] = np.where(np.isnan(filled[at]), filled[at - 1], filled[at])
    for at in range(len(filled) - 2, -1, -1):
        filled[at] = np.where(np.isnan(filled[at]), filled[at + 1], filled[at])
    return filled
