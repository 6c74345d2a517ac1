"""Keys that specs did not have from the start, or that had another name. Neutral values change nothing: a spec without
such a key, stored before there was one, describes the same run as a spec that has it with its neutral value. Old names
are read everywhere; fingerprints are made with them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import deepcopy
from typing import Any

LATER_KEYS: Mapping[str, Any] = {
    "topology(clusters).layouts": "spaced",
    "data.partition(label_gaps).labels": "lack_two",
    "data.partition(label_gaps).inside": "samples",
    "data.partition(label_gaps).drawn": False,
    "hops.*.channel(power_law).noise_w_hz": None,
    "world_seed": None,
    "topology(flat).via": None,
    "hops.*.channel(urban_macro).nlos": "standard",
    "hops.*.channel(urban_macro).redraw": "exchange",
    "hops.*.policy(joint).rho": 0.0,
    "hops.*.policy(joint).iterations": 50,
    "hops.*.policy(joint).precision": 1e-3,
    "hops.*.policy(joint).start": "full_power",
    "grouping": "auto",
    "metrics": [],
    "hops.*.transforms": [],
    "hops.*.receiver": None,
    "rule(sgd).lr_per_step": False,
    "algorithm(osafl).score": "similarity",
    "algorithm(osafl).normalise": "updates",
    "algorithm(osafl).smoothness": 1.0,
    "algorithm(osafl).variance": 1.0,
    "algorithm(osafl).shift": 0.0,
    "algorithm(osafl).divergence": 0.0,
    "algorithm(osafl).rho_1": 1.0,
    "algorithm(afa_cd).normalise": "updates",
    "data.source(video_files).images": "generated",
    "data.source(video_files).image_std": 1.0,
    "data.source(video_files).genre": "unit",
    "data.stream(fifo).removal": "fifo",
    "hops.*.policy(per_client).start": [1.0, 1.0],
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
    "data.source(videos).entry": "favourite",
    "data.source(videos).zipf_gamma": 1.0,
    "data.source(videos).drift": 0.0,
    "data.source(video_files).drift": 0.0,
    "cache": None,
}
"""Every key that came after version 0.1, with its neutral value. In ``hops.*.key`` the star is every item of a list; in
``algorithm(osafl).score`` the key belongs to parts of that kind."""

RENAMED: Mapping[str, str] = {"hops.*.channel(power_law).noise_symbol": "noise"}
"""Every key that has another name than in version 0.1, with its old one."""


def without_neutral(plain: Mapping[str, Any], later: Mapping[str, Any] = LATER_KEYS) -> dict[str, Any]:
    """A copy of a spec without the later keys that have their neutral values, and with the old names of the others:
    what fingerprints are made of."""
    copy = deepcopy(dict(plain))
    for path, old in RENAMED.items():
        for holder, key in _holders(copy, path):
            if key in holder:
                holder[old] = holder.pop(key)
    for path, neutral in later.items():
        for holder, key in _holders(copy, path):
            if key in holder and holder[key] == neutral:
                del holder[key]
    return copy


def with_neutral(plain: Mapping[str, Any], later: Mapping[str, Any] = LATER_KEYS) -> dict[str, Any]:
    """A copy of a complete spec of any version, with the neutral values of the later keys that it lacks."""
    copy = deepcopy(dict(plain))
    rename(copy)
    for path, neutral in later.items():
        for holder, key in _holders(copy, path):
            holder.setdefault(key, deepcopy(neutral))
    return copy


def rename(plain: dict[str, Any]) -> None:
    """Give the keys of a spec that stand there under an old name their name of today, which they replace."""
    for path, old in RENAMED.items():
        for holder, key in _holders(plain, path):
            if old in holder:
                holder[key] = holder.pop(old)


def _holders(plain: dict[str, Any], path: str) -> Iterator[tuple[dict[str, Any], str]]:
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
