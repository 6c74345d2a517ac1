"""The unit in which maps show positions."""

from __future__ import annotations

from fedradio.spec.spec import Spec


def length_unit(spec: Spec) -> str:
    """``m``, or ``normalised`` for random clusters, whose paper gives lengths without a unit."""
    return "normalised" if spec.plain["topology"]["kind"] == "clusters" else "m"
