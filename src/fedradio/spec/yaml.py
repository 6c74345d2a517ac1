"""Reads specs as plain data: YAML files, shipped specs, their bases, and ``key=value`` overrides."""

from __future__ import annotations

import difflib
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any, ClassVar

import yaml

from fedradio.core.errors import Problem, SpecError
from fedradio.core.text import short_path
from fedradio.spec.later_keys import rename
from fedradio.spec.yaml_errors import NoYaml, no_yaml

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
    return _on_base(_read_one(source), str(source), MOST_BASES)


def _on_base(plain: Plain, where: str, left: int) -> Plain:
    """A spec merged into its ``base``: its keys replace the base's, then ``set`` changes dotted keys one by one."""
    rename(plain)
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
    beside = Path(where).parent / base  # a file beside this one, else the name as it is
    source = str(beside) if os.path.isfile(beside) else base
    below = _on_base(_read_one(source), source, left - 1)
    result = plain_copy(below | {key: value for key, value in plain.items() if key not in ("base", "set")})
    for key, value in changes.items():
        try:
            _assign(result, key, value)
            rename(result)
        except LookupError as error:
            raise SpecError(Problem(f"{where}: set.{key}", *map(str, error.args))) from None
    return result


def _read_one(source: str | Path) -> Plain:
    """The plain data of one file or shipped spec, as it stands there."""
    path, name = Path(source), short_path(source)
    try:
        if str(source) in shipped() and not os.path.isfile(path):
            return parse_yaml(shipped_text(str(source)), name)
        if path.is_dir():
            raise SpecError(Problem(name, "is a folder", "name a YAML file in it"))
        if not path.is_file():
            remedy = near_specs(str(source))
            raise SpecError(Problem(name, "no such file, and no shipped spec with that name", remedy))
        return parse_yaml(path.read_text(encoding="utf-8"), name)
    except UnicodeDecodeError:
        raise SpecError(Problem(name, "cannot be read: not a text file")) from None
    except OSError as error:
        raise SpecError(Problem(name, f"cannot be read: {error.strerror or error}")) from None


PLAIN_TAGS = tuple(f"tag:yaml.org,2002:{name}" for name in ("null", "bool", "int", "float", "str", "seq", "map"))
"""Tags of what a spec can hold; a date is text, and sets, bytes and objects are refused."""


class _Loader(yaml.SafeLoader):
    """YAML loader of plain data that reads ``1e-3`` as a number and refuses repeated keys and aliases.

    Aliases could make a small file enormous.
    """

    yaml_constructors: ClassVar = {tag: yaml.SafeLoader.yaml_constructors[tag] for tag in PLAIN_TAGS}

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            raise yaml.composer.ComposerError(None, None, "aliases are not supported", None)
        return super().compose_node(parent, index)

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen = set()
        for key_node, _ in node.value if isinstance(node, yaml.MappingNode) else ():
            key = self.construct_object(key_node, deep=True)
            if isinstance(key, str) and key in seen:
                raise yaml.constructor.ConstructorError(None, None, f"key {key!r} appears twice", key_node.start_mark)
            seen.add(key if isinstance(key, str) else None)
        return super().construct_mapping(node, deep)

    def construct_other(self, node: yaml.Node) -> Any:
        """Refuse what is no plain data."""
        tag = node.tag.replace("tag:yaml.org,2002:", "!!")
        raise yaml.constructor.ConstructorError(None, None, f"the tag {tag} is not supported", node.start_mark)


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in found if not tag.endswith(":timestamp")]
    for first, found in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_Loader.add_constructor(None, _Loader.construct_other)
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(r"^[-+]?(\d[\d_]*\.?[\d_]*|\.\d[\d_]*)[eE][-+]?\d+$"),
    list("-+.0123456789"),
)


