"""Studies of data: size of a sample, best possible accuracies, change of a client's labels."""

from __future__ import annotations

from math import prod

import numpy as np

from fedradio.data.popular import popular_of
from fedradio.data.streams import arrivals_rng
from fedradio.papers.studies.planned import Finding, Floats, ShareProgress
from fedradio.rounds.simulation import Simulation
from fedradio.spec.build import build
from fedradio.spec.spec import Spec

GUESSES = 10
"""Most guesses of RawHFL's Fig. 10."""

SHOWN = 6
"""Rounds at which labels are shown."""


def sample_bits(spec: Spec, progress: ShareProgress) -> Finding:
    """Size of a sample as stored, ``features`` and ``bits``, and as the model sees it, ``input`` and ``input_bits``.

    Of consecutive requests one is stored per sample, however many the model sees.
    """
    stream = build(spec).stream
    values = prod(stream.shape)
    stored = 1 if spec.plain["data"]["source"].get("sample") == "history" else values
    progress(1.0)
    return {
        "features": stored,
        "bits": stream.sample_bits * stored / values,
        "input": values,
        "input_bits": stream.sample_bits,
    }


def reference(spec: Spec, progress: ShareProgress) -> Finding:
    """Accuracies known without training: ``bayes``, the best possible, and ``top_popular``, of the most popular file.

    ``top_popular@m`` is that of the m most popular ones, ``top`` of 1, 2, .. of them with the deviation over clients
    ``top_spread``; ``over_slots`` and ``over_clients`` are the two deviations of ``top_popular``. None where the source
    does not know them.
    """
    stream = build(spec).stream
    known = stream.reference(stream.start())
    guesses = popular_of(stream, GUESSES)
    progress(1.0)
    found: Finding = {name: known.get(name) for name in ("bayes", "top_popular")}
    if guesses is None:
        return found | {"over_slots": None, "over_clients": None}
    by_number = {f"top_popular@{m}": float(value) for m, value in enumerate(guesses.accuracy, start=1)}
    spreads = {"over_slots": float(guesses.over_slots[0]), "over_clients": float(guesses.over_clients[0])}
    curve = {"top": guesses.accuracy.tolist(), "top_spread": guesses.over_clients.tolist()}
    return found | spreads | by_number | curve


def labels(spec: Spec, progress: ShareProgress) -> Finding:
    """How the labels of the first client change: ``shares [rounds][labels]`` at the rounds ``at``, counted from 1.

    Labels are in the order of their share at the start. ``top_start`` and ``top_end`` are the shares of the two labels
    that were most frequent at the start, ``least_...`` of the two rarest that it held.
    ``shift``: the mean over clients of ``sum |p - q| / 2``, start to end.
    """
    sim = build(spec)
    counts = _label_counts(sim, spec.rounds, progress)  # [rounds, C, labels]
    shares = counts / np.maximum(counts.sum(axis=2, keepdims=True), 1)
    mine = shares[:, 0]
    order = np.argsort(-mine[0], kind="stable")
    rare = np.argsort(np.where(mine[0] > 0, mine[0], np.inf), kind="stable")
    two = min(2, int((mine[0] > 0).sum()))
    at = np.unique(np.linspace(0, spec.rounds - 1, SHOWN).round().astype(int))
    ends = {
        f"{name}_{when}": float(mine[t, chosen].sum())
        for name, chosen in (("top", order[:two]), ("least", rare[:two]))
        for when, t in (("start", 0), ("end", -1))
    }
    shift = float(np.abs(shares[-1] - shares[0]).sum(axis=1).mean() / 2)
    return {"at": (at + 1).tolist(), "shares": mine[at][:, order].tolist(), **ends, "shift": shift}


def _label_counts(sim: Simulation, rounds: int, progress: ShareProgress) -> Floats:
    """How many samples of every label every client holds in every round, ``[rounds, C, labels]``."""
    state, counts = sim.stream.start(), []
    for t in range(rounds):
        for e in range(sim.edge_rounds):
            clock = sim.clock(0, t, e)
            state = sim.stream.arrive(state, clock, arrivals_rng(sim.rng, clock))
        counts.append(sim.stream.stats(state)["label_counts"].double().numpy())
        progress((t + 1) / rounds)
    return np.stack(counts)
