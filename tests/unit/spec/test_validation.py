"""Wrong specs: every problem at once, with its path and what was meant."""

from typing import Annotated

import pytest

from fedradio.core import registry
from fedradio.core.errors import SpecError
from fedradio.core.registry import Arg, parts, register
from fedradio.spec.spec import check_spec


def problem_of(plain: dict[str, object]) -> tuple[str, str, str]:
    with pytest.raises(SpecError) as caught:
        check_spec(plain)
    (problem,) = caught.value.problems
    return problem.path, problem.reason, problem.remedy


@pytest.mark.parametrize(
    ("plain", "path", "words"),
    [
        ({"rouns": 3}, "rouns", "did you mean 'rounds'"),
        ({"rule": {"kind": "sgd", "lrr": 1}}, "rule.lrr", "did you mean 'lr'"),
        ({"hops": [{"linc": "ideal"}]}, "hops.0.linc", "did you mean 'link'"),
        ({"data": {"sauce": "digits"}}, "data.sauce", "did you mean 'source'"),
        ({"algorithm": "fedagv"}, "algorithm", "did you mean 'fedavg'"),
        ({"algorithm": {"kind": "magic"}}, "algorithm", "one of: afa_cd, "),
        ({"data": {"source": "mnits"}}, "data.source", "did you mean 'mnist'"),
        ({"hops": [{"policy": {"kind": "random"}}]}, "hops.0.policy", "one of: budget, fixed"),
        ({"hops": [{"link": "idael"}]}, "hops.0.link", "did you mean 'ideal'"),
        ({"rounds": 0}, "rounds", "greater than or equal to 1"),
        ({"model": {"kind": "mlp", "hidden": 64}}, "model.hidden", "must be a list model.hidden=[64]"),
        ({"rule": {"kind": "sgd", "lr": "fast"}}, "rule.lr", "valid number learning rate"),
        ({"rounds": "many"}, "rounds", "valid integer"),
        ({"rounds": True}, "rounds", "valid integer"),
        ({"rounds": 2.5}, "rounds", "valid integer"),
        ({"rule": {"kind": "sgd", "lr": float("nan")}}, "rule.lr", "finite"),
        ({"rule": {"kind": "sgd", "lr": float("inf")}}, "rule.lr", "finite"),
        ({"rule": {"kind": "sgd", "momentum": 1.0}}, "rule.momentum", "less than 1"),
        ({"hops": []}, "hops", "at least 1"),
        ({"hops": [{"policy": {"kind": "fixed", "steps": "x"}}]}, "hops.0.policy.steps", "integer"),
        ({"hops": [{"policy": {"kind": "fixed", "steps": [1, 0]}}]}, "hops.0.policy.steps.1", "greater"),
        ({"schedule": {"kind": "step"}}, "schedule.at", "required"),
        ({"hops": [{"channel": "thin_air"}]}, "hops.0.channel", "urban_macro"),
        ({"topology": 7}, "topology", "must be a topology topology=clusters, or {kind: clusters"),
        ({"hops": [3]}, "hops.0", "must be a mapping of keys to values such as hops.0={"),
        ({"model": None}, "model", ""),
        ({"name": "../../etc"}, "name", "letters, digits"),
        ({"name": "a\x1b]0;x\x07"}, "name", "letters, digits"),
        ({"name": "a\n"}, "name", "letters, digits"),
        ({"about": "a\x1b]0;x\x07"}, "about", "contains the control character U+001B use plain text"),
        ({"about": "a\rb"}, "about", "U+000D"),
        ({"about": "\x9b31m"}, "about", "U+009B"),
        ({"about": "a\u202eb"}, "about", "U+202E"),
        ({"clock": "sundial"}, "clock", "slowest"),
        ({"grouping": "pairs"}, "grouping", "'auto' or 'single'"),
        ({"precision": "double"}, "precision", "'float32' or 'bf16'"),
        ({"metrics": ["macro_f1", {"kind": "calibration", "bins": 0}]}, "metrics.1.bins", "greater than or equal to 1"),
        ({"metrics": ["macro_f1", {"kind": "calibration", "bns": 4}]}, "metrics.1.bns", "did you mean 'bins'"),
        ({"metrics": ["macrof1"]}, "metrics.0", "unknown metric did you mean 'macro_f1'"),
        ({"metrics": ["top", {"kind": "magic"}]}, "metrics.1", "one of: calibration, macro_f1, top, worst"),
        ({"metrics": [{"bins": 4}]}, "metrics.0", "one of: calibration"),
        ({"metrics": [7]}, "metrics.0", "must be a metric metrics.0=calibration"),
        ({"metrics": [None]}, "metrics.0", "must not be null"),
        ({"metrics": "macro_f1"}, "metrics", "must be a list metrics=[macro_f1]"),
        ({"metrics": {"kind": "top", "m": 3}}, "metrics", "must be a list metrics=[{kind: top, m: 3}]"),
        ({"metrics": {"0": {"bins": 4}}}, "metrics", "must be a list [...]"),
        ({"metrics": ["top"] * 17}, "metrics", "at most 16 items"),
        ({"hops": 3}, "hops", "must be a list"),
        ({"hops": [{"transforms": [{"kind": "quantise", "bits": 1}]}]}, "hops.0.transforms.0.bits", "bits >= 2, <= 24"),
        ({"hops": [{"transforms": [{"kind": "quantise", "bits": 25}]}]}, "hops.0.transforms.0.bits", "bits >= 2"),
        ({"hops": [{"transforms": ["clip"]}]}, "hops.0.transforms.0.norm", "is required set it: largest 2-norm"),
        ({"hops": [{"transforms": ["top_k"] * 9}]}, "hops.0.transforms", "at most 8 items"),
    ],
)
def test_wrong_fields_are_named(plain: dict[str, object], path: str, words: str) -> None:
    found, reason, remedy = problem_of(plain)
    assert found == path
    assert words in f"{reason} {remedy}"


def test_a_keyword_with_the_name_of_its_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    """What pydantic adds to a path is told apart from what the user wrote, in lists of parts too."""
    parts()
    monkeypatch.setattr(registry, "_PARTS", dict(registry._PARTS))

    @register("metric", "share")
    def share(*, share: Annotated[float, Arg("of what", le=1)] = 0.5) -> None:
        """A share of something."""

    assert problem_of({"metrics": ["top", {"kind": "share", "share": 7.0}]})[0] == "metrics.1.share"
    assert problem_of({"metrics": [{"kind": "share", "share": 0.5, "shares": 0.1}]})[0] == "metrics.0.shares"


def test_a_text_may_have_lines() -> None:
    assert check_spec({"about": "Zürich,\n上海\n"}).plain["about"] == "Zürich,\n上海\n"


def test_all_problems_at_once() -> None:
    with pytest.raises(SpecError) as caught:
        check_spec({"rounds": -1, "rule": {"kind": "sgd", "lr": -1, "batch": 0}, "colour": "red", "model": "mpl"})
    assert {p.path for p in caught.value.problems} == {"rounds", "rule.lr", "rule.batch", "colour", "model"}


def test_a_spec_that_would_load_files_of_parts_says_how_to() -> None:
    with pytest.raises(SpecError) as caught:
        check_spec({"parts": ["mine.py"]})
    assert caught.value.problems[0].path == "parts"
    assert "--parts FILE" in caught.value.problems[0].remedy
