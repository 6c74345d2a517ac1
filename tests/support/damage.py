"""Kinds of damage to a run folder: what disks, transfers, editors and curious people do to files."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fedradio.core.files import canonical, sealed, unsealed
from fedradio.runs.folder import (
    DESCRIPTION_FILE,
    ENVIRONMENT_FILE,
    MODEL_FILE,
    NETWORK_FILE,
    RECORDS_FILE,
    SPEC_FILE,
    SUMMARY_FILE,
)

NUMBERS, TENSORS = "checkpoints/round-000003.json", "checkpoints/round-000003.safetensors"
"""Files of the last checkpoint of the runs that are damaged."""

PLAIN = (SPEC_FILE, DESCRIPTION_FILE, ENVIRONMENT_FILE, NETWORK_FILE, RECORDS_FILE, SUMMARY_FILE, NUMBERS)
FILES = (*PLAIN, MODEL_FILE, TENSORS)

Change = Callable[[bytes], bytes]


@dataclass(frozen=True)
class Harm:
    """A kind of damage: the file that it is done to, and how; ``other`` is the folder of another run."""

    name: str
    file: str
    do: Callable[[Path, Path], None]


def of_bytes(file: str, name: str, change: Change) -> Harm:
    """A change of the content of a file, which must be one."""

    def do(folder: Path, other: Path) -> None:
        before = (folder / file).read_bytes()
        after = change(before)
        assert after != before, f"{file} {name} changes nothing"
        (folder / file).write_bytes(after)

    return Harm(f"{file} {name}", file, do)


def of_text(file: str, name: str, old: str, new: str) -> Harm:
    """The first ``old`` in a file becomes ``new``."""
    return of_bytes(file, name, lambda data: data.replace(old.encode(), new.encode(), 1))


def of_place(file: str, name: str, do: Callable[[Path, Path], None]) -> Harm:
    """Something is put into the place of a file, which has been moved away to the second path."""

    def replace(folder: Path, other: Path) -> None:
        away = folder.parent / f"{folder.name}-away"
        (folder / file).rename(away)
        do(folder / file, away)

    return Harm(f"{file} {name}", file, replace)


def of_document(file: str, name: str, change: Callable[[dict[str, Any]], Mapping[str, Any]], seal: bool) -> Harm:
    """Other data in a JSON file: with a right checksum of its own if it is one that has it."""

    def rewrite(data: bytes) -> bytes:
        document = unsealed(data, Path(file)) if seal else json.loads(data)
        changed = change(document)
        return sealed(changed) if seal else canonical(changed)

    return of_bytes(file, f"{name}{', sealed' if seal else ''}", rewrite)


def of_line(name: str, change: Callable[[list[bytes]], list[bytes]]) -> Harm:
    """Other lines of records."""
    return of_bytes(RECORDS_FILE, name, lambda data: b"".join(change(data.splitlines(keepends=True))))


def of_row(name: str, kind: str, change: Callable[[dict[str, Any]], Any]) -> Harm:
    """Another record in place of the first of its type."""

    def rewrite(lines: list[bytes]) -> list[bytes]:
        at = next(n for n, line in enumerate(lines) if json.loads(line)["type"] == kind)
        return [*lines[:at], json.dumps(change(json.loads(lines[at]))).encode() + b"\n", *lines[at + 1 :]]

    return of_line(f"{kind}: {name}", rewrite)


def of_other(file: str) -> Harm:
    """The file of another run, whole in itself."""

    def do(folder: Path, other: Path) -> None:
        shutil.copyfile(other / file, folder / file)

    return Harm(f"{file} of another run", file, do)


def flip(data: bytes, at: int) -> bytes:
    """The bytes with one bit of one of them turned over."""
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]


def nest(deep: int) -> Any:
    """Lists inside each other."""
    found: Any = []
    for _ in range(deep):
        found = [found]
    return found


ANY_FILE: dict[str, Change] = {
    "emptied": lambda data: data[:0],
    "halved": lambda data: data[: len(data) // 2],
    "without its last byte": lambda data: data[:-1],
    "with another first byte": lambda data: flip(data, 0),
    "with another byte in the middle": lambda data: flip(data, len(data) // 2),
    "with another last byte": lambda data: flip(data, len(data) - 1),
    "with a byte more": lambda data: data + b" ",
    "full of zeros": lambda data: bytes(len(data)),
}

ANY_TEXT: dict[str, Change] = {
    "not UTF-8": lambda data: data[:10] + b"\xff\xfe" + data[10:],
    "a list": lambda data: b"[]\n" + data[:0],
    "nested deeply": lambda data: b"[" * 100_000 + data[:0] + b"]" * 100_000,
}

ANY_PLACE: dict[str, Callable[[Path, Path], None]] = {
    "is gone": lambda *_: None,
    "is a link to it": Path.symlink_to,
    "is a folder": lambda path, _: path.mkdir(),
    "is a pipe": lambda path, _: os.mkfifo(path),
}


ALIKE = (DESCRIPTION_FILE, ENVIRONMENT_FILE, NETWORK_FILE)
"""Files that are read in the same way: not all of them need every kind of damage."""


def _general() -> list[Harm]:
    """What can happen to any file."""
    harms = [
        of_bytes(file, name, change)
        for file in FILES
        for number, (name, change) in enumerate(ANY_FILE.items())
        if file not in ALIKE or number % 2
    ]
    harms += [of_bytes(file, name, change) for file in PLAIN for name, change in ANY_TEXT.items()]
    harms += [of_place(file, name, do) for file in FILES for name, do in ANY_PLACE.items()]
    return harms + [of_other(file) for file in FILES if file not in (DESCRIPTION_FILE, ENVIRONMENT_FILE)]


SPEC = [
    of_text(SPEC_FILE, "with another rate", "lr: 0.1", "lr: 0.2"),
    of_text(SPEC_FILE, "with another seed", "seed: 3", "seed: 4"),
    of_text(SPEC_FILE, "with fewer rounds", "rounds: ", "rounds: 1  # "),
    of_text(SPEC_FILE, "with another name", "name: tiny", "name: tony"),
    of_text(SPEC_FILE, "with a comment", "name:", "# mine\nname:"),
    of_text(SPEC_FILE, "on a base", "name:", "base: demo\nname:"),
    of_text(SPEC_FILE, "with a date", "about: ''", "about: 2020-01-01"),
    of_text(SPEC_FILE, "with an infinite rate", "lr: 0.1", "lr: .inf"),
    of_text(SPEC_FILE, "with a key that is a number", "name:", "3: 4\nname:"),
    of_text(SPEC_FILE, "with an alias", "name: tiny", "name: &a tiny\nabout: *a"),
    of_text(SPEC_FILE, "without hops", "hops:", "hop:"),
    of_text(SPEC_FILE, "with a part without kind", "kind: sgd", "sort: sgd"),
    of_text(SPEC_FILE, "of a part that does not exist", "kind: sgd", "kind: sgb"),
    of_text(SPEC_FILE, "with a tab", "seed:", "\tseed:"),
]


def _with(**more: Any) -> Callable[[dict[str, Any]], dict[str, Any]]:
    return lambda document: document | more


def _without(key: str) -> Callable[[dict[str, Any]], dict[str, Any]]:
    return lambda document: {name: value for name, value in document.items() if name != key}


JSON = [
    of_document(SUMMARY_FILE, "with another accuracy", _with(accuracy=0.99), False),
    of_document(SUMMARY_FILE, "with a foreign key", _with(colour="red"), True),
    of_document(SUMMARY_FILE, "without rounds", _without("rounds"), True),
    of_document(SUMMARY_FILE, "with text for a number", _with(wall_s="long"), True),
    of_document(SUMMARY_FILE, "with an unknown status", _with(status="fine"), True),
    of_document(SUMMARY_FILE, "with files that are a list", _with(files=[]), True),
    of_document(SUMMARY_FILE, "without checksums", lambda found: _without("files")(_without("sha256")(found)), False),
    of_text(SUMMARY_FILE, "with a space more", ": ", ":  "),
    of_text(SUMMARY_FILE, "with an infinite number", '"wall_s": ', '"wall_s": Infinity, "x": '),
    of_text(SUMMARY_FILE, "with a number that is too large", '"wall_s": ', '"wall_s": 1e999, "x": '),
    of_text(SUMMARY_FILE, "with a key twice", '"seed"', '"seed": 4, "seed"'),
    of_document(ENVIRONMENT_FILE, "of another device", _with(device="abacus"), False),
    of_document(ENVIRONMENT_FILE, "without packages", _without("packages"), False),
    of_document(ENVIRONMENT_FILE, "with packages that are a number", _with(packages=3), False),
    of_document(NETWORK_FILE, "ragged", _with(parents=[[0, 0], [0, 0]]), False),
    of_document(NETWORK_FILE, "with a parent that does not exist", _with(parents=[[0, 0, 9, 1], [0, 0]]), False),
    of_document(NETWORK_FILE, "without positions", _without("positions"), False),
    of_document(NETWORK_FILE, "with positions that are text", _with(positions="here"), False),
    of_document(DESCRIPTION_FILE, "without parts", _without("parts"), False),
    of_document(DESCRIPTION_FILE, "with parts that are a list", _with(parts=[1]), False),
    of_document(DESCRIPTION_FILE, "shipped as a number", _with(shipped=7), False),
    of_document(NUMBERS, "with another round", _with(t=2), True),
    of_document(NUMBERS, "with a foreign key", _with(colour="red"), True),
    of_document(NUMBERS, "without tensors", _with(tensors={}), True),
    of_document(NUMBERS, "with a ragged shape", _with(tensors={"shared/w": {"device": "cpu"}}), True),
    of_document(NUMBERS, "of a later format", _with(format=4), True),
    of_document(NUMBERS, "of another spec", _with(spec_sha256="0" * 64), True),
]


def _header(**more: Any) -> Harm:
    return of_row(f"with {more}", "header", lambda row: row | more)


RECORDS = [
    of_line("without its header", lambda lines: lines[1:]),
    of_line("with two headers", lambda lines: [lines[0], *lines]),
    of_line("without a line", lambda lines: [*lines[:3], *lines[4:]]),
    of_line("with a line twice", lambda lines: [*lines[:3], lines[2], *lines[3:]]),
    of_line("with two lines exchanged", lambda lines: [lines[0], lines[2], lines[1], *lines[3:]]),
    of_line("without its last rounds", lambda lines: lines[:8]),
    of_line("with an empty line", lambda lines: [*lines[:2], b"\n", *lines[2:]]),
    of_line("with other line ends", lambda lines: [line.replace(b"\n", b"\r\n") for line in lines]),
    of_line("with a line that is a number", lambda lines: [lines[0], b"7\n", *lines[1:]]),
    of_line("with a line of zeros", lambda lines: [lines[0], bytes(40) + b"\n", *lines[1:]]),
    of_line("with a line nested deeply", lambda lines: [lines[0], b"[" * 100_000 + b"\n", *lines[1:]]),
    of_line("in the middle not UTF-8", lambda lines: [lines[0], lines[1][:-3] + b"\xff}\n", *lines[2:]]),
    _header(format=4),
    _header(format="two"),
    _header(senders=[1, 1]),
    _header(senders=[], receivers=[]),
    _header(senders=[-1, 2]),
    of_row("of another hop", "exchange", lambda row: row | {"hop": 7}),
    of_row("ragged", "exchange", lambda row: row | {"arrived": [True]}),
    of_row("of a sender that does not exist", "exchange", lambda row: row | {"ids": [0, 1, 2, 99]}),
    of_row("with steps that are text", "exchange", lambda row: row | {"steps": ["one"] * 4}),
    of_row("with an unknown reason", "exchange", lambda row: row | {"rest": "tired"}),
    of_row("with a foreign key", "exchange", lambda row: row | {"colour": "red"}),
    of_row("with notes that are nested", "exchange", lambda row: row | {"notes": {"x": nest(30)}}),
    of_row("without bits", "round", lambda row: {name: value for name, value in row.items() if name != "bits"}),
    of_row("of a later round", "round", lambda row: row | {"t": 5}),
    of_row("with an infinite loss", "round", lambda row: row | {"train_loss": float("inf")}),
    of_row("with a number that is not one", "round", lambda row: row | {"time_s": float("nan")}),
    of_row("with another accuracy", "evaluation", lambda row: row | {"metrics": {"accuracy": 0.99, "loss": 0.1}}),
    of_row("without accuracy", "evaluation", lambda row: row | {"metrics": {}}),
    of_row("of a later round", "evaluation", lambda row: row | {"round": 40}),
    of_row("with groups that are a list", "evaluation", lambda row: row | {"groups": [1]}),
]


def _linked_checkpoints(folder: Path, other: Path) -> None:
    away = folder.parent / f"{folder.name}-away"
    (folder / "checkpoints").rename(away)
    (folder / "checkpoints").symlink_to(away)


def _checkpoints_as_a_file(folder: Path, other: Path) -> None:
    shutil.rmtree(folder / "checkpoints")
    (folder / "checkpoints").write_text("")


FOLDERS = [
    Harm("checkpoints is a link", "checkpoints", _linked_checkpoints),
    Harm("checkpoints is a file", "checkpoints", _checkpoints_as_a_file),
]

HARMS = {harm.name: harm for harm in (*_general(), *SPEC, *JSON, *RECORDS, *FOLDERS)}
"""Every kind of damage by its name."""
