"""Every field of a spec, of every part, fuzzed: a spec error, or it runs. Never a traceback from the inside."""

import copy
import math
from pathlib import Path
from typing import Any

import pytest

from fedradio.core.errors import DataError, DivergenceError, SpecError
from fedradio.core.registry import parts
from fedradio.rounds.round import begin, run_round
from fedradio.spec.build import build
from fedradio.spec.spec import check_spec

OWN = Path(__file__).parents[1] / "support" / "own"
"""Files as users have them."""

BASE: dict[str, Any] = {
    "topology": {"kind": "hierarchical", "edges": 2, "clients_per_edge": 2},
    "hops": [
        {
            "policy": {"kind": "fixed", "steps": 1},
            "link": "digital",
            "channel": "urban_macro",
            "fleet": "cellular",
            "deadline_s": 5.0,
            "transforms": [{"kind": "clip", "norm": 1.0}, "top_k"],
        },
        {},
    ],
    "data": {"source": {"kind": "synthetic_images", "height": 12, "width": 12, "samples": 200, "test_samples": 20}},
    "model": "logistic",
    "metrics": ["macro_f1"],
}

BAD: list[Any] = [
    "words",
    "",
    -1,
    0,
    1,
    0.5,
    1e-300,
    1e308,
    math.nan,
    math.inf,
    10**30,
    -(10**30),
    None,
    True,
    [],
    [1, 2],
    [-1],
    [10**9],
    [0.0, 1e300],
    {},
    {"kind": 3},
    "x" * 5000,
]

PLACES = {
    "topology": ("topology",),
    "fleet": ("hops", 0, "fleet"),
    "channel": ("hops", 0, "channel"),
    "link": ("hops", 0, "link"),
    "policy": ("hops", 0, "policy"),
    "source": ("data", "source"),
    "partition": ("data", "partition"),
    "stream": ("data", "stream"),
    "model": ("model",),
    "rule": ("rule",),
    "schedule": ("schedule",),
    "algorithm": ("algorithm",),
    "metric": ("metrics", 0),
    "transform": ("hops", 0, "transforms", 1),
    "receiver": ("hops", 0, "receiver"),
    "gather": ("hops", 0, "gather"),
    "loss": ("loss",),
    "placement": ("cache", "placements", 0),
}


TINY: dict[tuple[str, str], dict[str, Any]] = {
    ("source", "synthetic_images"): BASE["data"]["source"],
    ("source", "videos"): {"genres": 2, "contents_per_genre": 3, "requests": 20, "test_requests": 5},
    ("source", "video_files"): {"genres": 2, "files_per_genre": 3, "requests": 20, "test_requests": 15},
    ("stream", "growing"): {"history": 10},
    ("stream", "fifo"): {"capacity": [10, 20], "slots": 8, "at_end": "repeat"},
    ("policy", "joint"): {"clients": 1, "max_steps": 2},
    ("policy", "budget"): {"max_steps": 2},
    ("policy", "ramp"): {"steps": 1},
    ("topology", "clusters"): {"clusters": 2, "clients_per_cluster": 2},
    ("policy", "per_client"): {"max_steps": 2, "mode": "paper"},
    ("model", "lstm"): {"width": 4},
    ("model", "cnn_batchnorm"): {"width": 2},
    ("channel", "trace"): {"path": str(Path(__file__).parents[1] / "support" / "gains.csv")},
    ("topology", "file"): {"path": str(OWN / "nodes.csv")},
    ("fleet", "file"): {"path": str(OWN / "fleet.csv")},
    ("source", "csv"): {"path": str(OWN / "samples.csv"), "label": "kind"},
    ("source", "npz"): {"path": str(OWN / "samples.npz")},
    ("source", "parquet"): {"path": str(OWN / "samples.parquet"), "label": "kind"},
    ("source", "image_folder"): {"path": str(OWN / "pictures")},
    ("source", "own"): {"shape": [1, 8, 8], "classes": 10},
    ("partition", "file"): {"path": str(OWN / "owners.csv"), "missing": "leave_out"},
    ("transform", "noise"): {"multiplier": 0.1, "at": "client"},
}
"""Keywords that keep a part small."""

AROUND: dict[tuple[str, str], dict[str, Any]] = {
    ("policy", "ramp"): {"link": "over_the_air", "channel": "power_law", "transforms": []},
    ("link", "over_the_air"): {"channel": "power_law", "transforms": []},
    ("channel", "power_law"): {
        "link": {"kind": "over_the_air", "symbol_rate_hz": 1e6, "power_unit_w": 1.0},
        "transforms": [],
    },
}
"""What the hop must have beside a part for it to run at all."""

