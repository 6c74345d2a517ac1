"""Specs as files: shipped ones, variants in rows of a file, the user's own, and the bases that they modify.

A folder of shipped specs may have a file ``_variants.yaml``; each of its rows is a shipped spec of its own::

    base: osafl
    variants:
      fedavg:
        about: "M-FedAvg, 40 clients"
        set: {rule.lr: 0.15, algorithm: fedavg}

In the folder ``osafl/quick`` this row is the spec ``osafl/quick/fedavg``; its runs are named ``osafl_quick_fedavg``.
A row may have every key of a spec but ``name``. A ``base`` of its own comes first and replaces that of the file.
"""

from __future__ import annotations

import difflib
import functools
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from textwrap import dedent

from fedradio.core.errors import Problem, SpecError
from fedradio.core.text import short_path
from fedradio.spec.yaml import Plain, parse_yaml, plain_copy, set_in_lines, set_key

VARIANTS = "_variants.yaml"

FORM = re.compile(r"(?:#.*\n)*(base: .+\n)variants:\n((?:.*\n)+)")
"""A file of variants: comments, the base, the rows."""

ROW = re.compile(r"^  ([\w.-]+):\n((?: {4}.*\n)+)", re.MULTILINE)
"""A row: its name, then its keys, indented by four spaces."""

COMMENT = re.compile(r"^ *(#.*)?\n", re.MULTILINE)


@dataclass(frozen=True)
class ShippedSpec:
    """A shipped spec: a file, or a row in a file of variants."""

    where: str
    """The file, and for a variant its row, as messages name it."""
    file: Traversable
    row: str = ""
    """A variant as a spec of its own, ``set`` still in one line."""

    def text(self) -> str:
        """The spec as a YAML file, comments included."""
        return set_in_lines(self.row) if self.row else self.file.read_text(encoding="utf-8")


def find_shipped(folder: Traversable, prefix: str = "") -> Iterator[tuple[str, ShippedSpec]]:
    """Every spec below a folder with its name, which begins with ``prefix``."""
    for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
        where = f"specs/{prefix}{entry.name}"
        if entry.is_dir():
            yield from find_shipped(entry, f"{prefix}{entry.name}/")
        elif entry.name == VARIANTS:
            yield from _variants(entry, where, prefix)
        elif entry.name.endswith(".yaml"):
            yield prefix + entry.name.removesuffix(".yaml"), ShippedSpec(where, entry)


def _variants(file: Traversable, where: str, prefix: str) -> Iterator[tuple[str, ShippedSpec]]:
    """The specs of a file of variants."""
    form = FORM.fullmatch(file.read_text(encoding="utf-8").rstrip() + "\n")
    if form is None:
        raise SpecError(Problem(where, "not a file of variants", "write `base: SPEC`, then `variants:`, then the rows"))
    base, rows = form.groups()
    if rest := COMMENT.sub("", ROW.sub("", rows)):
        remedy = "indent NAME: by two spaces and its keys by four"
        raise SpecError(Problem(where, "not a row of variants", remedy, rest.splitlines()[0]))
    for name, keys in ROW.findall(rows):
        keys, full = dedent(keys), prefix + name
        first, _, others = (keys if keys.startswith("base: ") else base + keys).partition("\n")
        row = f"{first}\nname: {full.replace('/', '_')}\n{others}"
        yield full, ShippedSpec(f"{where}: {name}", file, row)


def index(found: Iterable[tuple[str, ShippedSpec]]) -> dict[str, ShippedSpec]:
    """Shipped specs by name, in the order of names; a name that exists twice is refused."""
    specs: dict[str, ShippedSpec] = {}
    for name, spec in found:
        if name in specs:
            other = specs[name].where
            raise SpecError(Problem(spec.where, f"this spec exists twice, also in {other}", "rename or remove one"))
        specs[name] = spec
    return dict(sorted(specs.items()))


@functools.cache
def shipped_specs() -> Mapping[str, ShippedSpec]:
    """The shipped specs by name; their files are found once a process."""
    return index(find_shipped(resources.files("fedradio") / "specs"))


