from collections.abc import Callable
from pathlib import Path

import pytest

from fedradio.core.errors import SpecError
from fedradio.spec.spec import Spec, check_spec, load_spec
from fedradio.spec.yaml import apply_overrides, read_spec, shipped


def problem_of(plain: dict[str, object]) -> tuple[str, str, str]:
    with pytest.raises(SpecError) as caught:
        check_spec(plain)
    (problem,) = caught.value.problems
    return problem.path, problem.reason, problem.remedy


def test_an_empty_spec_is_complete() -> None:
    plain = check_spec({}).plain
    assert plain["topology"]["kind"] == "flat"
    assert plain["rule"]["lr"] == 0.1
    assert check_spec(plain).plain == plain


@pytest.mark.parametrize(
    ("plain", "path", "words"),
    [
        ({"rouns": 3}, "rouns", "did you mean 'rounds'"),
        ({"rule": {"kind": "sgd", "lrr": 1}}, "rule.lrr", "did you mean 'lr'"),
        ({"hops": [{"linc": "ideal"}]}, "hops.0.linc", "did you mean 'link'"),
        ({"data": {"sauce": "digits"}}, "data.sauce", "did you mean 'source'"),
        ({"algorithm": "fedagv"}, "algorithm", "did you mean 'fedavg'"),
        ({"algorithm": {"kind": "magic"}}, "algorithm", "one of: afa_cd, "),
        ({"data": {"source": "mnits"}}, "data.source", "did you mean 'mnist'"),
        ({"hops": [{"policy": {"kind": "random"}}]}, "hops.0.policy", "one of: budget, fixed"),
        ({"hops": [{"link": "idael"}]}, "hops.0.link", "did you mean 'ideal'"),
        ({"rounds": 0}, "rounds", "greater than or equal to 1"),
        ({"rounds": "many"}, "rounds", "valid integer"),
        ({"rounds": True}, "rounds", "valid integer"),
        ({"rounds": 2.5}, "rounds", "valid integer"),
        ({"rule": {"kind": "sgd", "lr": float("nan")}}, "rule.lr", "finite"),
        ({"rule": {"kind": "sgd", "lr": float("inf")}}, "rule.lr", "finite"),
        ({"rule": {"kind": "sgd", "momentum": 1.0}}, "rule.momentum", "less than 1"),
        ({"hops": []}, "hops", "at least 1"),
        ({"hops": [{"policy": {"kind": "fixed", "steps": "x"}}]}, "hops.0.policy.steps", "integer"),
        ({"hops": [{"policy": {"kind": "fixed", "steps": [1, 0]}}]}, "hops.0.policy.steps.1", "greater"),
        ({"schedule": {"kind": "step"}}, "schedule.at", "required"),
        ({"hops": [{"channel": "thin_air"}]}, "hops.0.channel", "urban_macro"),
        ({"topology": 7}, "topology", ""),
        ({"model": None}, "model", ""),
        ({"name": "../../etc"}, "name", "letters, digits"),
        ({"clock": "sundial"}, "clock", "slowest"),
    ],
)
def test_wrong_fields_are_named(plain: dict[str, object], path: str, words: str) -> None:
    found, reason, remedy = problem_of(plain)
    assert found == path
    assert words in f"{reason} {remedy}"


def test_all_problems_at_once() -> None:
    with pytest.raises(SpecError) as caught:
        check_spec({"rounds": -1, "rule": {"kind": "sgd", "lr": -1, "batch": 0}, "colour": "red", "model": "mpl"})
    assert {p.path for p in caught.value.problems} == {"rounds", "rule.lr", "rule.batch", "colour", "model"}


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


def test_a_string_override_replaces_the_whole_part() -> None:
    spec = check_spec(
        apply_overrides({"data": {"source": {"kind": "digits", "test_fraction": 0.1}}}, ["data.source=digits"])
    )
    assert spec.plain["data"]["source"]["test_fraction"] == 0.2


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


def test_fingerprint_is_of_what_matters(tiny: Callable[..., Spec]) -> None:
    assert tiny("name=other", "about=words").sha256() == tiny().sha256()
    assert tiny("seed=4").sha256() != tiny().sha256()


def test_every_shipped_spec_is_valid() -> None:
    assert "demo" in shipped()
    for name in shipped():
        spec = load_spec(name)
        assert spec.plain["about"]
        assert spec.name in (name.rpartition("/")[2], name.replace("/", "_"))


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
