"""Reads specs as plain data: YAML files, shipped specs, their bases, and ``key=value`` overrides."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

import yaml

from fedradio.core.errors import Problem, SpecError, suggest

Plain = dict[str, Any]


def shipped() -> list[str]:
    """Names of the shipped specs."""
    root = resources.files("fedradio") / "specs"
    return sorted(_names(root, ""))


def _names(folder: Any, prefix: str) -> Iterable[str]:
    for entry in folder.iterdir():
        if entry.is_dir():
            yield from _names(entry, f"{prefix}{entry.name}/")
        elif entry.name.endswith(".yaml"):
            yield prefix + entry.name.removesuffix(".yaml")


def shipped_text(name: str) -> str:
    """The YAML of a shipped spec, comments included."""
    return (resources.files("fedradio") / "specs" / f"{name}.yaml").read_text(encoding="utf-8")


MOST_BASES = 8
"""Longest chain of specs that name each other as ``base``; a longer one is taken for a circle."""


def read_spec(source: str | Path) -> Plain:
    """The plain data of a YAML file or a shipped spec, merged into its ``base`` if it names one."""
    return _on_base(_read_one(source), str(source), MOST_BASES)


def _on_base(plain: Plain, where: str, left: int) -> Plain:
    """A spec merged into its ``base``: its keys replace the base's, then ``set`` changes dotted keys one by one."""
    if "base" not in plain:
        if "set" in plain:
            raise SpecError(Problem(f"{where}: set", "changes a base, and there is none", "name it: base: osafl"))
        return plain
    base, changes = plain["base"], plain.get("set", {})
    if not isinstance(base, str) or left == 0:
        reason = "the name of a spec" if left else "specs that stand on each other in a circle"
        raise SpecError(Problem(f"{where}: base", reason, "a shipped spec or a YAML file", base))
    if not isinstance(changes, dict) or not all(isinstance(key, str) for key in changes):
        raise SpecError(
            Problem(f"{where}: set", "a mapping of dotted keys to values", "such as {rule.lr: 0.05}", changes)
        )
    beside = Path(where).parent / base  # a file beside this one, else the name as it is
    source = str(beside) if beside.is_file() else base
    below = _on_base(_read_one(source), source, left - 1)
    result = plain_copy(below | {key: value for key, value in plain.items() if key not in ("base", "set")})
    for key, value in changes.items():
        try:
            _assign(result, key, value)
        except LookupError as error:
            raise SpecError(Problem(f"{where}: set.{key}", str(error.args[0]))) from None
    return result


def _read_one(source: str | Path) -> Plain:
    """The plain data of one file or shipped spec, as it stands there."""
    path = Path(source)
    if str(source) in shipped() and not path.is_file():
        return parse_yaml(shipped_text(str(source)), str(source))
    if path.is_dir():
        raise SpecError(Problem(str(source), "is a folder", "name a YAML file in it"))
    if not path.is_file():
        near = suggest(str(source), shipped())
        remedy = near or f"a YAML file, or one of: {', '.join(shipped())}"
        raise SpecError(Problem(str(source), "no such file, and no shipped spec of that name", remedy))
    try:
        return parse_yaml(path.read_text(encoding="utf-8"), str(source))
    except UnicodeDecodeError:
        raise SpecError(Problem(str(source), "cannot be read: not a text file")) from None
    except OSError as error:
        raise SpecError(Problem(str(source), f"cannot be read: {error.strerror or error}")) from None


class _Loader(yaml.SafeLoader):
    """YAML loader that reads ``1e-3`` as a number and refuses repeated keys and aliases.

    Aliases could make a small file enormous.
    """

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            raise yaml.composer.ComposerError(None, None, "aliases are not taken", None)
        return super().compose_node(parent, index)

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if isinstance(key, str) and key in seen:
                raise yaml.constructor.ConstructorError(None, None, f"key {key!r} stands twice", key_node.start_mark)
            seen.add(key if isinstance(key, str) else None)
        return super().construct_mapping(node, deep)


_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(r"^[-+]?(\d[\d_]*\.?[\d_]*|\.\d[\d_]*)[eE][-+]?\d+$"),
    list("-+.0123456789"),
)


