"""Every contract that parts are written with has an example in its docstring that runs, with what it prints."""

import doctest
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch

from fedradio.core import contracts
from fedradio.core.contracts import algorithm, data, learning, loss, network, payload, placement, radio

ROOT = Path(__file__).parents[4]
MODULES: tuple[ModuleType, ...] = (algorithm, data, learning, loss, network, payload, placement, radio)
EXAMPLES = {
    test.name.rpartition(".")[2]: test
    for module in MODULES
    for test in doctest.DocTestFinder(exclude_empty=True).find(module, globs={"torch": torch})
    if test.examples
}


def is_contract(what: Any) -> bool:
    return isinstance(what, type) and getattr(what, "_is_protocol", False)


def test_every_contract_has_an_example() -> None:
    names = [name for name in contracts.__all__ if is_contract(getattr(contracts, name))]
    assert {"Algorithm", "ClientSide", "Gather", "Link", "Policy", "Stream"} <= set(names)
    assert [name for name in names if name not in EXAMPLES] == []


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_example_prints_what_it_says(name: str) -> None:
    runner, said = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE), list[str]()
    runner.run(EXAMPLES[name], out=said.append)
    assert said == []


def test_own_parts_need_nothing_but_the_package() -> None:
    """Examples and templates of own parts import ``from fedradio import ...``, torch and the standard library."""
    files = [*(ROOT / "examples").glob("own_*.py"), *(ROOT / "src" / "fedradio" / "templates").glob("*.txt")]
    assert len(files) > 20
    inner = re.compile(r"^ *(from|import) fedradio\.", re.MULTILINE)
    assert [file.name for file in files if inner.search(file.read_text(encoding="utf-8"))] == []


def test_examples_need_nothing_but_the_package() -> None:
    """What they import of fedradio is ``from fedradio import ...``."""
    lines = [example.source for test in EXAMPLES.values() for example in test.examples]
    assert [line for line in lines if "import" in line and "fedradio." in line] == []
