"""Growing stream: samples arrive before every edge round and are kept forever (RawHFL)."""

from __future__ import annotations

from typing import Annotated

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fedradio.core.contracts import Clock, Slots, Stream, Tapes
from fedradio.core.errors import Problem, SpecError
from fedradio.core.registry import Arg, register
from fedradio.core.rng import Rng
from fedradio.data.streams import Window


@register("stream", "growing", paper="RawHFL, eq. (1)")
def growing(
    tapes: Tapes,
    rng: Rng,
    /,
    *,
    history: Annotated[int, Arg("samples per client before the first round", ge=0, le=10**9)] = 200,
    slots: Annotated[int, Arg("chances of a new sample before every edge round", ge=0, le=10**6)] = 1,
    activity: Annotated[
        tuple[float, float], Arg("range of a client's probability of using a slot, drawn uniformly", ge=0, le=1)
    ] = (0.2, 0.8),
) -> Stream:
    """Growing data sets: a history at the start and new samples before every edge round; nothing is ever removed.

    Client ``c`` uses each of its ``slots`` chances with probability ``p_c``, so that ``Binomial(slots, p_c)`` samples
    arrive. Tapes that may be too short for the run are refused before it starts.
    """
    low, high = activity
    problems = []
    if not 0 <= low <= high <= 1:
        reason = "must be the lowest and highest probability"
        problems.append(Problem("data.stream.activity", reason, "such as [0.2, 0.8]", activity))
    size = tapes.offset.diff()
    if int(size.min()) < history:
        reason = f"client {int(size.argmin())} has only {int(size.min())} samples"
        remedy = f"use at most {int(size.min())}, or more samples per client"
        problems.append(Problem("data.stream.history", reason, remedy, history))
    if problems:
        raise SpecError(problems)
    return Growing(tapes, history, slots, low + (high - low) * rng.child("activity").numpy().random(tapes.clients))


class Growing(Window):
    """Windows from the start of the tapes that grow by ``Binomial(chances, activity [C])`` samples an edge round."""

    def __init__(self, tapes: Tapes, history: int, chances: int, activity: NDArray[np.float64]) -> None:
        super().__init__(tapes)
        self.history = history
        self.chances = chances
        self.activity = activity

    def start(self) -> Slots:
        size = self.tapes.offset.diff()
        return {"lo": torch.zeros_like(size), "hi": torch.full_like(size, self.history)}

    def lasts(self, rounds: int, exchanges: int = 1) -> str:
        need = self.chances * rounds * exchanges  # if every chance is used
        room = np.where(self.activity > 0, np.diff(self._offset) - self.history, np.inf)  # [C]
        worst = int(room.argmin())
        if need <= float(room[worst]):
            return ""
        size = self._offset[worst + 1] - self._offset[worst]
        return (
            f"client {worst} has {size} samples, but {rounds * exchanges} edge rounds may need {self.history + need}: "
            "increase data.source.requests (or samples), or reduce data.stream.history, data.stream.slots or the rounds"
        )

    def arrive(self, state: Slots, clock: Clock, rng: Rng) -> Slots:
        grown = state["hi"] + self._tensor(rng.numpy().binomial(self.chances, self.activity))
        over = grown > self.tapes.offset.diff()
        if bool(over.any()):  # the next client's samples would follow
            reason = f"the samples of client {int(over.nonzero()[0])} ran out in round {clock.t}"
            raise SpecError(Problem("data.stream", reason, "use fewer rounds, or more samples per client"))
        return state | {"hi": grown}

    @property
    def request_rate(self) -> Tensor:
        return torch.from_numpy(self.activity)

    def chances_at(self, clock: Clock) -> Tensor:
        return torch.full((self.clients,), self.chances, dtype=torch.int64)
