"""Specs as plain data: parsing YAML, setting dotted keys, ``key=value`` overrides, axes of sweeps."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

import yaml

from fedradio.core.errors import Problem, SpecError

Plain = dict[str, Any]


class InvalidYaml(ValueError):
    """A text that is not YAML: the parser's reason in one line, with line and column."""


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
    """The plain data of a YAML text; raises :class:`InvalidYaml` if it has none."""
    try:
        loaded = yaml.load(text, Loader=_Loader)
        json.dumps(loaded)  # refuses numbers of thousands of digits, which nothing could print
        return loaded
    except KeyError as error:  # a value that its tag does not allow, such as !!bool maybe
        raise InvalidYaml(f"a value does not fit its tag: {error}") from None
    except (yaml.YAMLError, ValueError, IndexError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        place = "" if mark is None else f"line {mark.line + 1}, column {mark.column + 1}: "
        words = [getattr(error, name, None) for name in ("context", "problem")]
        reason = ", ".join(filter(None, words)) or str(error)
        raise InvalidYaml(place + " ".join(reason.split())) from None


def parse_yaml(text: str, where: str) -> Plain:
    """A mapping from YAML; ``where`` names it in errors."""
    try:
        plain = _load(text)
    except InvalidYaml as error:
        raise SpecError(Problem(where, f"not valid YAML: {error}")) from None
    if plain is None:
        raise SpecError(Problem(where, "is empty", "start from a shipped one: fedradio cp demo mine.yaml"))
    if not isinstance(plain, dict):
        raise SpecError(
            Problem(where, "a spec must be a mapping of keys to values", "see `fedradio cp` for an example", plain)
        )
    return plain


def set_in_lines(text: str) -> str:
    """The YAML of a spec, with every key of ``set: {...}`` in a line of its own; broken YAML stays as it is."""
    try:
        keys = yaml.compose(text, Loader=_Loader).value
    except yaml.YAMLError:
        return text
    for key, value in keys:
        if key.value == "set" and isinstance(value, yaml.MappingNode) and value.flow_style:
            before, after = text[: value.start_mark.index].rstrip(), text[value.end_mark.index :].lstrip()
            changes = [f"  {text[name.start_mark.index : new.end_mark.index]}\n" for name, new in value.value]
            return f"{before}\n{''.join(changes)}{after}"
    return text


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
            set_key(result, key.strip(), _load(value))
        except InvalidYaml as error:
            problems.append(Problem(key, f"value is not valid YAML: {error}", value=value))
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
    except InvalidYaml as error:
        remedy = "separate values by single commas; quote strings that contain commas or brackets"
        raise SpecError(Problem(key.strip(), f"not YAML values: {error}", remedy, values)) from None
    return key.strip(), parsed


def set_key(node: Any, key: str, value: Any) -> None:
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


def differing_keys(one: Mapping[str, Any], other: Mapping[str, Any]) -> list[str]:
    """The dotted keys in which two plain mappings differ, those that only one of them has included."""
    first, second, missing = dict(flatten(one)), dict(flatten(other)), object()
    return [key for key in first | second if first.get(key, missing) != second.get(key, missing)]
