"""Specs as text: axes, overrides, bases, files."""

import json
from pathlib import Path
from typing import Any

import pytest

from fedradio.core.errors import SpecError
from fedradio.spec.spec import load_spec
from fedradio.spec.yaml import apply_overrides, flatten, near_specs, parse_axis, parse_yaml, read_spec, spec_families


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("k=1,2.5,1e-3", [1, 2.5, 0.001]),
        ("k=[64,32],[128]", [[64, 32], [128]]),
        ("k=[64,32]", [[64, 32]]),
        ("k=fedavg,fedprox", ["fedavg", "fedprox"]),
        ("k={kind: fedprox, mu: 0.1},fedavg", [{"kind": "fedprox", "mu": 0.1}, "fedavg"]),
        ("k={kind: a, b: [1, 2]}, {kind: c}", [{"kind": "a", "b": [1, 2]}, {"kind": "c"}]),
        ("k='a, b',\"c, d\"", ["a, b", "c, d"]),
        ("k='it''s, so', it's", ["it's, so", "it's"]),
        ("k=null,true", [None, True]),
        ("k=7,", [7]),
        ("k=", []),
        (" k = a=b , c ", ["a=b", "c"]),
    ],
)
def test_commas_separate_values_outside_of_brackets_and_quotes(text: str, values: list[Any]) -> None:
    assert parse_axis(text) == ("k", values)


@pytest.mark.parametrize("text", ["k=1,,2", "k=[1,2", "k=1]", "k='a,b", "k={a: 1", "k=a],[b", "=1", "k"])
def test_values_that_are_not_yaml_are_refused(text: str) -> None:
    with pytest.raises(SpecError):
        parse_axis(text)


def test_overrides() -> None:
    plain = {"rule": {"kind": "sgd", "lr": 1}, "hops": [{"link": "ideal"}], "data": {"source": "digits"}}
    changed = apply_overrides(
        plain,
        [
            "rule.lr=1e-3",
            "hops.0.period=4",
            "data.source=mnist",
            "data.source.samples=50",
            "hops[0].link.bits_per_value=8",
        ],
    )
    assert changed["rule"]["lr"] == 0.001
    assert changed["hops"][0]["period"] == 4
    assert changed["data"]["source"] == {"kind": "mnist", "samples": 50}
    assert changed["hops"][0]["link"] == {"kind": "ideal", "bits_per_value": 8}
    assert plain["rule"]["lr"] == 1


@pytest.mark.parametrize(
    "text",
    [
        "rounds",
        "=3",
        "hops.1.period=2",
        "hops.x=1",
        "rounds.x=1",
        "rule={",
        "rule.lr=!!timestamp 2020",
        "hops.².period=1",
    ],
)
def test_wrong_overrides(text: str) -> None:
    with pytest.raises(SpecError):
        apply_overrides({"hops": [{}], "rounds": 3}, [text])


TAGGED = ("!!timestamp 2020", "!!timestamp 2020-01-01", "!!binary x", "!!set {a}", "!!omap [a: 1]", "!!pairs [a: 1]")
BEYOND_YAML = (
    *TAGGED,
    "!mine x",
    "!!bool maybe",
    "!!int x",
    "!!int ''",
    "!!map [1]",
    "=",
    "1:" * 4000 + "1",
    "9" * 5000,
)


@pytest.mark.parametrize("value", BEYOND_YAML)
def test_what_no_spec_can_hold_is_refused_in_a_sentence(value: str) -> None:
    """On the command line, on an axis of a sweep, and in a file."""
    for refused in (
        lambda: apply_overrides({}, [f"rule.lr={value}"]),
        lambda: parse_axis(f"rule.lr={value},1"),
        lambda: parse_yaml(f"rule:\n  lr: {value}", "mine.yaml"),
    ):
        with pytest.raises(SpecError) as caught:
            refused()
        (problem,) = caught.value.problems
        assert problem.path in ("rule.lr", "mine.yaml")
        assert "YAML" in problem.reason
        assert "\n" not in str(problem)


def test_a_date_is_text() -> None:
    assert apply_overrides({}, ["about=2020-01-01"]) == {"about": "2020-01-01"}
    assert parse_axis("about=2020-13-45,2001-12-14t21:59:43.10-05:00") == (
        "about",
        ["2020-13-45", "2001-12-14t21:59:43.10-05:00"],
    )