def _load(text: str) -> Any:
    """The plain data of a YAML text; raises :class:`NoYaml` with the reason in one line where it is none."""
    try:
        loaded = yaml.load(text, Loader=_Loader)
        json.dumps(loaded)  # refuses numbers of thousands of digits, which nothing could print
        return loaded
    except KeyError as error:  # a value that its tag does not allow, such as !!bool maybe
        raise NoYaml(f"a value does not fit its tag: {error}") from None
    except (yaml.YAMLError, ValueError, IndexError, RecursionError) as error:
        raise no_yaml(error, text) from None


def parse_yaml(text: str, where: str) -> Plain:
    """A mapping from YAML; ``where`` names it in errors."""
    try:
        plain = _load(text)
    except NoYaml as error:
        raise SpecError(Problem(where, f"not valid YAML: {error}", error.remedy, error.line or None)) from None
    if plain is None:
        raise SpecError(Problem(where, "is empty", "start from a shipped one: fedradio cp demo mine.yaml"))
    if not isinstance(plain, dict):
        raise SpecError(
            Problem(where, "a spec must be a mapping of keys to values", "see `fedradio cp` for an example", plain)
        )
    return plain


def plain_copy(plain: Mapping[str, Any]) -> Plain:
    """A deep copy as plain data; raises :class:`SpecError` for anything that JSON cannot hold."""
    try:
        copied: Plain = json.loads(json.dumps(plain, ensure_ascii=False).encode())
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
            _assign(result, key.strip(), _load(value))
            rename(result)
        except NoYaml as error:
            problems.append(Problem(key, f"value is not valid YAML: {error}", error.remedy, value))
        except LookupError as error:
            problems.append(Problem(key, *map(str, error.args)))
    if problems:
        raise SpecError(problems)
    return result


def parse_axis(text: str) -> tuple[str, list[Any]]:
    """Key and values of an axis ``key=a,b``. Commas inside brackets, braces and quotes do not separate values."""
    key, sign, values = text.partition("=")
    if not sign or not key.strip():
        raise SpecError(Problem(text, "neither an axis nor an override", "write key=value or key=value,value"))
    try:
        parsed: list[Any] = _load(f"[{values}]")
    except NoYaml as error:
        remedy = "separate values by single commas; quote strings that contain commas or brackets"
        raise SpecError(Problem(key.strip(), f"not YAML values: {error}", remedy, values)) from None
    return key.strip(), parsed


def _assign(node: Any, key: str, value: Any) -> None:
    """Set a dotted key, making mappings on the way; a part given by its plain name becomes a mapping."""
    *path, last = names = key.replace("[", ".").replace("]", "").split(".")
    for place, name in enumerate(path):
        _check_position(node, names, place)
        child = _child(node, name)
        if isinstance(child, str):
            child = {"kind": child}
        elif child is None:
            child = {}
        _put(node, name, child)
        node = child
    _check_position(node, names, len(path))
    _put(node, last, value)


def _child(node: Any, name: str) -> Any:
    """The value of a key or list position; None where the key is absent."""
    if isinstance(node, list):
        return node[int(name)]
    if isinstance(node, dict):
        return node.get(name)
    raise LookupError(f"{name!r} is below a plain value, which has no keys")


def _put(node: Any, name: str, value: Any) -> None:
    """Set a key or list position."""
    if isinstance(node, list):
        node[int(name)] = value
    elif isinstance(node, dict):
        node[name] = value
    else:
        raise LookupError(f"{name!r} is below a plain value, which has no keys")


def _check_position(node: Any, names: Sequence[str], place: int) -> None:
    """Refuse what is no position of a list, with the keys that would be."""
    name = names[place]
    if not isinstance(node, list) or (name.isdecimal() and int(name) < len(node)):
        return
    if not node:
        raise LookupError(f"the list is empty: there is no {name!r}")
    rest = names[place + 1 :] if name.isdecimal() else names[place:]
    known = [".".join([*names[:place], str(number), *rest]) for number in (0, len(node) - 1)]
    remedy = known[0] if len(node) == 1 else f"{known[0]} {'or' if len(node) == 2 else 'to'} {known[1]}"
    raise LookupError(f"the list has positions 0 to {len(node) - 1}: there is no {name!r}", remedy)


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
