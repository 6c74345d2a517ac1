"""Matching of tags to contents by an observer who counts the tags in the clear of one epoch.

The base station of a cell sees a sequence of tags for each user. *Rank matching* orders tags by how often they occur
and contents by their popularity. *Sequence matching* searches for the assignment ``pi`` of tags to contents under which
the sequences are most likely::

    max_pi  sum_{t, t'} B[t, t'] log P(pi(t') | pi(t)),     B[t, t'] = how often a user's tag t was followed by t'

A first symbol stands before every user's sequence; its successors follow the popularity. This is a quadratic assignment
problem. Starts come from scipy's ``faq`` on square roots of the counts of pairs (logarithms, which are dominated by
pairs that never occur, mislead it), and ``2opt`` improves them on the likelihood. The most likely of four results is
used. The optimum can be better: the identified share is a lower bound.

By hand: if tags occur 3, 2 and 1 times and contents have popularity .2, .5 and .3, rank matching takes the most
frequent tag for content 1, then 2, then 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import quadratic_assignment

from fedradio.core.rng import Rng

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

STARTS = 4
"""Starts of the search for an assignment: the mean of all assignments, then random ones."""

PRIOR = 0.5
"""Count that is added to every pair, so that no probability is 0 (Krichevsky and Trofimov)."""


@dataclass(frozen=True)
class Statistics:
    """What an observer knows about contents ``[K]``: counts of requests, and of successive pairs ``[K, K]``."""

    content: Ints
    count: Floats
    follows: Floats


def statistics(requests: Sequence[Ints]) -> Statistics:
    """Statistics of past requests, one sequence per user."""
    content, position, ends = _positions(requests)
    return Statistics(content, *_counts(np.split(position, ends), len(content)))


def tag_requests(requests: Sequence[Ints], rng: Rng) -> tuple[list[Ints], Ints]:
    """Replace contents by tags ``0..T-1`` in random order; returns the sequences of tags and each tag's content."""
    content, position, ends = _positions(requests)
    order = rng.numpy().permutation(len(content))  # content[i] has tag order[i]
    truth = np.empty_like(content)
    truth[order] = content
    return np.split(order[position], ends), truth


def match_ranks(tags: Sequence[Ints], known: Statistics) -> Ints:
    """The most plausible content of each tag ``[T]`` by rank; -1 if there are more tags than contents."""
    seen = np.bincount(np.concatenate(tags))
    guess = np.full(len(seen), -1)
    by_tag, by_content = np.argsort(-seen, kind="stable"), np.argsort(-known.count, kind="stable")
    pairs = min(len(by_tag), len(by_content))
    guess[by_tag[:pairs]] = known.content[by_content[:pairs]]
    return guess


def match_sequences(tags: Sequence[Ints], known: Statistics, rng: Rng) -> Ints:
    """The content of each tag ``[T]`` in the most likely assignment that is found; -1 for no content."""
    many = int(max(part.max(initial=-1) for part in tags)) + 1
    size = max(many, len(known.content))
    firsts = np.bincount([part[0] for part in tags if len(part)], minlength=many).astype(np.float64)
    seen = _pairs(firsts, _counts(tags, many)[1], size)
    past = _pairs(known.count * firsts.sum() / known.count.sum(), known.follows, size)
    content = np.concatenate([known.content, np.full(size - len(known.content), -1)])
    guess = np.empty(size, np.int64)
    guess[_best_assignment(past, seen, _log_law(known, size), rng)] = content
    return guess[:many]


def identified_share(tags: Sequence[Ints], guess: Ints, truth: Ints) -> float:
    """Share of the requests whose content is guessed correctly."""
    return float((guess == truth)[np.concatenate(tags)].mean())


def constant_guess_share(requests: Sequence[Ints], known: Statistics) -> float:
    """Share of the requests for the most popular content, which an observer guesses without any tags."""
    return float((np.concatenate(requests) == known.content[known.count.argmax()]).mean())


def _positions(requests: Sequence[Ints]) -> tuple[Ints, Ints, Ints]:
    """Contents ``[K]`` that occur, the position of every request in them, and where the sequences end."""
    content, position = np.unique(np.concatenate(requests), return_inverse=True)
    return content, position, np.cumsum([len(sequence) for sequence in requests])[:-1]


def _counts(parts: Sequence[Ints], many: int) -> tuple[Floats, Floats]:
    """How often numbers below ``many`` occur ``[many]``, and follow each other ``[many, many]``."""
    follows = np.zeros((many, many))
    for part in parts:
        np.add.at(follows, (part[:-1], part[1:]), 1)
    return np.bincount(np.concatenate(parts), minlength=many).astype(np.float64), follows


def _pairs(firsts: Floats, follows: Floats, size: int) -> Floats:
    """Counts of pairs ``[1 + size, 1 + size]``; number 0 is the symbol before every sequence."""
    counts = np.zeros((size + 1, size + 1))
    counts[0, 1 : len(firsts) + 1], counts[1 : len(firsts) + 1, 1 : len(firsts) + 1] = firsts, follows
    return counts


def _log_law(known: Statistics, size: int) -> Floats:
    """Log-probabilities of successors ``[1 + size, 1 + size]``; row 0 is the distribution of the first request."""
    smoothed = _pairs(known.count, known.follows, size)[:, 1:] + PRIOR
    law = np.zeros((size + 1, size + 1))
    law[:, 1:] = np.log(smoothed / smoothed.sum(axis=1, keepdims=True))
    return law


def _best_assignment(past: Floats, seen: Floats, law: Floats, rng: Rng) -> Ints:
    """The tag of every content in the most likely assignment that is found; the first symbol stays in its place."""
    best, score = np.arange(len(law)), -np.inf
    for start in range(STARTS):
        options = {"maximize": True, "partial_match": np.array([[0, 0]]), "rng": rng.child(start).numpy()}
        begin = {**options, "P0": "randomized" if start else "barycenter"}
        first = quadratic_assignment(np.sqrt(past), np.sqrt(seen), "faq", begin).col_ind
        guess = np.column_stack([np.arange(1, len(law)), first[1:]])
        better = quadratic_assignment(law, seen, "2opt", {**options, "partial_guess": guess})
        if better.fun > score:
            best, score = better.col_ind, float(better.fun)
    return np.asarray(best[1:] - 1)
