"""Commands that pages show, read by the real command line without being run."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import click

from fedradio.cli.app import COMMANDS, load_command, ready_parts
from fedradio.core.errors import FedradioError
from fedradio.core.registry import FAMILIES, parts
from fedradio.papers.published import PAPERS, matching
from fedradio.spec.files import shipped
from fedradio.spec.spec import load_spec
from fedradio.sweeps.grid import plan_sweep

ROOT = Path(__file__).parents[2]
GONE = ROOT / "docs" / "from_0_2.md"
"""The page that names commands and options which are gone."""

DOCS = [page for page in sorted((ROOT / "docs").glob("*.md")) if page != GONE]
PAGES = (ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "SUPPORT.md", *DOCS)

FENCED = re.compile(r"^ *```([^\n`]*)\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
SHELLS = ("", "console", "bash", "sh")
INLINE = re.compile(r"`([^`\n]+)`")
OPTION = re.compile(r"(?<![\w-])--?[a-zA-Z][\w-]*")
PLACEHOLDER = re.compile(r"[A-Z][A-Z_|\\]+$|\.\.\.$|\[")
"""A word that stands for what the reader has: SPEC, RUN|SWEEP, [KEY=VALUE."""


def fenced(page: Path) -> list[str]:
    """The commands of a page's blocks, each on one line and without its comment."""
    found = []
    blocks = FENCED.findall(page.read_text(encoding="utf-8"))
    for block in (text for language, text in blocks if language.strip() in SHELLS):
        for line in block.replace("\\\n", " ").splitlines():
            text = re.sub(r"\s+#\s.*", "", line).strip().removeprefix("$ ")
            found += [part.strip() for part in re.split(r" && |; | \| | > ", text)]
    return [text for text in found if text]


def inline(page: Path) -> list[str]:
    """The pieces of code inside of a page's lines."""
    outside = re.sub(r"^ *```.*?^ *```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    return INLINE.findall(outside)


@cache
def known(name: str) -> click.Command:
    """A command of the program."""
    if name not in COMMANDS:
        raise ValueError(f"there is no command {name}")
    ready_parts()
    found: click.Command = load_command(name)
    return found


def command_of(words: list[str]) -> tuple[click.Command, list[str]]:
    """The command that words call, and what is left of them."""
    found, words = known(words[0]), words[1:]
    while isinstance(found, click.Group) and words:
        if words[0] not in found.commands:
            raise ValueError(f"there is no command {words[0]}")
        found, words = found.commands[words[0]], words[1:]
    return found, words


def options() -> set[str]:
    """The names of all options of all commands."""
    commands = [known(name) for name in COMMANDS]
    commands += [inner for one in commands if isinstance(one, click.Group) for inner in one.commands.values()]
    own = {"--help", "--version", "--install-completion", "--show-completion"}
    return own | {name for command in commands for name in _names(command)}


def _names(command: click.Command) -> Iterator[str]:
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            yield from (*parameter.opts, *parameter.secondary_opts)


def trouble(text: str) -> str:
    """Why a command cannot be meant: a command, option, value, spec, key, part or item that is not there."""
    words = shlex.split(text)
    if words[1].startswith("-"):
        return "" if words[1] in options() else f"{text}: there is no option {words[1]}"
    try:
        command, rest = command_of(words[1:])
        context = click.Context(command, info_name=command.name)
        parsed, _, _ = command.make_parser(context).parse_args([*rest])
        given = {name: value for name, value in parsed.items() if isinstance(value, str | list | tuple)}
        _check_values(command, context, given)
        _check_names(str(command.name), given)
    except (click.UsageError, FedradioError, ValueError) as error:
        return f"{text}: {error}"
    return ""


def _check_values(command: click.Command, context: click.Context, given: dict[str, Any]) -> None:
    """Refuse values of options that are none of a list, or no number."""
    for parameter in command.params:
        value = given.get(str(parameter.name))
        if isinstance(parameter, click.Option) and isinstance(value, str) and not PLACEHOLDER.match(value):
            kind = parameter.type
            if isinstance(kind, click.Choice | click.types.IntParamType | click.types.FloatParamType):
                kind.convert(value, parameter, context)


def _check_names(command: str, given: dict[str, Any]) -> None:
    """Refuse shipped specs, keys, parts and items that are not there."""
    spec, changes = given.get("spec"), [*(given.get("overrides") or given.get("changes") or ())]
    if command in ("run", "validate", "plan", "sweep", "cp") and spec is not None:
        if spec.endswith((".yaml", ".yml")) or PLACEHOLDER.match(spec):
            return
        if spec not in shipped():
            raise ValueError(f"there is no spec {spec}")
        if command == "sweep":
            plan_sweep(spec, changes)
        elif command != "cp":
            load_spec(spec, changes)
    if command == "reproduce" and given.get("paper") in PAPERS:
        matching(given["paper"], *(name for name in given.get("names") or () if not PLACEHOLDER.match(name)))
    if command == "ls" and given.get("family") is not None and given["family"] not in {*FAMILIES, "spec"}:
        raise ValueError(f"there is no family {given['family']}")
    kind = given.get("kind")
    if command == "show" and kind not in {part.kind for part in parts()} and not PLACEHOLDER.match(kind or ""):
        raise ValueError(f"there is no part {kind}")
