"""Damaged run folders through the command line: every kind is named, none ends in a traceback or is taken for whole."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
from support.batches import made
from support.commands import exit_code
from support.damage import HARMS, NUMBERS, TENSORS, Harm
from support.damaged_runs import Bases, make_bases
from support.processes import fedradio
from support.sealing import list_runs, other_format

from fedradio._version import __version__
from fedradio.core.files import sealed, unsealed
from fedradio.core.format import FORMAT
from fedradio.results.sweep_file import MARKER
from fedradio.runs.folder import DAMAGED_FOLDER, MODEL_FILE, NETWORK_FILE, RECORDS_FILE, SPEC_FILE, SUMMARY_FILE
from fedradio.spec.spec import stored_spec


@pytest.fixture(scope="module")
def bases(tmp_path_factory: pytest.TempPathFactory) -> Bases:
    return make_bases(tmp_path_factory.mktemp("bases"))


class Said(NamedTuple):
    code: int
    text: str


Call = Callable[..., Said]


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    """The command line in this process; pages are without their library, figures are made and not drawn."""
    monkeypatch.setenv("COLUMNS", "2000")
    monkeypatch.setattr("plotly.offline.get_plotlyjs", lambda: "")
    monkeypatch.setattr("fedradio.report.figures.gallery.save_figure", lambda *_: None)

    def said(*words: object) -> Said:
        code = exit_code(*words)  # anything else than an exit is a traceback
        return Said(code, "".join(capsys.readouterr()))

    return said


def test_what_is_whole_is_called_so(call: Call, bases: Bases) -> None:
    assert call("verify", bases.complete) == (0, f"{bases.complete}: intact (complete)\n")
    told = f"{bases.killed}: unfinished, intact up to its checkpoint after 3 rounds\n"
    assert call("verify", bases.killed) == (0, told)


ABSENT = {"complete": (), "killed": (SUMMARY_FILE, MODEL_FILE)}
CASES = [(base, harm) for base, absent in ABSENT.items() for harm, of in HARMS.items() if of.file not in absent]

BEHIND = {f"{RECORDS_FILE} {name}" for name in ("without its last byte", "with another last byte", "with a byte more")}
"""Damage of records behind the last checkpoint of a killed run, of which nobody can know."""

UNSEEN = {
    f"{NUMBERS} is gone",  # a checkpoint that does not exist; the tensors beside it mean nothing
    f"{NUMBERS} without tensors, sealed",  # forged: only the state that it must restore tells
    f"{SUMMARY_FILE} is gone",  # as if the process had been killed just before it wrote it
}
"""Damage that leaves a whole folder behind, as far as anybody can know."""


REFUSED = {
    f"{SUMMARY_FILE} of another run",
    f"{NUMBERS} of another run",
    f"{NUMBERS} of another spec, sealed",
    f"{NUMBERS} of a later format, sealed",
    f"{RECORDS_FILE} header: with {{'format': 4}}",
}
"""Another format, or nobody can tell which spec is the right one; all other kinds do not keep a run from its end."""


def readers_see(base: str, harm: Harm) -> bool:
    """Whether readers look at the file: not at tensors of checkpoints, of a complete run not at checkpoints at all."""
    if base == "complete":
        return not harm.file.startswith("checkpoints")
    return harm.file != TENSORS and harm.name not in BEHIND


def sooner(number: int, base: str, harm: Harm) -> bool:
    """Whether ``make test`` has a case: every kind of damage to one of the two runs in turn, and all exceptions."""
    exceptional = harm.name in UNSEEN | BEHIND | REFUSED or harm.file == SPEC_FILE
    return exceptional or harm.file in ABSENT["killed"] or (base == "complete") == (number % 2 == 0)


def test_there_are_many_kinds_of_damage() -> None:
    assert len(HARMS) >= 80


@pytest.mark.parametrize(
    ("base", "name"),
    [
        pytest.param(base, name, marks=() if sooner([*HARMS].index(name), base, HARMS[name]) else pytest.mark.wide)
        for base, name in CASES
    ],
)
def test_damage_is_named_and_never_a_traceback(base: str, name: str, call: Call, bases: Bases, tmp_path: Path) -> None:
    harm, folder = HARMS[name], tmp_path / "run"
    shutil.copytree(getattr(bases, base), folder)
    harm.do(folder, bases.other)
    noticed = name not in UNSEEN and not (base == "killed" and name in BEHIND)
    names = (SPEC_FILE, RECORDS_FILE) if name == f"{SUMMARY_FILE} of another run" else (Path(harm.file).name,)

    def check(said: Said, refused: bool, seen: bool = noticed) -> None:
        assert said.code == (5 if refused else 0), said.text
        assert any(word in said.text for word in names) or not seen, said.text

    check(call("verify", folder), noticed)
    seen = noticed and readers_see(base, harm)
    check(call("compare", folder), seen or base == "killed" or name == f"{SUMMARY_FILE} is gone", seen)
    check(call("export", folder, "--out", tmp_path / "tables", "-q"), seen, seen)
    check(call("figures", folder, "--out", tmp_path / "figures", "-q"), seen, seen)
    page = call("report", folder, "--out", tmp_path / "page.html", "-q")
    check(page, page.code != 0, seen)
    if page.code == 0:
        assert ("</span>damaged</span>" in (tmp_path / "page.html").read_text()) == seen
    resumed = call("resume", folder, "--workers", "1")
    check(resumed, resumed.code != 0)
    if resumed.code:
        assert harm.file == SPEC_FILE or harm.name in REFUSED, resumed.text
        return
    assert call("verify", folder).code == 0
    whole = bases.complete if base == "complete" else bases.whole
    assert made(folder) == made(whole)
    assert noticed <= (folder / DAMAGED_FOLDER).exists() or not seen or "is gone" in name


READING = ("verify", "compare", "export", "figures", "report")


@pytest.mark.parametrize("command", [*READING, "resume"])
def test_a_run_of_another_format_is_refused_with_one_sentence(
    command: str, call: Call, bases: Bases, tmp_path: Path
) -> None:
    folder = tmp_path / "run"
    shutil.copytree(bases.complete, folder)
    other_format(folder)
    said = call(command, folder)
    assert said.code == 5
    assert f"{folder / RECORDS_FILE} {SENTENCE}" in said.text


@pytest.mark.parametrize("command", [*READING, "work", "sweep"])
def test_a_sweep_of_another_format_is_refused_with_one_sentence(
    command: str, call: Call, bases: Bases, tmp_path: Path
) -> None:
    spec = stored_spec(bases.complete / SPEC_FILE)
    list_runs(tmp_path, {"one": ("a", spec, [1])})
    path = tmp_path / MARKER
    path.write_bytes(sealed(unsealed(path.read_bytes(), path) | {"format": 2, "fedradio": "0.1"}))
    words = (bases.complete / SPEC_FILE, "--out", tmp_path) if command == "sweep" else (tmp_path,)
    said = call(command, *words)
    assert said.code == 5
    assert f"{path} {SENTENCE}" in said.text


SENTENCE = f"has format 2, but fedradio {__version__} reads {FORMAT}; use fedradio 0.1"

SHELL = [
    ("verify", "complete", f"{RECORDS_FILE} halved"),
    ("verify", "killed", f"{TENSORS} with another byte in the middle"),
    ("compare", "complete", f"{SPEC_FILE} with another rate"),
    ("compare", "complete", f"{SUMMARY_FILE} nested deeply"),
    ("report", "complete", f"{SUMMARY_FILE} without checksums"),
    ("report", "killed", f"{NETWORK_FILE} ragged"),
    ("report", "killed", f"{RECORDS_FILE} is a pipe"),
    ("export", "complete", f"{RECORDS_FILE} with a line nested deeply"),
    ("export", "killed", f"{RECORDS_FILE} not UTF-8"),
    ("figures", "complete", f"{MODEL_FILE} is a link to it"),
    ("resume", "complete", f"{SPEC_FILE} with an infinite rate"),
    ("resume", "killed", f"{NUMBERS} emptied"),
]


@pytest.mark.parametrize(("command", "base", "name"), SHELL)
def test_processes_end_in_order(command: str, base: str, name: str, bases: Bases, tmp_path: Path) -> None:
    shutil.copytree(getattr(bases, base), tmp_path / "run")
    HARMS[name].do(tmp_path / "run", bases.other)
    done = fedradio(tmp_path, command, "run")
    assert done.returncode in (0, 5)
    assert "Traceback" not in done.stderr
    assert Path(HARMS[name].file).name in done.stdout + done.stderr