@pytest.mark.parametrize("name", ["x" * 5000, "/".join(["y" * 200] * 25), "file/below", "a\0b"])
def test_paths_that_no_file_can_have(name: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(SpecError) as caught:
        read_spec(tmp_path / name)
    assert len(caught.value.problems[0].path) <= 300
    (tmp_path / "mine.yaml").write_text(f"base: {json.dumps(name)}")
    with pytest.raises(SpecError):
        read_spec(tmp_path / "mine.yaml")


def test_reading_files(tmp_path: Path) -> None:
    good = tmp_path / "good.yaml"
    good.write_text("rule: {kind: sgd, lr: 1e-3}\nseed: 4\n")
    assert load_spec(good, ["rounds=3"]).plain["rule"]["lr"] == 0.001
    for text, words in [
        ("a: [1", "YAML"),
        ("seed: 1\nseed: 2\n", "twice"),
        ("- 1\n", "mapping"),
        ("!!python/object/apply:os.system ['true']", "YAML"),
        ("when: 2026-01-01\n", "when"),
        ("a: &x [*x]", "aliases"),
        ("2020-01-01: 3", "2020-01-01: unknown key"),
        ("!!binary aGk=: 3", "the tag !!binary is not supported"),
        ("rule: {lr: !!set {a}}", "the tag !!set is not supported"),
        ("hops: !!map [1]", "expected a mapping"),
        ("seed: !!bool maybe", "does not fit its tag: 'maybe'"),
        ("seed: !!int ''", "YAML"),
        ('about: "\\ud800"', "plain data"),
    ]:
        bad = tmp_path / "bad.yaml"
        bad.write_text(text)
        with pytest.raises(SpecError, match=words):
            load_spec(bad)
    binary = tmp_path / "binary.yaml"
    binary.write_bytes(b"\xff\xfe\x00\x01")
    with pytest.raises(SpecError, match="cannot be read"):
        read_spec(binary)
    with pytest.raises(SpecError, match="no such file"):
        read_spec(tmp_path / "absent.yaml")
    with pytest.raises(SpecError, match="did you mean 'demo'"):
        read_spec("demmo")


def test_a_spec_on_a_base(tmp_path: Path) -> None:
    """Keys beside ``base`` replace, ``set`` changes dotted keys; a file beside it comes before a shipped name."""
    below, above = tmp_path / "below.yaml", tmp_path / "above.yaml"
    below.write_text("{base: digits_flat, rounds: 7, set: {rule.lr: 0.5}}")
    above.write_text("{base: below.yaml, name: mine, set: {rule.batch: 3, algorithm: {kind: fedprox, mu: 1}}}")
    plain, shipped_one = load_spec(str(above)).plain, load_spec("digits_flat").plain
    assert (plain["name"], plain["rounds"], plain["rule"]["lr"], plain["rule"]["batch"]) == ("mine", 7, 0.5, 3)
    assert plain["algorithm"]["kind"] == "fedprox"
    assert plain["topology"] == shipped_one["topology"]
    assert load_spec(str(above), ["rule.lr=0.25"]).plain["rule"]["lr"] == 0.25


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{base: mine.yaml}", "circle"),
        ("{base: 3}", "must be the name of a spec"),
        ("{base: digits_falt}", "did you mean 'digits_flat'"),
        ("{set: {rounds: 3}}", "there is no base"),
        ("{base: digits_flat, set: [rounds]}", "a mapping of dotted keys"),
        ("{base: digits_flat, set: {hops.9.period: 2}}", "positions"),
        ("{base: digits_flat, set: {rule.lrr: 2}}", "did you mean 'lr'"),
    ],
)
def test_a_wrong_base_is_named(text: str, words: str, tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text(text)
    with pytest.raises(SpecError, match=words):
        load_spec(str(tmp_path / "mine.yaml"))


def test_items_of_a_list_are_changed_by_their_position() -> None:
    plain: dict[str, Any] = {"metrics": ["macro_f1", {"kind": "calibration"}]}
    changed = apply_overrides(plain, ["metrics.1.bins=4", "metrics[0]=worst", "metrics.0.share=0.5"])
    assert changed == {"metrics": [{"kind": "worst", "share": 0.5}, {"kind": "calibration", "bins": 4}]}
    assert apply_overrides(plain, ["metrics=[top]"]) == {"metrics": ["top"]}
    for empty, words in (([], "the list is empty"), (["top"], "positions 0 to 0")):
        with pytest.raises(SpecError, match=words):
            apply_overrides({"metrics": empty}, ["metrics.1.bins=4"])


def test_leaves_have_dotted_paths() -> None:
    plain = {"metrics": [{"kind": "top"}], "hops": [{"metrics": [], "link": {"kind": "ideal"}}]}
    assert dict(flatten(plain)) == {"metrics.0.kind": "top", "hops.0.metrics": [], "hops.0.link.kind": "ideal"}


def test_a_wrong_name_is_answered_by_a_few_near_ones() -> None:
    assert near_specs("rawhfl/quick/z3").count(" or ") == 2
    families = "`fedradio ls spec FAMILY` lists a family: fedcpsl, osafl, rawhfl, whfl"
    assert near_specs("dem") == f"did you mean 'demo'?; {families}"
    assert near_specs("rawhfl/nothing_at_all_like_it") == "`fedradio ls spec rawhfl` lists those of rawhfl"
    assert near_specs("entirely_different") == families
    assert spec_families() == ["fedcpsl", "osafl", "rawhfl", "whfl"]


def test_a_key_without_its_position_is_told_the_right_ones() -> None:
    plain = {"hops": [{"period": 1}, {"period": 1}]}
    with pytest.raises(SpecError) as caught:
        apply_overrides(plain, ["hops.period=2", "hops.5.period=2", "model={kind: mlp"])
    assert [(one.path, one.reason, one.remedy) for one in caught.value.problems] == [
        (
            "hops.period",
            "the list has positions 0 to 1: there is no 'period'",
            "hops.0.period or hops.1.period",
        ),
        ("hops.5.period", "the list has positions 0 to 1: there is no '5'", "hops.0.period or hops.1.period"),
        ("model", "value is not valid YAML: line 1, column 1: { is not closed", "close it with }"),
    ]


def test_a_broken_file_is_told_with_its_line() -> None:
    with pytest.raises(SpecError) as caught:
        parse_yaml("name: x\nmodel: {kind: mlp\nrounds: 3\n", "mine.yaml")
    (one,) = caught.value.problems
    assert (one.reason, one.value) == ("not valid YAML: line 2, column 8: { is not closed", "model: {kind: mlp")
