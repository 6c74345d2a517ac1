"""Keys that came later: their neutral values change neither fingerprints nor variants, wherever they stand."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from fedradio.results.run import open_run
from fedradio.results.variants import variants
from fedradio.spec.later_keys import LATER_KEYS, with_neutral, without_neutral
from fedradio.spec.spec import Spec, check_spec, load_spec, stored_spec

OLD = Path(__file__).parents[2] / "support" / "version_0_1" / "run"
LATER = {"metrics": [], "hops.*.receiver": None, "hops.*.transforms": [], "data.noise.level": 0.0}
"""Keys of the spec, of every hop, and of a mapping that need not be there."""


def test_neutral_values_are_left_out_and_filled_in() -> None:
    old = {"seed": 1, "hops": [{"period": 2}, {"period": 1}], "data": {"noise": {}}}
    new = {
        "seed": 1,
        "hops": [{"period": n, "receiver": None, "transforms": []} for n in (2, 1)],
        "data": {"noise": {"level": 0.0}},
        "metrics": [],
    }
    before = json.dumps([old, new])
    assert with_neutral(old, LATER) == new
    assert without_neutral(new, LATER) == old
    assert with_neutral(new, LATER) == new
    assert without_neutral(old, LATER) == old
    assert json.dumps([old, new]) == before
    filled = with_neutral(old, LATER)
    filled["hops"][0]["transforms"].append("clip")
    assert (filled["hops"][1]["transforms"], LATER["hops.*.transforms"]) == ([], [])


def test_keys_of_a_kind_belong_to_parts_of_that_kind() -> None:
    later = {"topology(clusters).layouts": "spaced", "hops.*.channel(power_law).noise_w_hz": None}
    old = {"topology": {"kind": "flat"}, "hops": [{"channel": {"kind": "power_law"}}, {"channel": None}]}
    new = with_neutral(old, later)
    assert new == {
        "topology": {"kind": "flat"},
        "hops": [{"channel": {"kind": "power_law", "noise_w_hz": None}}, {"channel": None}],
    }
    assert without_neutral(new, later) == old


def test_an_old_name_is_read_and_keeps_its_fingerprint(tmp_path: Path) -> None:
    """``noise`` of power_law is called noise_symbol: in files, on top of a base, in ``set`` and in overrides."""
    today = load_spec("whfl", ["hops.0.channel.noise_symbol=3"])
    file = tmp_path / "old.yaml"
    file.write_text("base: whfl\nset: {hops.0.channel.noise: 3}\n")
    on_top = tmp_path / "on_top.yaml"
    on_top.write_text("base: old.yaml\nset: {hops.0.channel.noise_symbol: 5, hops.0.channel.noise: 3}\n")
    for spec in (
        load_spec("whfl", ["hops.0.channel.noise=3"]),
        load_spec("whfl", ["hops.0.channel={kind: power_law, noise: 3}"]),
        load_spec(file),
        load_spec(on_top),
    ):
        assert spec.plain["hops"][0]["channel"]["noise_symbol"] == 3
        assert spec.sha256() == today.sha256()
    assert load_spec(file, ["hops.0.channel.noise_symbol=4"]).plain["hops"][0]["channel"]["noise_symbol"] == 4
    printed = without_neutral(today.plain)["hops"][0]["channel"]
    assert printed == {"kind": "power_law", "exponent": 4.0, "noise": 3.0}
    assert with_neutral(without_neutral(today.plain)) == today.plain


def test_keys_of_one_kind_of_part() -> None:
    """``algorithm(osafl).score`` is a key of osafl alone; a part that is no mapping, or has another kind, has none."""
    later = {"algorithm(osafl).score": "similarity", "hops.*.policy(per_client).start": 1.0}
    old = {"algorithm": {"kind": "osafl"}, "hops": [{"policy": {"kind": "per_client"}}, {"policy": {"kind": "fixed"}}]}
    new = {
        "algorithm": {"kind": "osafl", "score": "similarity"},
        "hops": [{"policy": {"kind": "per_client", "start": 1.0}}, {"policy": {"kind": "fixed"}}],
    }
    assert with_neutral(old, later) == new
    assert without_neutral(new, later) == old
    for plain in ({"algorithm": {"kind": "fedavg"}}, {"algorithm": "osafl"}, {"hops": [{"policy": None}]}):
        assert with_neutral(plain, later) == plain


def test_other_values_stay() -> None:
    given = {"metrics": ["top"], "hops": [{"receiver": None, "transforms": ["clip"]}, {"receiver": "adam"}]}
    assert without_neutral(given, LATER) == {
        "metrics": ["top"],
        "hops": [{"transforms": ["clip"]}, {"receiver": "adam"}],
    }


@pytest.mark.parametrize("plain", [{}, {"hops": None}, {"hops": {"receiver": None}}, {"hops": [None, 3]}, {"data": 3}])
def test_what_is_no_spec_is_left_as_it_is(plain: dict[str, Any]) -> None:
    assert without_neutral(plain, LATER) == plain
    assert with_neutral(plain, LATER) == plain | {"metrics": []}


def test_every_later_key_is_in_the_schema_with_its_neutral_value(tiny: Callable[..., Spec]) -> None:
    plain = tiny().plain
    lacking = without_neutral(plain)
    assert LATER_KEYS
    assert with_neutral(lacking) == plain
    assert plain.keys() - lacking.keys() == {key for key in LATER_KEYS if "." not in key}


def test_a_run_of_version_0_1_is_what_it_was(tmp_path: Path) -> None:
    """Its fingerprint, and its variant: beside it a run of today, of the same spec with another seed."""
    stored = stored_spec(OLD / "spec.yaml")
    summary = json.loads((OLD / "summary.json").read_text())
    assert not LATER_KEYS.keys() & yaml.safe_load((OLD / "spec.yaml").read_text()).keys()
    assert stored.sha256() == summary["spec_sha256"] == load_spec(OLD / "spec.yaml").sha256()
    today = tmp_path / "today"
    today.mkdir()
    (today / "spec.yaml").write_text(check_spec(stored.plain | {"seed": 6}).yaml())
    (today / "records.jsonl").touch()
    (variant,) = variants([open_run(OLD), open_run(today)])
    assert sorted(variant.runs) == [5, 6]


def test_values_that_are_not_neutral_make_another_run(tiny: Callable[..., Spec]) -> None:
    plain, named = tiny().sha256(), tiny("grouping=auto", "metrics=[]").sha256()
    changes = ("grouping=single", "metrics=[macro_f1]", "metrics=[worst]", "world_seed=0")
    others = [tiny(change).sha256() for change in changes]
    assert plain == named == tiny("world_seed=null").sha256()
    assert len({plain, *others}) == 5
