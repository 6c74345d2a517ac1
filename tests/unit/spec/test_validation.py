"""Wrong specs: every problem at once, with its path and what was meant."""

import pytest

from fedradio.core.errors import SpecError
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
        ({"topology": 7}, "topology", ""),
        ({"model": None}, "model", ""),
        ({"name": "../../etc"}, "name", "letters, digits"),
        ({"clock": "sundial"}, "clock", "slowest"),
    ],
)
def test_wrong_fields_are_named(plain: dict[str, object], path: str, words: str) -> None:
    found, reason, remedy = problem_of(plain)
    assert found == path
    assert words in f"{reason} {remedy}"


def test_all_problems_at_once() -> None:
    with pytest.raises(SpecError) as caught:
        check_spec({"rounds": -1, "rule": {"kind": "sgd", "lr": -1, "batch": 0}, "colour": "red", "model": "mpl"})
    assert {p.path for p in caught.value.problems} == {"rounds", "rule.lr", "rule.batch", "colour", "model"}
