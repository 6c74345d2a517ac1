"""Specs as text: axes, overrides, bases, files."""

from typing import Any

import pytest

from fedradio.core.errors import SpecError
from fedradio.spec.yaml import apply_overrides, differing_keys, flatten, parse_axis, parse_yaml


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("k=1,2.5,1e-3", [1, 2.5, 0.001]),
        ("k=[64,32],[128]", [[64, 32], [128]]),
        ("k=[64,32]", [[64, 32]]),
        ("k=fedavg,fedprox", ["fedavg", "fedprox"]),
        ("k={kind: fedprox, mu: 0.1},fedavg", [{"kind": "fedprox", "mu": 0.1}, "fedavg"]),
        ("k={kind: a, b: [1, 2]}, {kind: c}", [{"kind": "a", "b": [1, 2]}, {"kind": "c"}]),
        ("k='a, b',\"c, d\"", ["a, b", "c, d"]),
        ("k='it''s, so', it's", ["it's, so", "it's"]),
        ("k=null,true", [None, True]),
        ("k=7,", [7]),
        ("k=", []),
        (" k = a=b , c ", ["a=b", "c"]),
    ],
)
def test_commas_separate_values_outside_of_brackets_and_quotes(text: str, values: list[Any]) -> None:
    assert parse_axis(text) == ("k", values)


@pytest.mark.parametrize("text", ["k=1,,2", "k=[1,2", "k=1]", "k='a,b", "k={a: 1", "k=a],[b", "=1", "k"])
def test_values_that_are_not_yaml_are_refused(text: str) -> None:
    with pytest.raises(SpecError):
        parse_axis(text)


def test_overrides() -> None:
    plain = {"rule": {"kind": "sgd", "lr": 1}, "hops": [{"link": "ideal"}], "data": {"source": "digits"}}
    changed = apply_overrides(
        plain,
        [
            "rule.lr=1e-3",
            "hops.0.period=4",
            "data.source=mnist",
            "data.source.samples=50",
            "hops[0].link.bits_per_value=8",
        ],
    )
    assert changed["rule"]["lr"] == 0.001
    assert changed["hops"][0]["period"] == 4
    assert changed["data"]["source"] == {"kind": "mnist", "samples": 50}
    assert changed["hops"][0]["link"] == {"kind": "ideal", "bits_per_value": 8}
    assert plain["rule"]["lr"] == 1


@pytest.mark.parametrize(
    "text",
    [
        "rounds",
        "=3",
        "hops.1.period=2",
        "hops.x=1",
        "rounds.x=1",
        "rule={",
        "rule.lr=!!timestamp 2020",
        "hops.².period=1",
    ],
)
def test_wrong_overrides(text: str) -> None:
    with pytest.raises(SpecError):
        apply_overrides({"hops": [{}], "rounds": 3}, [text])


TAGGED = ("!!timestamp 2020", "!!timestamp 2020-01-01", "!!binary x", "!!set {a}", "!!omap [a: 1]", "!!pairs [a: 1]")
BEYOND_YAML = (
    *TAGGED,
    "!mine x",
    "!!bool maybe",
    "!!int x",
    "!!int ''",
    "!!map [1]",
    "=",
    "1:" * 4000 + "1",
    "9" * 5000,
)


@pytest.mark.parametrize("value", BEYOND_YAML)
def test_what_no_spec_can_hold_is_refused_in_a_sentence(value: str) -> None:
    """On the command line, on an axis of a sweep, and in a file."""
    for refused in (
        lambda: apply_overrides({}, [f"rule.lr={value}"]),
        lambda: parse_axis(f"rule.lr={value},1"),
        lambda: parse_yaml(f"rule:\n  lr: {value}", "mine.yaml"),
    ):
        with pytest.raises(SpecError) as caught:
            refused()
        (problem,) = caught.value.problems
        assert problem.path in ("rule.lr", "mine.yaml")
        assert "YAML" in problem.reason
        assert "\n" not in str(problem)


def test_a_date_is_text() -> None:
    assert apply_overrides({}, ["about=2020-01-01"]) == {"about": "2020-01-01"}
    assert parse_axis("about=2020-13-45,2001-12-14t21:59:43.10-05:00") == (
        "about",
        ["2020-13-45", "2001-12-14t21:59:43.10-05:00"],
    )


def test_items_of_a_list_are_changed_by_their_position() -> None:
    plain: dict[str, Any] = {"metrics": ["macro_f1", {"kind": "calibration"}]}
    changed = apply_overrides(plain, ["metrics.1.bins=4", "metrics[0]=worst", "metrics.0.share=0.5"])
    assert changed == {"metrics": [{"kind": "worst", "share": 0.5}, {"kind": "calibration", "bins": 4}]}
    assert apply_overrides(plain, ["metrics=[top]"]) == {"metrics": ["top"]}
    for empty, words in (([], "the list is empty"), (["top"], "positions 0 to 0")):
        with pytest.raises(SpecError, match=words):
            apply_overrides({"metrics": empty}, ["metrics.1.bins=4"])


def test_leaves_have_dotted_paths() -> None:
    plain = {"metrics": [{"kind": "top"}], "hops": [{"metrics": [], "link": {"kind": "ideal"}}]}
    assert dict(flatten(plain)) == {"metrics.0.kind": "top", "hops.0.metrics": [], "hops.0.link.kind": "ideal"}


def test_a_key_without_its_position_is_told_the_right_ones() -> None:
    plain = {"hops": [{"period": 1}, {"period": 1}]}
    with pytest.raises(SpecError) as caught:
        apply_overrides(plain, ["hops.period=2", "hops.5.period=2", "model={kind: mlp"])
    assert [(one.path, one.reason, one.remedy) for one in caught.value.problems] == [
        (
            "hops.period",
            "the list has positions 0 to 1: there is no 'period'",
            "hops.0.period or hops.1.period",
        ),
        ("hops.5.period", "the list has positions 0 to 1: there is no '5'", "hops.0.period or hops.1.period"),
        (
            "model",
            "value is not valid YAML: line 1, column 11: while parsing a flow mapping, "
            "expected ',' or '}', but got '<stream end>'",
            "",
        ),
    ]


def test_a_broken_file_is_told_with_its_line() -> None:
    with pytest.raises(SpecError) as caught:
        parse_yaml("name: x\nmodel: {kind: mlp\nrounds: 3\n", "mine.yaml")
    (one,) = caught.value.problems
    reason = "while parsing a flow mapping, expected ',' or '}', but got ':'"
    assert str(one) == f"mine.yaml: not valid YAML: line 3, column 7: {reason}"


def test_differing_keys_tell_null_from_what_is_absent() -> None:
    one = {"a": {"b": 1, "c": None}, "d": [{"e": 1}], "same": 5}
    other = {"same": 5, "f": 2, "a": {"b": 2}, "d": [{"e": 1}]}
    assert differing_keys(one, other) == ["a.b", "a.c", "f"]
    assert differing_keys(one, one) == []