SAMPLES: dict[tuple[str, str], dict[str, Any]] = {
    ("model", "squeezenet"): BASE["data"]["source"] | {"height": 17, "width": 17, "samples": 60},
    ("model", "lstm"): {"kind": "video_files", "sample": "history", "history": 4, **TINY["source", "video_files"]},
}
"""Samples that a model can read."""


REQUESTS: dict[str, Any] = BASE | {
    "data": {"source": {"kind": "videos"} | TINY["source", "videos"], "stream": {"kind": "growing", "history": 10}},
    "cache": {"capacity": 2, "placements": ["lru"]},
}
"""A world in which clients ask for files."""


def put(plain: dict[str, Any], place: tuple[str | int, ...], value: Any) -> dict[str, Any]:
    changed: Any = copy.deepcopy(plain)
    node = changed
    for name in place[:-1]:
        node = node[name] if isinstance(node, list) else node.setdefault(name, {})
    node[place[-1]] = value
    return changed


FIELDS = [(part.family, part.kind, parameter.name) for part in parts() for parameter in part.parameters()]
SHARES = 3
"""Of the values, ``make test`` tries one of so many with each field; other fields get others."""


def values_of(field: int, share: str) -> list[Any]:
    """The values that a field is tried with in ``make test``, or the ``other`` ones."""
    return [value for number, value in enumerate(BAD) if ((number + field) % SHARES == 0) == (share == "some")]


def survives(plain: dict[str, Any]) -> bool:
    """True if it ran, False if it was refused; anything else is an error of ours."""
    try:
        sim = build(check_spec(plain))
        run_round(sim, begin(sim))
    except SpecError as error:
        if not all(problem.path and problem.reason for problem in error.problems):
            raise AssertionError(f"a problem without place or reason: {error}") from error
        return False
    except DataError:
        return False
    except DivergenceError:
        return True
    return True


@pytest.mark.usefixtures("image_sets")
@pytest.mark.parametrize("share", ["some", pytest.param("other", marks=pytest.mark.wide)])
@pytest.mark.parametrize(("family", "kind", "name"), FIELDS)
def test_fields_of_parts(family: str, kind: str, name: str, share: str) -> None:
    place = PLACES[family]
    small: dict[str, Any] = {"kind": kind} | TINY.get((family, kind), {})
    if kind == "central":
        small |= {"steps": 1}
    if (family, kind) == ("policy", "sampling"):
        small |= {"steps": 1}
    if family == "policy" and name == "epochs":
        small.pop("steps", None)
    for value in values_of(FIELDS.index((family, kind, name)), share):
        plain = put(REQUESTS if family == "placement" else BASE, place, small | {name: value})
        plain["hops"][0] |= AROUND.get((family, kind), {})
        plain["data"]["source"] = SAMPLES.get((family, kind), plain["data"]["source"])
        if family == "topology" and kind == "flat":
            plain["hops"] = plain["hops"][:1]
        survives(plain)


FRAME = [
    "name",
    "about",
    "seed",
    "world_seed",
    "rounds",
    "eval_every",
    "eval_top",
    "clock",
    "grouping",
    "precision",
    "topology",
    "hops",
    "data",
    "model",
    "rule",
    "personal",
]
HOP = ["link", "policy", "channel", "fleet", "period", "deadline_s", "late", "gather"]
DATA = ["source", "partition", "stream", "test", "test_fraction", "unlabelled"]


@pytest.mark.parametrize(
    "place",
    [
        *[(n,) for n in [*FRAME, "schedule", "algorithm", "loss", "metrics", "colour"]],
        *[("hops", 0, n) for n in HOP],
        *[("data", n) for n in DATA],
        ("metrics", 0),
    ],
    ids=lambda place: ".".join(map(str, place)),
)
def test_fields_of_the_frame(place: tuple[str | int, ...]) -> None:
    results = [survives(put(BASE, place, value)) for value in BAD]
    assert not all(results)


def test_the_base_itself_runs() -> None:
    assert survives(BASE)


@pytest.mark.usefixtures("image_sets")
@pytest.mark.parametrize("kind", ["mnist", "fashion_mnist", "cifar10", "cifar100"])
def test_fetched_sources_run(kind: str) -> None:
    assert survives(put(BASE, ("data", "source"), {"kind": kind}))
