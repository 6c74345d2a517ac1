"""Defaults that never change: the table, and fingerprints that leave out what has its default."""

from __future__ import annotations

import json
from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest

from fedradio.spec.defaults import default_table, with_defaults, without_defaults
from fedradio.spec.spec import Spec, check_spec, complete_spec, load_spec

Make = Callable[..., Spec]
TABLE: dict[str, dict[str, Any]] = {
    "spec": {"topology": {"kind": "flat"}, "hops": [{}], "data": {}, "metrics": [], "seed": 0},
    "hops": {"link": {"kind": "ideal"}, "period": 1, "receiver": None},
    "data": {"source": {"kind": "digits"}, "test": "source"},
    "topology/flat": {"clients": 20},
    "link/ideal": {"bits": 32.0},
    "source/digits": {"share": 0.2},
    "metric/top": {"m": 5},
}
WHOLE: dict[str, Any] = {
    "topology": {"kind": "flat", "clients": 20},
    "hops": [{"link": {"kind": "ideal", "bits": 32.0}, "period": 1, "receiver": None}],
    "data": {"source": {"kind": "digits", "share": 0.2}, "test": "source"},
    "metrics": [],
    "seed": 0,
}
"""A small table, and the spec in which everything has its default."""


def test_everything_with_its_default_is_left_out_and_filled_in() -> None:
    before = json.dumps([WHOLE, TABLE])
    assert without_defaults(WHOLE, TABLE) == {}
    assert with_defaults({}, TABLE) == WHOLE
    with_defaults({}, TABLE)["hops"][0]["link"]["bits"] = 1
    assert json.dumps([WHOLE, TABLE]) == before


@pytest.mark.parametrize(
    ("change", "short"),
    [
        ({"seed": 3}, {"seed": 3}),
        ({"topology": {"kind": "flat", "clients": 7}}, {"topology": {"kind": "flat", "clients": 7}}),
        ({"topology": {"kind": "mine", "clients": 20}}, {"topology": {"kind": "mine", "clients": 20}}),
        ({"data": WHOLE["data"] | {"test": "client"}}, {"data": {"test": "client"}}),
        ({"hops": [WHOLE["hops"][0], WHOLE["hops"][0] | {"period": 2}]}, {"hops": [{}, {"period": 2}]}),
        ({"metrics": [{"kind": "top", "m": 5}]}, {"metrics": [{"kind": "top"}]}),
        ({"data": WHOLE["data"] | {"source": None}}, {"data": {"source": None}}),
    ],
)
def test_other_values_stay_and_are_restored(change: dict[str, Any], short: dict[str, Any]) -> None:
    assert without_defaults(WHOLE | change, TABLE) == short
    assert with_defaults(short, TABLE) == WHOLE | change


def test_keywords_of_parts_are_values() -> None:
    """A keyword may be called like a family or a section: what is in it is its value."""
    plain = {"topology": {"kind": "flat", "data": {"test": "source"}, "metrics": [{"kind": "top", "m": 5}]}}
    assert without_defaults(plain, TABLE) == plain


@pytest.mark.parametrize(
    "plain", [{"hops": None}, {"hops": {"period": 2}}, {"hops": [None, 3]}, {"data": 3}, {"x": []}]
)
def test_what_is_no_spec_is_left_as_it_is(plain: dict[str, Any]) -> None:
    assert without_defaults(plain, TABLE) == plain


def test_the_smallest_spec_has_all_defaults_of_the_table() -> None:
    plain = check_spec({}).plain
    assert without_defaults(plain) == {}
    assert with_defaults({}) == plain


@pytest.mark.parametrize("name", ["demo", "rawhfl", "osafl", "whfl", "fedcpsl", "rawhfl/quick/m1"])
def test_specs_are_restored(name: str) -> None:
    spec = load_spec(name)
    short = without_defaults(spec.plain)
    assert len(json.dumps(short)) < len(json.dumps(spec.plain))
    assert with_defaults(short) == spec.plain
    assert check_spec(short).plain == spec.plain
    assert spec.sha256() == Spec(short).sha256()


def test_a_new_key_with_a_neutral_default_changes_no_fingerprint(tiny: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """A key of the spec, of a hop, and of a part that is itself a default; any other value is another run."""
    before = tiny()
    table = deepcopy(dict(default_table()))
    model = f"model/{before.plain['model']['kind']}"
    for section in ("spec", "hops", model):
        table[section] = {**table[section], "new": "usual"}
    monkeypatch.setattr("fedradio.spec.defaults.default_table", lambda: table)
    assert before.sha256() == tiny().sha256()
    plain = complete_spec(before.plain, "spec.yaml").plain
    assert plain["new"] == plain["hops"][0]["new"] == plain["model"]["new"] == "usual"
    assert Spec(plain).sha256() == before.sha256()
    others = [
        plain | {"new": "other"},
        plain | {"model": plain["model"] | {"new": "other"}},
        plain | {"hops": [plain["hops"][0] | {"new": "other"}]},
    ]
    assert len({before.sha256(), *(Spec(other).sha256() for other in others)}) == 4


def test_values_that_are_not_neutral_make_another_run(tiny: Make) -> None:
    plain, named = tiny().sha256(), tiny("grouping=auto", "metrics=[]", "precision=float32").sha256()
    changes = ("grouping=single", "metrics=[macro_f1]", "metrics=[worst]", "world_seed=0", "seed=9", "precision=bf16")
    others = [tiny(change).sha256() for change in changes]
    assert plain == named == tiny("world_seed=null").sha256() == tiny("name=other").sha256()
    assert len({plain, *others}) == 7
