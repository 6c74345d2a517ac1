"""``fedradio new``: write a commented part that is ready to run, a spec that uses it, and a test."""

from __future__ import annotations

import keyword
import re
import sys
from importlib import resources
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Annotated

import typer

from fedradio.cli.app import one_command, out
from fedradio.core.errors import Problem, SpecError, StoreError, suggest
from fedradio.core.files import write_text
from fedradio.report.terminal.console import say

USES = {
    "algorithm": "algorithm: my_part",
    "policy": "hops: [{policy: my_part}]",
    "link": "hops: [{link: my_part}]",
    "channel": "hops: [{channel: my_part, link: digital, fleet: cellular}]",
    "source": "data: {source: my_part}",
    "model": "model: my_part",
    "transform": "hops: [{transforms: [my_part]}]",
    "receiver": "hops: [{receiver: my_part}]",
    "loss": "loss: my_part",
    "metric": "metrics: [my_part]",
    "placement": "rounds: 4\ncache: {placements: [my_part, cell_popular, oracle]}",
}
"""The families for which a part can be started, each with the line of a spec that uses such a part."""

BASES = {"placement": "rawhfl"}
"""Shipped specs that new specs are based on, if not digits_flat: caches need requests."""

SPEC = """# fedradio run my_part.yaml --parts my_part.py
base: {base}
name: my_part
about: my own {family}
{use}
"""

TEST = '''"""Tests of my_part.py; run them with `pytest test_my_part.py`."""

{imports}

PARTS = Path(__file__).with_name("my_part.py")


def test_my_part(tmp_path: Path) -> None:
    load_part_file(PARTS)
{body}'''

app = one_command()


@app.command()
def new(
    family: Annotated[str, typer.Argument(metavar="FAMILY", help=f"one of: {', '.join(USES)}")],
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="name of the new part, its kind in specs, such as my_algorithm")
    ],
    folder: Annotated[Path, typer.Option("--out", metavar="DIR", help="where the files go")] = Path(),
) -> None:
    """Start a part of your own: a commented file that is ready to run, a spec that uses it, and a test."""
    _check(family, name)
    texts = files(family, name)
    taken = [str(folder / file) for file in texts if (folder / file).exists()]
    if taken:
        raise SpecError([Problem(path, "already exists", "choose another name or another --out") for path in taken])
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(f"{folder} cannot be used: {error.strerror or error}; choose another --out") from None
    for file, text in texts.items():
        write_text(folder / file, text)
    script, spec, test = (folder / file for file in texts)
    say(out, f"wrote {script}: your {family}, ready to run and edit")
    say(out, f"  run it:   fedradio run {spec} --parts {script}")
    say(out, f"  test it:  pytest {test}")


def files(family: str, name: str) -> dict[str, str]:
    """The texts of a new part's three files: the part, a spec, a test."""
    root = resources.files("fedradio") / "templates"
    part, test = (root.joinpath(f"{family}.{ending}.txt").read_text(encoding="utf-8") for ending in ("py", "test"))
    texts = {
        "my_part.py": part,
        "my_part.yaml": SPEC.format(base=BASES.get(family, "digits_flat"), family=family, use=USES[family]),
        "test_my_part.py": TEST.format(imports=_imports(test), body=test),
    }
    return {_named(file, name): _named(text, name) for file, text in texts.items()}


def _named(text: str, name: str) -> str:
    """The text with the part's name in place of the template's."""
    return text.replace("my_part", name).replace("MyPart", "".join(word.capitalize() for word in name.split("_")))


OURS = (
    "Batch",
    "Clock",
    "ExchangeRecord",
    "Outputs",
    "Rng",
    "Sent",
    "Site",
    "load_part_file",
    "load_spec",
    "part",
    "read_records",
    "run",
)


def _imports(test: str) -> str:
    """The imports that a test needs."""
    used = [name for name in OURS if name == "load_part_file" or re.search(rf"\b{name}\(|, {name}\)", test)]
    others = [f"import {name}" for name in ("pytest", "torch") if f"{name}." in test]
    pieces = ["from pathlib import Path", "\n".join(others), f"from fedradio import {', '.join(used)}"]
    return "\n\n".join(piece for piece in pieces if piece)


def _is_module(name: str) -> bool:
    """Whether Python has a module of that name, outside the working folder."""
    path = [place for place in sys.path if Path(place).resolve() != Path.cwd()]
    return name in sys.stdlib_module_names or PathFinder.find_spec(name, path) is not None


def _check(family: str, name: str) -> None:
    """Refuse unknown families, and names that cannot be a module, a function and a kind at once."""
    problems = []
    if family not in USES:
        remedy = suggest(family, list(USES)) or f"one of: {', '.join(USES)}"
        problems.append(Problem("FAMILY", "there is no template for this family", remedy, family))
    if not re.fullmatch(r"[a-z][a-z0-9_]{0,40}", name):
        reason = "a name has 1 to 41 lower-case letters, digits and underscores, and begins with a letter"
        problems.append(Problem("NAME", reason, "choose one such as my_part", name))
    elif keyword.iskeyword(name) or _is_module(name):
        reason = f"{name} is a word of Python or the name of a module, which a file {name}.py would hide"
        problems.append(Problem("NAME", reason, f"choose another name, such as my_{name}", name))
    elif family in USES:
        from fedradio.core.registry import parts

        if any(part.kind == name for part in parts(family)):
            reason = f"the {family} {name} already exists"
            problems.append(Problem("NAME", reason, f"choose another name, such as my_{name}", name))
    if problems:
        raise SpecError(problems)
