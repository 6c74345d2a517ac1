"""Keys that specs did not have from the start. Their neutral values change nothing: a spec without such a key, stored
before there was one, describes the same run as a spec that has it with its neutral value."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import deepcopy
from typing import Any

from fedradio.spec.yaml import Plain

LATER_KEYS: Mapping[str, Any] = {
    "world_seed": None,
    "grouping": "auto",
    "metrics": [],
    "hops.*.transforms": [],
    "hops.*.receiver": None,
    "rule(sgd).epochs_over": "labelled",
    "rule(adam).epochs_over": "labelled",
    "algorithm(fedcpsl).pseudo_rate": None,
    "algorithm(fedcpsl).pseudo_on": "unlabelled",
    "algorithm(fedcpsl).phases": None,
    "algorithm(fedshvr).pseudo_rate": None,
    "algorithm(fedshvr).pseudo_on": "unlabelled",
    "algorithm(apsfl).pseudo_rate": None,
    "algorithm(apsfl).pseudo_on": "unlabelled",
    "algorithm(apsfl).phases": None,
    "algorithm(apfl).phases": None,
    "algorithm(apfl_tuned).phases": None,
}
"""Every key that came after version 0.1, with its neutral value. In ``hops.*.key`` the star is every item of a list; in
``algorithm(osafl).score`` the key belongs to parts of that kind."""


def without_neutral(plain: Mapping[str, Any], later: Mapping[str, Any] = LATER_KEYS) -> Plain:
    """A copy of a spec without the later keys that have their neutral values: what fingerprints are made of."""
    copy = deepcopy(dict(plain))
    for path, neutral in later.items():
        for holder, key in _holders(copy, path):
            if key in holder and holder[key] == neutral:
                del holder[key]
    return copy


def with_neutral(plain: Mapping[str, Any], later: Mapping[str, Any] = LATER_KEYS) -> Plain:
    """A copy of a complete spec of any version, with the neutral values of the later keys that it lacks."""
    copy = deepcopy(dict(plain))
    for path, neutral in later.items():
        for holder, key in _holders(copy, path):
            holder.setdefault(key, deepcopy(neutral))
    return copy


def _holders(plain: Plain, path: str) -> Iterator[tuple[Plain, str]]:
    """Every mapping in which the last key of a path may stand, and that key."""
    *above, key = path.split(".")
    nodes: list[Any] = [plain]
    for name in above:
        if name == "*":
            nodes = [item for node in nodes if isinstance(node, list) for item in node]
            continue
        name, _, kind = name.removesuffix(")").partition("(")
        nodes = [node[name] for node in nodes if isinstance(node, dict) and name in node]
        if kind:
            nodes = [node for node in nodes if isinstance(node, dict) and node.get("kind") == kind]
    yield from ((node, key) for node in nodes if isinstance(node, dict))
