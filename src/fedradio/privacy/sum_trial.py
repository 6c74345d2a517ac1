"""Masked sums of a cell, tried live: exact or not, with everybody and without one; bits and milliseconds."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from fedradio.core.rng import Rng
from fedradio.privacy.sums import LEAST, SCALE, SEED_BITS, WORD_BITS, Slot, cell


@dataclass(frozen=True)
class SumTrial:
    """A cell's masked sum beside the plain one of the rounded numbers; times are those of one client."""

    members: int
    contents: int
    exact: bool
    exact_without_one: bool
    report_bits: int
    dropout_bits: int
    setup_ms: float
    report_ms: float


def try_sum(members: int, contents: int, rng: Rng) -> SumTrial | None:
    """Add up random demands of a cell, with and without its last member; None for a cell too small for both."""
    if members <= LEAST:
        return None
    demand = rng.numpy().random((members, contents))
    plain = np.rint(demand * SCALE) / SCALE
    began = time.perf_counter()
    made, edge = cell(range(members))
    met = time.perf_counter()
    first, second = Slot(0), Slot(1)
    reports = {member.number: member.report(demand[member.number], first) for member in made}
    reported = time.perf_counter()
    exact = bool((edge.total(reports, first) == plain.sum(axis=0)).all())
    others = made[:-1]
    left = {member.number: member.report(demand[member.number], second) for member in others}
    seeds = {member.number: member.reveal([made[-1].number], second) for member in others}
    without = bool((edge.total(left, second, seeds) == plain[:-1].sum(axis=0)).all())
    return SumTrial(
        members,
        contents,
        exact,
        without,
        report_bits=WORD_BITS * contents,
        dropout_bits=SEED_BITS,
        setup_ms=1e3 * (met - began) / (members + 1),
        report_ms=1e3 * (reported - met) / members,
    )
