"""Bounds and kinds that a spec's schema takes from the factories of parts."""

import json

import pytest
from pydantic import create_model

from fedradio.core.registry import part
from fedradio.spec.schema import FRAME, _parts_field, part_schema, spec_schema


def test_zero_clients_are_refused() -> None:
    schema = part_schema(part("topology", "clusters"))
    for name in ("clusters", "clients_per_cluster"):
        with pytest.raises(ValueError, match="greater than or equal to 1"):
            schema.model_validate({"kind": "clusters", name: 0})


def test_negative_noise_is_refused_and_none_is_allowed() -> None:
    schema = part_schema(part("channel", "power_law"))
    assert schema.model_validate({"kind": "power_law", "noise_symbol": 0.0})
    with pytest.raises(ValueError, match="greater than or equal to 0"):
        schema.model_validate({"kind": "power_law", "noise_symbol": -1.0})


def test_a_list_of_parts_takes_names_and_mappings() -> None:
    schema = spec_schema()
    given = {"metrics": ["macro_f1", {"kind": "calibration", "bins": 4}, {"kind": "top"}]}
    checked = schema.model_validate_json(json.dumps(given))
    assert checked.model_dump(mode="json")["metrics"] == [
        {"kind": "macro_f1"},
        {"kind": "calibration", "bins": 4},
        {"kind": "top", "m": 5},
    ]
    assert schema().model_dump(mode="json")["metrics"] == []


def test_a_list_of_parts_of_one_kind_and_of_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """A family with a single kind has no tags to tell apart; one without any takes the empty list alone."""
    for kinds, refused in (([part("metric", "top")], [{"kind": "worst"}]), ([], ["top"])):
        monkeypatch.setattr("fedradio.spec.schema.parts", lambda _, kinds=kinds: kinds)
        annotation, default = _parts_field("metric", "judges", most=2)
        model = create_model("Some", __config__=FRAME, metrics=(annotation, default))
        assert model().model_dump(mode="json") == {"metrics": []}
        if kinds:
            assert model.model_validate_json('{"metrics": ["top"]}').model_dump()["metrics"] == (
                {"kind": "top", "m": 5},
            )
        for wrong in (refused, ["top"] * 3):
            with pytest.raises(ValueError, match="metrics"):
                model.model_validate_json(json.dumps({"metrics": wrong}))