def shipped() -> list[str]:
    """Names of the shipped specs."""
    return list(shipped_specs())


def shipped_text(name: str) -> str:
    """The YAML of a shipped spec, comments included; of a variant as if it had a file of its own."""
    return shipped_specs()[name].text()


MOST_NEAR = 3
"""So many shipped specs are named in place of one that there is not."""


def near_specs(name: str) -> str:
    """The shipped specs whose names come nearest, and the family that the name begins with, or else all families."""
    near = difflib.get_close_matches(name, shipped(), n=MOST_NEAR, cutoff=0.65)
    family = name.partition("/")[0]
    if family in spec_families():
        listed = f"`fedradio ls spec {family}` lists those of {family}"
    else:
        listed = f"`fedradio ls spec FAMILY` lists a family: {', '.join(spec_families())}"
    return f"did you mean {' or '.join(map(repr, near))}?; {listed}" if near else listed


def spec_families() -> list[str]:
    """The folders of shipped specs, such as ``rawhfl``."""
    return sorted({name.partition("/")[0] for name in shipped() if "/" in name})


MOST_BASES = 8
"""Longest chain of specs that name each other as ``base``; a longer one is taken for a circle."""


def read_spec(source: str | Path) -> Plain:
    """The plain data of a YAML file or a shipped spec, merged into its ``base`` if it names one."""
    return _with_base(str(source), MOST_BASES)


def row_of(source: str | Path) -> str | None:
    """File and row of a variant; None for every other spec."""
    spec = shipped_specs().get(str(source))
    return spec.where if spec is not None and spec.row and not os.path.isfile(source) else None


def _with_base(source: str, left: int) -> Plain:
    """A spec merged into its ``base``: its keys replace the base's, then ``set`` changes dotted keys one by one."""
    plain, where = _read_one(source), row_of(source) or source
    if "base" not in plain:
        if "set" in plain:
            raise SpecError(
                Problem(f"{where}: set", "changes a base, but there is no base", "name one, such as base: osafl")
            )
        return plain
    base, changes = plain["base"], plain.get("set", {})
    if not isinstance(base, str) or left == 0:
        reason = "must be the name of a spec" if left else "specs use each other as base in a circle"
        raise SpecError(Problem(f"{where}: base", reason, "name a shipped spec or a YAML file", base))
    if not isinstance(changes, dict) or not all(isinstance(key, str) for key in changes):
        raise SpecError(
            Problem(f"{where}: set", "must be a mapping of dotted keys to values", "such as {rule.lr: 0.05}", changes)
        )
    beside = Path(source).parent / base  # a file beside this one, else the name as it is
    below = str(beside) if os.path.isfile(beside) else base
    if below not in shipped_specs() and not os.path.exists(below):
        raise SpecError(Problem(f"{where}: base", NO_SPEC, near_specs(base), short_path(base)))
    result = plain_copy(
        _with_base(below, left - 1) | {key: value for key, value in plain.items() if key not in ("base", "set")}
    )
    for key, value in changes.items():
        try:
            set_key(result, key, value)
        except LookupError as error:
            raise SpecError(Problem(f"{where}: set.{key}", *map(str, error.args))) from None
    return result


NO_SPEC = "no such file, and no shipped spec with that name"


def _read_one(source: str) -> Plain:
    """The plain data of one file or shipped spec, as it stands there."""
    path, name = Path(source), short_path(source)
    try:
        if source in shipped_specs() and not os.path.isfile(path):
            return parse_yaml(shipped_text(source), row_of(source) or name)
        if path.is_dir():
            raise SpecError(Problem(name, "is a folder", "name a YAML file in it"))
        if not path.is_file():
            raise SpecError(Problem(name, NO_SPEC, near_specs(source)))
        return parse_yaml(path.read_text(encoding="utf-8"), name)
    except UnicodeDecodeError:
        raise SpecError(Problem(name, "cannot be read: not a text file")) from None
    except OSError as error:
        raise SpecError(Problem(name, f"cannot be read: {error.strerror or error}")) from None
