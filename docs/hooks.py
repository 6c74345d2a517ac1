"""Pages of parts, tables of spec keys and typeset equations, made at build time from the registry and the schema."""

from __future__ import annotations

import re
from collections.abc import Callable
from enum import IntEnum
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from folding import fold_files, fold_sections, folded
from mkdocs.structure.files import File, Files
from part_pages import either, overview, pages
from protocol_tables import ciphertexts, derivable, messages, stolen_keys
from typeset import typeset

import fedradio
from fedradio.core import contracts
from fedradio.core.registry import FAMILIES, PART_LISTS, parts
from fedradio.report.terminal.words import markdown_table
from fedradio.spec.files import shipped
from fedradio.spec.schema import spec_schema
from fedradio.spec.spec import load_spec

SUBJECTS = {
    "time": "time",
    "state": "state",
    "payload": "payloads",
    "network": "network",
    "radio": "radio",
    "updates": "updates",
    "reasons": "reasons",
    "data": "data",
    "learning": "learning",
    "loss": "losses",
    "algorithm": "algorithm",
    "placement": "caches",
    "records": "records",
}
"""Modules of the contracts and their titles, in the order of the page."""

ROOT = Path(__file__).parents[1]
TUTORIAL = ROOT / "examples" / "own_spec.yaml"

ROLE = re.compile(r":(?:class|data|func|meth|mod):<code>~?([^<]*)</code>")
"""Roles of docstrings; the pages have no use for them."""

EXAMPLE = re.compile(r'<p>Example:</p>\s*(<div class="highlight">.*?</pre></div>)', re.DOTALL)
"""An example in a docstring, as it is rendered."""


def on_config(config: Any, **_: Any) -> Any:
    """Add the pages of the families to the navigation."""
    section = next(entry["Parts"] for entry in config["nav"] if "Parts" in entry)
    section += [{family.capitalize(): f"parts/{family}.md"} for family in FAMILIES]
    return config


def on_files(files: Files, config: Any, **_: Any) -> Files:
    """Add the pages of parts and of contracts, which are no files."""
    for path, text in (pages() | contract_pages()).items():
        files.append(File.generated(config, path, content=text))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Replace every marker ``<!-- name -->`` that this file knows."""
    for name, make in MARKERS.items():
        marker = f"<!-- {name} -->"
        if marker in markdown:
            markdown = markdown.replace(marker, make())
    return typeset(fold_files(markdown))


def on_page_content(html: str, **_: Any) -> str:
    """A role such as ``:class:`` before a name becomes the name alone, and examples of contracts are folded.

    A snippet that was not included is an error.
    """
    if "--8" in re.sub(r"<[^>]*>", "", html).replace("&lt;", "<"):
        raise ValueError("a snippet was not included")
    html = EXAMPLE.sub(r'<details class="example"><summary>Example</summary>\1</details>', html)
    return ROLE.sub(lambda found: f"<code>{found[1].rpartition('.')[2]}</code>", html)


def spec_keys(block: str | None) -> str:
    """Keys of the spec's frame, or of its ``Hop``, ``Data`` or ``Cache`` block, from the schema that checks specs."""
    schema = spec_schema().model_json_schema()
    fields = schema["properties"] if block is None else schema["$defs"][block]["properties"]
    return markdown_table(
        ("key", "value", "default", "bounds", "meaning"), [_key(name, field) for name, field in fields.items()]
    )


def _key(name: str, field: dict[str, Any]) -> tuple[str, ...]:
    if name in FAMILIES:
        kind = f"part: [{name}](parts/{name}.md)"
    elif name in PART_LISTS:
        kind = f"list of parts: [{PART_LISTS[name]}](parts/{PART_LISTS[name]}.md)"
    elif name in ("hops", "data"):
        kind = f"[{'list of hops' if name == 'hops' else 'data block'}](#{name})"
    elif name == "cache":
        kind = "[cache block](#cache) or null"
    else:
        kind = either(_type(field))
    return f"`{name}`", kind, _default(name, field), _bounds(field), field["description"]


def _type(field: dict[str, Any]) -> str:
    """A JSON-schema type as people write it."""
    if "anyOf" in field:
        return " | ".join(_type(item) for item in field["anyOf"])
    if "enum" in field:
        return " | ".join(field["enum"])
    if "$ref" in field:
        return str(field["$ref"]).rpartition("/")[2].lower()
    name = str(field["type"])
    return {"integer": "int", "number": "float", "string": "str"}.get(name, name)


def _default(name: str, field: dict[str, Any]) -> str:
    value = field.get("default")
    if name in ("hops", "data"):
        return "one hop of defaults" if name == "hops" else "all defaults"
    if isinstance(value, dict):
        return f"`{value['kind']}`"
    if isinstance(value, list) and not value:
        return "empty"
    return "`null`" if value is None else f"`{value}`" if value != "" else "empty"


