"""What the shape of a round promises: plain values, one writer, records made once, no paper in the core."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from pathlib import Path
from types import FunctionType, LambdaType, MethodType
from typing import Any

import pytest
from support.worlds import cells
from torch import Tensor, nn

import fedradio
from fedradio.rounds import accounts
from fedradio.rounds.commit import commit
from fedradio.rounds.gather import gather
from fedradio.rounds.merge import merge
from fedradio.rounds.planning import broadcast, decide, finalise, observe
from fedradio.rounds.round import begin, next_clock, open_round
from fedradio.rounds.work import work

PACKAGE = Path(fedradio.__file__).parent
ROUNDS, CORE = sorted((PACKAGE / "rounds").glob("*.py")), sorted((PACKAGE / "core").rglob("*.py"))
PAPERS = re.compile(r"rawhfl|osafl|w-?hfl|fedcpsl|arxiv", re.IGNORECASE)


def functions(tree: ast.AST) -> Iterator[ast.FunctionDef]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))


def only_raises(function: ast.FunctionDef) -> bool:
    """Whether a function raises, and neither assigns to what it was given nor calls anything for its effect."""
    given = [node for node in ast.walk(function) if isinstance(node, (ast.Assign, ast.AugAssign))]
    changed = [each for node in given for each in (node.targets if isinstance(node, ast.Assign) else [node.target])]
    plain = all(isinstance(each, (ast.Name, ast.Tuple)) for each in changed)
    effects = [node for node in ast.walk(function) if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)]
    return plain and not effects and any(isinstance(node, ast.Raise) for node in ast.walk(function))


def returns_nothing(function: ast.FunctionDef) -> bool:
    return isinstance(function.returns, ast.Constant) and function.returns.value is None


def docstrings(tree: ast.AST) -> set[int]:
    """Identities of the constants that are docstrings, of modules, classes, functions and names."""
    texts = [node.value for node in ast.walk(tree) if isinstance(node, ast.Expr)]
    return {id(each) for each in texts if isinstance(each, ast.Constant)}


def test_no_function_of_a_round_returns_nothing_but_the_writer_and_checks() -> None:
    silent = {
        f"{path.stem}.{function.name}"
        for path in ROUNDS
        for function in functions(ast.parse(path.read_text()))
        if returns_nothing(function) and function.name != "__init__" and not only_raises(function)
    }
    assert silent == {"commit.commit"}


def test_the_writer_alone_writes_rows() -> None:
    """In place are also the caches' own copies, and rows that a function has just made."""
    writers = {path.stem for path in ROUNDS if re.search(r"\bwrite_rows\(", path.read_text())}
    assert writers == {"commit"}


def test_no_lambda_and_no_inner_function_is_kept_in_a_value() -> None:
    """A keyword of a constructor is never a lambda: a value has fields, not closures."""
    kept = [
        f"{path.stem}:{node.lineno}"
        for path in (*ROUNDS, *CORE)
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id[0].isupper()
        if any(isinstance(each, ast.Lambda) for each in (*node.args, *(keyword.value for keyword in node.keywords)))
    ]
    assert kept == []


def test_values_of_contracts_and_rounds_are_frozen() -> None:
    """But for the forecasts of caches, which are made when they are first asked for."""
    thawed = {
        node.name
        for path in (*ROUNDS, *sorted((PACKAGE / "core" / "contracts").glob("*.py")))
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ClassDef)
        for mark in node.decorator_list
        if "dataclass" in ast.unparse(mark) and "frozen=True" not in ast.unparse(mark)
    }
    assert thawed == {"Foreseen"}


@pytest.mark.parametrize("path", CORE, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_the_core_names_no_paper_outside_docstrings(path: Path) -> None:
    tree = ast.parse(path.read_text())
    documentation = docstrings(tree)
    for node in ast.walk(tree):
        for _, value in ast.iter_fields(node):
            if isinstance(value, str) and id(node) not in documentation:
                assert not PAPERS.search(value), value


def closures(value: Any, path: str = "") -> Iterator[str]:
    """Places of a value, through its fields, where a function or a bound method is kept."""
    if isinstance(value, (FunctionType, LambdaType, MethodType)):
        yield path
    elif isinstance(value, (Tensor, nn.Module)):
        return
    elif is_dataclass(value) and not isinstance(value, type):
        for entry in fields(value):
            yield from closures(getattr(value, entry.name), f"{path}.{entry.name}")
    elif isinstance(value, dict):
        for name, each in value.items():
            yield from closures(each, f"{path}[{name!r}]")
    elif isinstance(value, (tuple, list)):
        for number, each in enumerate(value):
            yield from closures(each, f"{path}[{number}]")


def test_the_verbs_return_plain_values_in_their_order() -> None:
    """An exchange of hop 0 verb by verb: none of the values that they return holds a function."""
    sim = cells()
    now = open_round(sim, begin(sim))
    seen, state = observe(sim, now.state, now.tiers, 0, next_clock(sim, now, 0))
    told = broadcast(seen)
    alloc, memory = decide(sim, state, told)
    planned, state = finalise(sim, state, told, alloc, memory)
    updates, writes = work(sim, state, now.tiers, planned)
    commit(state, writes)
    gathering, carried = gather(sim, state, planned, updates, accounts.receiver_times(planned, sim.waits))
    commit(state, carried)
    merged, state = merge(sim, state, now.tiers[0], planned, gathering.updates)
    record = accounts.exchange_record(sim, planned, updates, merged, gathering.times_s)
    values = (now, seen, told, alloc, planned, updates, writes, gathering, carried, merged, record, state)
    assert [place for value in values for place in closures(value, type(value).__name__)] == []
    assert record.ids == updates.ids.tolist()
