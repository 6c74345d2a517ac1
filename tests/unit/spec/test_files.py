"""Specs as files: shipped ones, variants in rows, the user's own, and bases."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from fedradio.core.errors import SpecError
from fedradio.spec import files
from fedradio.spec.files import (
    find_shipped,
    index,
    near_specs,
    read_spec,
    shipped,
    shipped_specs,
    shipped_text,
    spec_families,
)
from fedradio.spec.spec import load_spec

ROWS = """# Two variants.
base: digits_flat
variants:
  # less of everything
  few:
    # a comment of the row
    about: "few, of course"
    rounds: 3
    set: {rule.lr: 1.0e-1, algorithm: {kind: fedprox, mu: 1}, model.hidden: [8, 4]}
  fewer:
    base: small/few
    about: fewer
    rounds: 2
"""


@pytest.fixture
def ship(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[dict[str, str]], None]:
    """Ship more specs, files by path, beside those of the package."""

    def ship(texts: dict[str, str]) -> None:
        for path, text in texts.items():
            (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / path).write_text(text)
        specs = index([*shipped_specs().items(), *find_shipped(tmp_path)])
        monkeypatch.setattr(files, "shipped_specs", lambda: specs)

    return ship


def test_a_row_is_a_spec_of_its_own(ship: Callable[[dict[str, str]], None]) -> None:
    """The base's keys, replaced by the row's, with the dotted keys of ``set``; named by folder and row."""
    ship({"small/_variants.yaml": ROWS})
    few, fewer, base = (load_spec(name).plain for name in ("small/few", "small/fewer", "digits_flat"))
    assert {"small/few", "small/fewer"} < set(shipped())
    assert (few["name"], few["about"], few["rounds"]) == ("small_few", "few, of course", 3)
    assert (few["rule"]["lr"], few["algorithm"]["kind"], few["model"]["hidden"]) == (0.1, "fedprox", [8, 4])
    assert few["topology"] == base["topology"]
    assert fewer == few | {"name": "small_fewer", "about": "fewer", "rounds": 2}


def test_the_text_of_a_row_is_that_of_a_file(ship: Callable[[dict[str, str]], None]) -> None:
    """Comments and the spelling of numbers stay, and every key of ``set`` has its line."""
    ship({"small/_variants.yaml": ROWS})
    assert (
        shipped_text("small/few")
        == """base: digits_flat
name: small_few
# a comment of the row
about: "few, of course"
rounds: 3
set:
  rule.lr: 1.0e-1
  algorithm: {kind: fedprox, mu: 1}
  model.hidden: [8, 4]
"""
    )
    assert shipped_text("small/fewer") == "base: small/few\nname: small_fewer\nabout: fewer\nrounds: 2\n"


@pytest.mark.parametrize(
    ("row", "where", "words"),
    [
        ("base: nowhere", ": base", "no such file, and no shipped spec"),
        ("base: small/one", ": base", "in a circle"),
        ("abuot: x", ": abuot", "unknown key"),
        ("set: {rule.lrr: 1}", ": rule.lrr", "unknown key"),
        ("set: {hops.7.period: 1}", ": set.hops.7.period", "positions"),
        ("set: {rule.lr: -1}", ": rule.lr", "greater than"),
        ("name: mine", "", "appears twice"),
        ("set: {rule.lr: [}", "", "not valid YAML"),
    ],
)
def test_a_wrong_row_is_named(row: str, where: str, words: str, ship: Callable[[dict[str, str]], None]) -> None:
    ship({"small/_variants.yaml": f"base: digits_flat\nvariants:\n  one:\n    {row}\n"})
    with pytest.raises(SpecError) as caught:
        load_spec("small/one")
    (problem,) = caught.value.problems
    assert problem.path == f"specs/small/_variants.yaml: one{where}"
    assert words in problem.reason


def test_a_wrong_override_of_a_variant_is_not_blamed_on_its_row() -> None:
    with pytest.raises(SpecError) as caught:
        load_spec("osafl/quick/fedavg", ["rule.lrr=1"])
    assert [problem.path for problem in caught.value.problems] == ["rule.lrr"]


@pytest.mark.parametrize(
    ("rows", "where"),
    [
        ("base: demo\nvariants:\n  a:\n    rounds: 1\n  a:\n    rounds: 2\n", "specs/small/_variants.yaml: a"),
        ("base: demo\nvariants:\n  own:\n    rounds: 1\n", "specs/small/_variants.yaml: own"),
        ("base: demo\nvariants:\n   a:\n    rounds: 1\n", "specs/small/_variants.yaml"),
        ("base: demo\nvariants:\n  a: {rounds: 1}\n", "specs/small/_variants.yaml"),
        ("variants:\n  a:\n    rounds: 1\n", "specs/small/_variants.yaml"),
        ("base: demo\nvariant:\n  a:\n    rounds: 1\n", "specs/small/_variants.yaml"),
    ],
)
def test_names_that_exist_twice_and_broken_rows_are_refused(rows: str, where: str, tmp_path: Path) -> None:
    (tmp_path / "small").mkdir()
    (tmp_path / "small" / "own.yaml").write_text("rounds: 3\n")
    (tmp_path / "small" / "_variants.yaml").write_text(rows)
    with pytest.raises(SpecError) as caught:
        index(find_shipped(tmp_path))
    assert where in str(caught.value)


def test_the_rows_of_the_package_are_those_that_yaml_sees() -> None:
    for file in {spec.file for spec in shipped_specs().values() if spec.row}:
        found = [name.rpartition("/")[2] for name, spec in shipped_specs().items() if spec.file == file]
        rows = yaml.safe_load(file.read_text(encoding="utf-8"))
        assert rows.keys() == {"base", "variants"}
        assert sorted(rows["variants"]) == found


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


def test_a_wrong_name_is_answered_by_a_few_near_ones() -> None:
    assert near_specs("rawhfl/quick/z3").count(" or ") == 2
    families = "`fedradio ls spec FAMILY` lists a family: fedcpsl, osafl, rawhfl, whfl"
    assert near_specs("dem") == f"did you mean 'demo'?; {families}"
    assert near_specs("rawhfl/nothing_at_all_like_it") == "`fedradio ls spec rawhfl` lists those of rawhfl"
    assert near_specs("entirely_different") == families
    assert spec_families() == ["fedcpsl", "osafl", "rawhfl", "whfl"]
