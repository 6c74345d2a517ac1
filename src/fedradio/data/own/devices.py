"""Samples that are on the devices of a federation, and nowhere else."""

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
    bits_per_value: Annotated[float, Arg("bits of a value, for the cycles of computing", gt=0, le=64)] = 8.0,
) -> Samples:
    """Samples of the devices' own in a federation: every device has a folder, the server has none.

    It is for ``fedradio serve`` and ``fedradio join --data DIR`` only; a simulation has no devices.
    """
    reason = "these samples are on the devices of a federation, a simulation has none of them"
    raise SpecError(Problem("source", reason, "fedradio serve SPEC, and fedradio join --data DIR on every device"))
