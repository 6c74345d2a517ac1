"""Descriptions of specs: what values mean without the code of their parts."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fedradio.core.registry import FAMILIES, part
from fedradio.spec.description import describe
from fedradio.spec.spec import Spec, load_spec


def parts_of(plain: dict[str, Any]) -> set[tuple[str, str]]:
    """Family and kind of every part of a spec, by its known places."""
    families = ("link", "policy", "gather", "channel", "fleet")
    hops = [(family, hop[family]) for hop in plain["hops"] for family in families]
    data = [(family, plain["data"][family]) for family in ("source", "partition", "stream")]
    frame = [(family, plain[family]) for family in ("topology", "model", "rule", "schedule", "algorithm")]
    return {(family, value["kind"]) for family, value in [*hops, *data, *frame] if value is not None}


@pytest.mark.parametrize("name", ["demo", "rawhfl", "fedcpsl"])
def test_every_part_and_keyword_is_described(name: str) -> None:
    spec = load_spec(name)
    description = describe(spec)
    described = {(family, kind) for family, kinds in description["parts"].items() for kind in kinds}
    assert described == parts_of(spec.plain)
    for family, kind in described:
        told = description["parts"][family][kind]["keywords"]
        assert {key: value["doc"] for key, value in told.items()} == {
            parameter.name: parameter.arg.doc for parameter in part(family, kind).parameters()
        }
    assert json.loads(json.dumps(description)) == description


def test_units_and_keys_beside_the_parts() -> None:
    description = describe(load_spec("rawhfl"))
    assert description["parts"]["link"]["digital"]["keywords"]["bandwidth_hz"]["unit"] == "Hz"
    assert "seconds" in description["keys"]["hop"]["deadline_s"]
    assert {"seed", "rounds"} <= description["keys"]["spec"].keys()
    assert not set(FAMILIES) & {key for keys in description["keys"].values() for key in keys}


def test_scores_of_metrics_have_units_and_directions() -> None:
    spec = load_spec("demo", ["metrics=[macro_f1, {kind: calibration, bins: 4}, {kind: top, m: 3}]"])
    description = describe(spec)
    assert description["metrics"] == {
        "macro_f1": {"unit": "", "better": "more"},
        "calibration_error": {"unit": "", "better": "less"},
        "top_3_accuracy": {"unit": "", "better": "more"},
    }
    assert set(description["parts"]["metric"]) == {"macro_f1", "calibration", "top"}
    foreign = Spec(spec.plain | {"metrics": [{"kind": "nobody's"}, {"kind": "worst", "share": 0.5}]})
    assert set(describe(foreign)["metrics"]) == {"worst_accuracy"}
    assert set(describe(foreign)["parts"]["metric"]) == {"nobody's", "worst"}
    assert describe(load_spec("demo"))["metrics"] == {}


def test_a_part_that_is_not_installed_keeps_its_values() -> None:
    spec = load_spec("demo")
    foreign = Spec(spec.plain | {"algorithm": {"kind": "nobody's", "lr": 3}})
    assert describe(foreign)["parts"]["algorithm"]["nobody's"] == {
        "summary": FAMILIES["algorithm"],
        "keywords": {},
    }
