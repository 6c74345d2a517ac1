"""Descriptions of specs: what values mean without the code of their parts, and the shortest way to make a run again."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fedradio.core.registry import FAMILIES, part
from fedradio.spec.description import describe, from_shipped, override_value, shipped_as
from fedradio.spec.files import read_spec, shipped, shipped_text
from fedradio.spec.spec import Spec, load_spec


def parts_of(plain: dict[str, Any]) -> set[tuple[str, str]]:
    """Family and kind of every part of a spec, by its known places."""
    hops = [(family, hop[family]) for hop in plain["hops"] for family in ("link", "policy", "channel", "fleet")]
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


@pytest.mark.parametrize(
    "overrides",
    [[], ["rounds=7"], ["rule.momentum=0.5", "seed=9"], ["rule.lr=0.03", "hops.0.period=2"], ["metrics=[top]"]],
    ids=" ".join,
)
def test_the_shipped_command_makes_the_same_run(overrides: list[str]) -> None:
    spec = load_spec("demo", overrides)
    arguments = from_shipped(spec)
    assert arguments is not None
    assert arguments[0] == "demo"
    assert load_spec(arguments[0], arguments[1:]).sha256() == spec.sha256()
    assert len(arguments) <= 1 + 8


def test_a_run_of_another_name_or_with_many_changes_has_no_short_command() -> None:
    assert from_shipped(load_spec("demo", ["name=mine"])) is None
    many = ["rounds=3", "seed=5", "rule.lr=0.3", "rule.batch=7", "eval_every=2", "rule.momentum=0.5", "hops.0.period=9"]
    assert from_shipped(load_spec("demo", [*many, "rule.updates_per_step=2", "model.hidden=[5]"])) is None
    assert from_shipped(load_spec("demo", ["algorithm=scaffold"])) is None  # fedavg's keywords are not scaffold's


def test_names_of_shipped_specs() -> None:
    assert "demo" in shipped_as("demo")
    assert shipped_as("no such name") == []
    assert set(shipped_as("demo")) <= set(shipped())


def test_only_specs_that_can_have_the_name_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    read = []

    def noted(name: str) -> str:
        read.append(name)
        return shipped_text(name)

    monkeypatch.setattr("fedradio.spec.description.shipped_text", noted)
    assert shipped_as("z4") == ["rawhfl/paper/z4", "rawhfl/quick/z4"] == read
    assert shipped_as("osafl_quick_fedavg") == ["osafl/quick/fedavg"] == read[2:]


def test_every_shipped_spec_is_found_by_the_name_of_its_runs() -> None:
    missing = [name for name in shipped() if name not in shipped_as(str(read_spec(name)["name"]))]
    assert missing == []


@pytest.mark.parametrize(
    ("value", "text"), [("adam", "adam"), ("null", '"null"'), ("two words", '"two words"'), (0.5, "0.5"), ([1], "[1]")]
)
def test_values_on_a_command_line(value: Any, text: str) -> None:
    assert override_value(value) == text
