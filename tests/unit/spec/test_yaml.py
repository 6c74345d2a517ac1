"""Specs as text: axes, overrides, bases, files."""

from pathlib import Path
from typing import Any

import pytest

from fedradio.core.errors import SpecError
from fedradio.spec.spec import load_spec
from fedradio.spec.yaml import apply_overrides, parse_axis, read_spec


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
    ["rounds", "=3", "hops.1.period=2", "hops.x=1", "rounds.x=1", "rule={", "rule.lr=2020-13-45", "hops.².period=1"],
)
def test_wrong_overrides(text: str) -> None:
    with pytest.raises(SpecError):
        apply_overrides({"hops": [{}], "rounds": 3}, [text])


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
        ("2020-01-01: 3", "plain data"),
        ("!!binary aGk=: 3", "plain data"),
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
        ("{base: 3}", "the name of a spec"),
        ("{base: digits_falt}", "did you mean 'digits_flat'"),
        ("{set: {rounds: 3}}", "there is none"),
        ("{base: digits_flat, set: [rounds]}", "a mapping of dotted keys"),
        ("{base: digits_flat, set: {hops.9.period: 2}}", "positions"),
        ("{base: digits_flat, set: {rule.lrr: 2}}", "did you mean 'lr'"),
    ],
)
def test_a_wrong_base_is_named(text: str, words: str, tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text(text)
    with pytest.raises(SpecError, match=words):
        load_spec(str(tmp_path / "mine.yaml"))