def _bounds(field: dict[str, Any]) -> str:
    signs = {"minimum": ">=", "exclusiveMinimum": ">", "maximum": "<=", "exclusiveMaximum": "<"}
    options = [field, *field.get("anyOf", [])]
    found = [f"{sign} {_limit(option[word])}" for option in options for word, sign in signs.items() if word in option]
    if "maxItems" in field and "minItems" not in field:
        found.append(f"at most {field['maxItems']}")
    if "maxLength" in field:
        found.append(f"at most {field['maxLength']} characters")
    if "pattern" in field:
        found.append("letters, digits, `.`, `_`, `-`; at most 64")
    return ", ".join(found)


def _limit(value: float) -> str:
    return "2^63 - 1" if value == 2**63 - 1 else f"{value:g}"


def shipped_specs() -> str:
    """Tables of all shipped specs; those of the papers' tables and figures are folded."""
    names = [name for name in shipped() if "/" not in name]
    pieces = [_specs_table(names)]
    for paper in dict.fromkeys(name.split("/")[0] for name in shipped() if "/" in name):
        mine = [name for name in shipped() if name.startswith(f"{paper}/")]
        pieces.append(folded(f"{len(mine)} specs of the tables and figures: {paper}/", _specs_table(mine)))
    return "\n\n".join(pieces)


def _specs_table(names: list[str]) -> str:
    return markdown_table(("spec", "what it runs"), [(f"`{name}`", load_spec(name).plain["about"]) for name in names])


@cache
def contract_names() -> dict[str, tuple[str, ...]]:
    """Subject -> names of the contracts that belong to it; every name has its place."""
    found: dict[str, tuple[str, ...]] = {}
    for subject in SUBJECTS:
        module = import_module(f"{contracts.__name__}.{subject}")
        seen = {name for names in found.values() for name in names}
        names = [name for name in vars(module) if name in contracts.__all__ and name not in seen]
        found[subject] = tuple(name for name in names if _defined_in(module, vars(module)[name]))
    missing = set(contracts.__all__) - {name for names in found.values() for name in names}
    if missing:
        raise ValueError(f"contracts without a place on the pages: {', '.join(sorted(missing))}")
    return found


def contracts_overview() -> str:
    """A table of subjects, each with its page and its names."""
    rows = [
        (f"[{SUBJECTS[subject]}](contracts/{subject}.md)", ", ".join(f"`{name}`" for name in names))
        for subject, names in contract_names().items()
    ]
    return markdown_table(("subject", "names"), rows)


def contract_pages() -> dict[str, str]:
    """Path -> text of a page for every subject: fields of value types, methods of protocols."""
    found = {}
    for subject, names in contract_names().items():
        module = import_module(f"{contracts.__name__}.{subject}")
        pieces = [f"# Contracts: {SUBJECTS[subject]}", "All subjects: [contracts](../contracts.md)."]
        pieces += [_directive(f"{module.__name__}.{name}", vars(module)[name]) for name in names]
        found[f"contracts/{subject}.md"] = "\n\n".join(pieces)
    return found


def _defined_in(module: ModuleType, what: Any) -> bool:
    """Classes know their module; an alias belongs to the first that has it."""
    return not isinstance(what, type) or what.__module__ == module.__name__


def _directive(path: str, what: Any) -> str:
    lines = [f"::: {path}", "    options:", "      heading_level: 2"]
    if getattr(what, "_is_protocol", False) or (isinstance(what, type) and issubclass(what, IntEnum)):
        lines.append("      show_if_no_docstring: true")
    return "\n".join(lines)


def data_sets() -> str:
    """``DATA.md``; lists inside lists are indented by four on these pages."""
    return re.sub(r"^   - ", "    - ", (ROOT / "DATA.md").read_text(encoding="utf-8"), flags=re.MULTILINE)


def changelog() -> str:
    """``CHANGELOG.md``, every list of a release folded."""
    return fold_sections((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"))


MARKERS: dict[str, Callable[[], str]] = {
    "parts": overview,
    "DATA.md": data_sets,
    "contracts": contracts_overview,
    "CHANGELOG.md": changelog,
    "spec frame": lambda: spec_keys(None),
    "spec hop": lambda: spec_keys("Hop"),
    "spec data": lambda: spec_keys("Data"),
    "spec cache": lambda: spec_keys("Cache"),
    "shipped specs": shipped_specs,
    "request messages": messages,
    "request ciphertexts": ciphertexts,
    "request knowledge": derivable,
    "request stolen keys": stolen_keys,
    "kinds link": lambda: ", ".join(f"`{part.kind}`" for part in parts("link")),
    "fingerprint of the tutorial's spec": lambda: load_spec(TUTORIAL).sha256()[:12],
    "version": lambda: fedradio.__version__,
}
