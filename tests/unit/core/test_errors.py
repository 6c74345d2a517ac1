"""Errors for people: what they say, and the exit codes they have."""

import pytest

from fedradio.core.errors import DataError, DivergenceError, FedradioError, Problem, SpecError, StoreError, suggest


def test_a_problem_in_one_line() -> None:
    assert str(Problem("rule.lr", "must be positive", "rule.lr=0.1", -1)) == (
        "rule.lr: must be positive (given -1) -> rule.lr=0.1"
    )
    assert str(Problem("data", "is missing")) == "data: is missing"
    long = str(Problem("a", "is long", value="x" * 500))
    assert len(long) < 150


def test_all_problems_are_in_the_message() -> None:
    one, other = Problem("a", "is wrong"), Problem("b", "is too")
    assert SpecError(one).problems == [one]
    assert str(SpecError(iter([one, other]))) == "a: is wrong\nb: is too"


def test_divergence_names_round_and_the_first_clients() -> None:
    some = DivergenceError(3, range(20), "local training")
    assert (some.round, len(some.clients)) == (4, 20)
    assert "round 4" in str(some)
    assert "0, 1, 2, 3, 4, 5, 6, 7" in str(some)
    assert "8" not in str(some)
    assert "of the merged model" in str(DivergenceError(3, [], "the model"))


@pytest.mark.parametrize(
    ("kind", "code"), [(FedradioError, 1), (SpecError, 2), (DivergenceError, 3), (DataError, 4), (StoreError, 5)]
)
def test_exit_codes(kind: type[FedradioError], code: int) -> None:
    assert kind.exit_code == code
    assert issubclass(kind, FedradioError)


@pytest.mark.parametrize(
    ("given", "remedy"),
    [
        ("noise", "did you mean 'noise_symbol' or 'noise_w_hz'?"),  # not the shorter of the two
        ("noise_", "did you mean 'noise_symbol' or 'noise_w_hz'?"),
        ("noise_wz", "did you mean 'noise_w_hz'?"),
        ("exponent_of", "did you mean 'exponent'?"),
        ("no", ""),
        ("speed", ""),
    ],
)
def test_the_beginning_of_several_names_means_all_of_them(given: str, remedy: str) -> None:
    assert suggest(given, ["exponent", "noise_symbol", "noise_w_hz", "no_shadowing"]) == remedy