def _flat(error: Exception) -> str:
    """A YAML error in one line, without the parser's word for its input."""
    return " ".join(str(error).split()).replace('in "<unicode string>", ', "")


def parse_yaml(text: str, where: str) -> Plain:
    """A mapping from YAML; ``where`` names it in errors."""
    try:
        plain = yaml.load(text, Loader=_Loader)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise SpecError(Problem(where, "not valid YAML: " + _flat(error))) from None
    if plain is None:
        raise SpecError(Problem(where, "is empty", "start from a shipped one: fedradio cp demo mine.yaml"))
    if not isinstance(plain, dict):
        raise SpecError(Problem(where, "a spec is a mapping of keys to values", "see `fedradio cp`", plain))
    return plain


def plain_copy(plain: Mapping[str, Any]) -> Plain:
    """A deep copy as plain data; raises :class:`SpecError` for anything that JSON cannot hold."""
    try:
        copied: Plain = json.loads(json.dumps(plain, default=str))
    except (TypeError, ValueError, RecursionError) as error:
        raise SpecError(Problem("spec", f"not plain data: {error}", "use numbers, strings, lists, mappings")) from None
    return copied


def apply_overrides(plain: Plain, overrides: Sequence[str]) -> Plain:
    """A copy of a spec with ``key=value`` overrides; keys are dotted, such as ``hops.0.link=ideal``."""
    result = plain_copy(plain)
    problems = []
    for text in overrides:
        key, sign, value = text.partition("=")
        if not sign or not key.strip():
            problems.append(Problem(text, "not an override", "write key=value, such as rule.lr=0.05"))
            continue
        try:
            _assign(result, key.strip(), yaml.load(value, Loader=_Loader))
        except (yaml.YAMLError, ValueError, RecursionError) as error:
            problems.append(Problem(key, "value is not valid YAML: " + " ".join(str(error).split()), value=value))
        except LookupError as error:
            problems.append(Problem(key, str(error.args[0])))
    if problems:
        raise SpecError(problems)
    return result


def parse_axis(text: str) -> tuple[str, list[Any]]:
    """Key and values of an axis ``key=a,b``. Commas inside brackets, braces and quotes do not separate values."""
    key, sign, values = text.partition("=")
    if not sign or not key.strip():
        raise SpecError(Problem(text, "neither an axis nor an override", "write key=value or key=value,value"))
    try:
        parsed: list[Any] = yaml.load(f"[{values}]", Loader=_Loader)
    except (yaml.YAMLError, ValueError, RecursionError):
        remedy = "separate values by single commas; quote strings that hold commas or brackets"
        raise SpecError(Problem(key.strip(), "not YAML values", remedy, values)) from None
    return key.strip(), parsed


def _assign(node: Any, key: str, value: Any) -> None:
    """Set a dotted key, making mappings on the way; a part given by its plain name becomes a mapping."""
    *path, last = key.replace("[", ".").replace("]", "").split(".")
    for name in path:
        child = _child(node, name)
        if isinstance(child, str):
            child = {"kind": child}
        elif child is None:
            child = {}
        _put(node, name, child)
        node = child
    _put(node, last, value)


def _child(node: Any, name: str) -> Any:
    """The value of a key or list position; None where the key is absent."""
    if isinstance(node, list):
        return node[_position(node, name)]
    if isinstance(node, dict):
        return node.get(name)
    raise LookupError(f"{name!r} stands below a plain value")


def _put(node: Any, name: str, value: Any) -> None:
    """Set a key or list position."""
    if isinstance(node, list):
        node[_position(node, name)] = value
    elif isinstance(node, dict):
        node[name] = value
    else:
        raise LookupError(f"{name!r} stands below a plain value")


def _position(node: list[Any], name: str) -> int:
    """A list position given as text, checked."""
    if not name.isdecimal() or int(name) >= len(node):
        raise LookupError(f"the list has positions 0 to {len(node) - 1}, not {name!r}")
    return int(name)


def flatten(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Leaves of nested plain data with their dotted path."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from flatten(inner, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list) and any(isinstance(item, Mapping) for item in value):
        for number, inner in enumerate(value):
            yield from flatten(inner, f"{path}.{number}")
    else:
        yield path, value
