"""The tool that shows a change to be neutral: equal is equal to the last bit, and no quick spec is forgotten."""

import importlib.util
import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from rich.console import Console

from fedradio import load_spec

ROOT = Path(__file__).parents[3]
FETCHED = {"mnist", "fashion_mnist", "cifar10", "cifar100"}
ROWS: list[dict[str, Any]] = [
    {"type": "round", "t": 0, "train_loss": 0.5, "bits": [3.0, None], "wall_s": 0.01},
    {"type": "eval", "t": 0, "rounds": 1, "accuracy": 0.25},
]
SUMMARY = {"status": "complete", "accuracy": 0.25, "wall_s": 1, "checkpoint_s": 2, "disk_bytes": 3, "memory_bytes": 4}
TEXT = "name: tiny\nseed: 1\n"
WEIGHTS = bytes(range(64))

Write = Callable[..., Path]


@pytest.fixture
def tool(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """``tools/neutral.py``, from its file."""
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    found = importlib.util.spec_from_file_location("neutral", ROOT / "tools" / "neutral.py")
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    monkeypatch.setitem(sys.modules, "neutral", module)
    found.loader.exec_module(module)
    return module


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes a run folder; what is named is other than usual."""

    def do(
        name: str,
        rows: list[dict[str, Any]] = ROWS,
        summary: dict[str, Any] = SUMMARY,
        text: str = TEXT,
        weights: bytes = WEIGHTS,
    ) -> Path:
        folder = tmp_path / name
        folder.mkdir()
        (folder / "records.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        (folder / "summary.json").write_text(json.dumps(summary, indent=2))
        (folder / "spec.yaml").write_text(text)
        (folder / "model.safetensors").write_bytes(weights)
        return folder

    return do


def differences(tool: ModuleType, base: Path, changed: Path) -> list[tuple[Any, ...]]:
    return [(d.file, d.record, d.field, d.base, d.changed) for d in tool.compare(base, changed)]


def test_equal_folders_have_no_difference(tool: ModuleType, write: Write) -> None:
    assert differences(tool, write("a"), write("b")) == []


def test_the_clock_and_the_machine_do_not_count(tool: ModuleType, write: Write) -> None:
    later = [ROWS[0] | {"wall_s": 99.0}, ROWS[1]]
    larger = SUMMARY | {"wall_s": 5, "checkpoint_s": None, "disk_bytes": 7, "memory_bytes": 8}
    assert differences(tool, write("a"), write("b", rows=later, summary=larger)) == []


@pytest.mark.parametrize("at", [0, 40, 63])
def test_one_byte_of_the_model(tool: ModuleType, write: Write, at: int) -> None:
    other = bytes(byte ^ (i == at) for i, byte in enumerate(WEIGHTS))
    (found,) = differences(tool, write("a"), write("b", weights=other))
    assert found[:3] == ("model.safetensors", None, f"byte {at}")
    assert found[3].split()[0] == f"{at:02x}"
    assert found[4].split()[0] == f"{at ^ 1:02x}"


def test_a_model_that_is_longer(tool: ModuleType, write: Write) -> None:
    assert differences(tool, write("a"), write("b", weights=WEIGHTS + b"\0")) == [
        ("model.safetensors", None, "byte 64", "", "00")
    ]


@pytest.mark.parametrize(
    ("number", "change", "field", "base", "changed"),
    [
        (1, {"train_loss": 0.5000000000000001}, "train_loss", 0.5, 0.5000000000000001),
        (1, {"bits": [3.0, 0.0]}, "bits[1]", None, 0.0),
        (1, {"bits": [3, None]}, "bits[0]", 3.0, 3),
        (1, {"bits": [3.0]}, "bits[1]", None, "(absent)"),
        (2, {"accuracy": 0.5}, "accuracy", 0.25, 0.5),
        (2, {"loss": 1.0}, "loss", "(absent)", 1.0),
        (2, {"groups": {"cell": [1]}}, "groups", "(absent)", {"cell": [1]}),
    ],
)
def test_one_field_of_a_record(
    tool: ModuleType, write: Write, number: int, change: dict[str, Any], field: str, base: Any, changed: Any
) -> None:
    rows = [row | change if i == number else row for i, row in enumerate(ROWS, 1)]
    assert differences(tool, write("a"), write("b", rows=rows)) == [("records.jsonl", number, field, base, changed)]


def test_fields_of_fields_are_named_and_signs_of_zero_count(tool: ModuleType) -> None:
    base, changed = {"notes": {"error": [0.0, 1.0]}}, {"notes": {"error": [-0.0, 1.0]}}
    assert tool.first_difference(base, changed) == ("notes.error[0]", 0.0, -0.0)


@pytest.mark.parametrize(("rows", "number"), [(ROWS[:1], 2), (ROWS[1:], 1), ([*ROWS, ROWS[0]], 3)])
def test_a_row_too_few_or_too_many(tool: ModuleType, write: Write, rows: list[dict[str, Any]], number: int) -> None:
    (found,) = differences(tool, write("a"), write("b", rows=rows))
    assert found[:2] == ("records.jsonl", number)


def test_summary_and_spec(tool: ModuleType, write: Write) -> None:
    other = write("b", summary=SUMMARY | {"accuracy": 0.5}, text=TEXT.replace("1", "2"))
    assert differences(tool, write("a"), other) == [
        ("spec.yaml", None, "seed", 1, 2),
        ("summary.json", None, "accuracy", 0.25, 0.5),
    ]


def test_the_description_of_a_spec_does_not_count(tool: ModuleType, write: Write) -> None:
    assert differences(tool, write("a"), write("b", text="about: another sentence\n" + TEXT)) == []


def test_fingerprints_formats_and_keys_with_their_defaults_do_not_count(tool: ModuleType, write: Write) -> None:
    """A key that has its default on one side only, and another scheme of fingerprints; any other value counts."""
    header = {"type": "header", "format": 2, "senders": [2]}
    old = write("old", rows=[header, *ROWS], summary=SUMMARY | {"spec_sha256": "a"})
    text = TEXT + "hops:\n- {{period: 1, receiver: {}}}\n"
    new: dict[str, Any] = {"rows": [header | {"format": 3}, *ROWS], "summary": SUMMARY | {"spec_sha256": "b"}}
    assert differences(tool, old, write("neutral", text=text.format("null"), **new)) == []
    assert differences(tool, old, write("other", text=text.format("adam"), **new)) == [
        ("spec.yaml", None, "hops", "(absent)", [{"receiver": "adam"}])
    ]


@pytest.mark.parametrize("name", ["records.jsonl", "summary.json", "spec.yaml", "model.safetensors"])
def test_a_file_that_is_not_there(tool: ModuleType, write: Write, name: str) -> None:
    base, changed = write("a"), write("b")
    (changed / name).unlink()
    assert differences(tool, base, changed) == [(name, None, "", "there", "(absent)")]
    (base / name).unlink()
    assert differences(tool, base, changed) == [(name, None, "", "(absent)", "(absent)")]


def test_a_difference_in_words(tool: ModuleType, write: Write) -> None:
    rows = [ROWS[0], ROWS[1] | {"accuracy": 0.5}]
    assert [str(found) for found in tool.compare(write("a"), write("b", rows=rows, text="name: tiny\n"))] == [
        "spec.yaml, seed: base 1, changed (absent)",
        "records.jsonl, record 2, accuracy: base 0.25, changed 0.5",
    ]


def test_the_verdict_on_a_run(tool: ModuleType, write: Write, tmp_path: Path) -> None:
    """Equal, different, failed on one side: all in words, and only equal runs are neutral."""
    for side, rows in (("base", ROWS), ("changed", ROWS[:1])):
        (tmp_path / side).mkdir()
        write(f"{side}/demo")
        write(f"{side}/whfl", rows=rows)
    sides = [tool.Side(ROOT, tmp_path / "homes", tmp_path / side) for side in ("base", "changed")]
    fine = [(1.0, ""), (3.0, "")]
    equal = tool.judge(tool.Case("demo", 1), sides, fine)
    different = tool.judge(tool.Case("whfl", 1), sides, fine)
    failed = tool.judge(tool.Case("demo", 1), sides, [(1.0, ""), (3.0, "no such spec")])
    assert (equal.state, equal.what, equal.seconds, equal.notes) == ("equal", "2 records", 3.0, ())
    assert (different.state, len(different.notes)) == ("different", 1)
    assert (failed.state, failed.notes) == ("failed", ("changed failed: no such spec",))
    quiet = Console(quiet=True)
    shown = [tool.show(found, quiet) for found in ([equal], [equal, different], [failed, equal])]
    assert shown == [True, False, False]


@pytest.mark.parametrize(
    ("row", "state", "note"),
    [
        ({"spec": {"seed": 1}, "state": "built"}, "equal", ()),
        ({"spec": {"seed": 2}, "state": "built"}, "different", ("demo, spec.seed: base 1, changed 2",)),
        ({"spec": {"seed": 1}, "state": "no part"}, "different", ("demo, state: base built, changed no part",)),
    ],
)
def test_the_verdict_on_specs(
    tool: ModuleType, monkeypatch: pytest.MonkeyPatch, row: dict[str, Any], state: str, note: tuple[str, ...]
) -> None:
    rows = {"base": {"spec": {"seed": 1}, "state": "built"}, "changed": row}
    monkeypatch.setattr(tool, "described_specs", lambda side, _: ([rows[side]], ""))
    found = tool.specs(["demo"], ["base", "changed"])
    assert (found.state, found.notes) == (state, note)


def test_specs_that_neither_side_can_build_are_not_neutral(tool: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tool, "described_specs", lambda *_: ([{"spec": {}, "state": "no part"}], ""))
    assert tool.specs(["demo"], ["base", "changed"]).notes == ("demo: no part",)
    monkeypatch.setattr(tool, "described_specs", lambda *_: ([], "broken"))
    assert tool.specs(["demo"], ["base", "changed"]).state == "failed"


def test_every_quick_spec_is_run_as_it_is(tool: ModuleType) -> None:
    """Quick: its data is embedded, and it is not at the size of a paper."""
    as_it_is = {case.spec for case in tool.CASES if not case.overrides}
    small = [name for name in tool.shipped(ROOT) if "paper" not in name.split("/")]
    quick = {name for name in small if load_spec(name).plain["data"]["source"]["kind"] not in FETCHED}
    assert quick == as_it_is


def test_runs_have_names_of_their_own_and_need_no_fetched_data(tool: ModuleType) -> None:
    folders = [tool.slug(case.name) for case in tool.CASES]
    assert len(set(folders)) == len(folders)
    for case in tool.CASES:
        if not case.program:
            assert load_spec(case.spec, case.changes).plain["data"]["source"]["kind"] not in FETCHED


def test_wrong_use_ends_with_2(tool: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").touch()
    wrong = {
        "BASE is missing": [],
        "neither a checkout": [str(tmp_path)],
        "no spec of BASE and no run": [str(ROOT), "--only", "nothing"],
        "not an empty folder": [str(ROOT), "--keep", str(tmp_path)],
        "at least 1": [str(ROOT), "--jobs", "0"],
    }
    for words, arguments in wrong.items():
        with pytest.raises(SystemExit) as stop:
            tool.main(arguments)
        assert stop.value.code == 2
        assert words in capsys.readouterr().err


def test_this_checkout_equals_itself(tool: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The whole way, on a network with three hops and losses on the outer two; what is kept are the run folders of both
    sides."""
    keep = tmp_path / "kept"
    assert tool.main([str(ROOT), "--only", "demo+three_hops_losses", "--keep", str(keep)]) == 0
    assert "demo+three_hops_losses: equal" in capsys.readouterr().out
    rows = [json.loads(line) for line in (keep / "base" / "demo+three_hops_losses" / "records.jsonl").open()]
    exchanges = [row for row in rows if row["type"] == "exchange"]
    assert {row["hop"] for row in exchanges} == {0, 1, 2}
    assert {row["hop"] for row in exchanges if not all(row["arrived"])} == {1, 2}
    folders = [keep / side / "demo+three_hops_losses" for side in ("base", "changed")]
    weights = folders[1] / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1])
    assert [d.file for d in tool.compare(*folders)] == ["model.safetensors"]
