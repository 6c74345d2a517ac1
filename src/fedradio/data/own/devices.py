"""Samples that exist only on the devices of a federation."""

from __future__ import annotations

from typing import Annotated

from fedradio.core.contracts import Samples
from fedradio.core.errors import Problem, SpecError
from fedradio.core.registry import Arg, register
from fedradio.core.rng import Rng


@register("source", "own")
def own(
    clients: int,
    rng: Rng,
    /,
    *,
    shape: Annotated[tuple[int, ...], Arg("shape of a sample on every device", ge=1, le=1_000_000)],
    classes: Annotated[int, Arg("number of classes, labelled from 0 on every device", ge=2, le=1_000_000)],
    bits_per_value: Annotated[float, Arg("bits per value, used to count CPU cycles", gt=0, le=64)] = 8.0,
) -> Samples:
    """Data on the devices of a federation: every device has its own folder, the server has none.

    Works only with ``fedradio serve`` and ``fedradio join --data DIR``; a simulation has no devices.
    """
    reason = "these samples are on the devices of a federation and not available to a simulation"
    raise SpecError(Problem("source", reason, "run fedradio serve SPEC, and fedradio join --data DIR on every device"))
