"""Attacks on tags in the clear: a base station matches the tags of an epoch to contents.

It sees, for every user of its cell, a sequence of tags. *Rank matching* orders tags by how often they occur and
contents by their popularity. *Sequences* looks for the assignment ``pi`` of tags to contents under which what was seen
is likeliest::

    max_pi  sum_{t, t'} B[t, t'] log P(pi(t') | pi(t)),     B[t, t'] = how often a user's tag t was followed by t'

with a first symbol before every user's sequence, whose successors follow the popularity. This is a quadratic assignment
problem. Starts are found by scipy's ``faq`` on square roots of the counts of pairs (logarithms, which are dominated by
what never happens, lead it astray), and improved by ``2opt`` on the likelihood; of four the likeliest is taken. That is
not always the best there is: what is named is a lower bound of what can be named. By hand: tags seen 3, 2 and 1 times,
contents of popularity .2, .5 and .3: rank matching takes the most frequent tag for content 1, then 2, then 0.
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
"""Times that what was never seen counts as seen, so that its probability is not 0 (Krichevsky and Trofimov)."""


@dataclass(frozen=True)
class Knowledge:
    """What an attacker knows of contents ``[K]``: how often each was asked for, and which followed which ``[K, K]``."""

    content: Ints
    count: Floats
    follows: Floats


def learn(requests: Sequence[Ints]) -> Knowledge:
    """Knowledge from past requests, one sequence a user."""
    content, position = np.unique(np.concatenate(requests), return_inverse=True)
    ends = np.cumsum([len(sequence) for sequence in requests])[:-1]
    return Knowledge(content, *_counted(np.split(position, ends), len(content)))


def hidden(requests: Sequence[Ints], rng: Rng) -> tuple[list[Ints], Ints]:
    """Sequences of requests as sequences of tags ``0..T-1``, and the content ``[T]`` of every tag: in random order."""
    content, position = np.unique(np.concatenate(requests), return_inverse=True)
    order = rng.numpy().permutation(len(content))  # content[i] has tag order[i]
    ends = np.cumsum([len(sequence) for sequence in requests])[:-1]
    truth = np.empty_like(content)
    truth[order] = content
    return np.split(order[position], ends), truth


def rank_matching(tags: Sequence[Ints], known: Knowledge) -> Ints:
    """The content that each tag is taken for ``[T]``, by rank; -1 where there are more tags than contents."""
    seen = np.bincount(np.concatenate(tags))
    guess = np.full(len(seen), -1)
    by_tag, by_content = np.argsort(-seen, kind="stable"), np.argsort(-known.count, kind="stable")
    pairs = min(len(by_tag), len(by_content))
    guess[by_tag[:pairs]] = known.content[by_content[:pairs]]
    return guess


def sequences(tags: Sequence[Ints], known: Knowledge, rng: Rng, starts: int = STARTS) -> Ints:
    """The content that each tag is taken for ``[T]``, by the likeliest assignment that is found; -1 for no content."""
    many = int(max(part.max(initial=-1) for part in tags)) + 1
    size = max(many, len(known.content))
    firsts = np.bincount([part[0] for part in tags if len(part)], minlength=many).astype(np.float64)
    seen = _pairs(firsts, _counted(tags, many)[1], size)
    past = _pairs(known.count * firsts.sum() / known.count.sum(), known.follows, size)
    content = np.concatenate([known.content, np.full(size - len(known.content), -1)])
    guess = np.empty(size, np.int64)
    guess[_assigned(past, seen, _log_law(known, size), rng, starts)] = content
    return guess[:many]


def named(tags: Sequence[Ints], guess: Ints, truth: Ints) -> float:
    """Share of the requests whose content is guessed."""
    return float((guess == truth)[np.concatenate(tags)].mean())


def best_guess(requests: Sequence[Ints], known: Knowledge) -> float:
    """Share of the requests for the content that is known to be the most popular: what needs no tags at all."""
    return float((np.concatenate(requests) == known.content[known.count.argmax()]).mean())


def _counted(parts: Sequence[Ints], many: int) -> tuple[Floats, Floats]:
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


def _log_law(known: Knowledge, size: int) -> Floats:
    """Logarithms of the law of successors ``[1 + size, 1 + size]``; row 0 is the law of the first request."""
    smoothed = _pairs(known.count, known.follows, size)[:, 1:] + PRIOR
    law = np.zeros((size + 1, size + 1))
    law[:, 1:] = np.log(smoothed / smoothed.sum(axis=1, keepdims=True))
    return law


def _assigned(past: Floats, seen: Floats, law: Floats, rng: Rng, starts: int) -> Ints:
    """The tag of every content, by the likeliest assignment that was found; the first symbol stays where it is."""
    best, score = np.arange(len(law)), -np.inf
    for start in range(starts):
        options = {"maximize": True, "partial_match": np.array([[0, 0]]), "rng": rng.child(start).numpy()}
        begin = {**options, "P0": "randomized" if start else "barycenter"}
        first = quadratic_assignment(np.sqrt(past), np.sqrt(seen), "faq", begin).col_ind
        guess = np.column_stack([np.arange(1, len(law)), first[1:]])
        better = quadratic_assignment(law, seen, "2opt", {**options, "partial_guess": guess})
        if better.fun > score:
            best, score = better.col_ind, float(better.fun)
    return np.asarray(best[1:] - 1)
