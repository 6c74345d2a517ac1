"""``fedradio validate``."""

from support.commands import Call

from fedradio.core.errors import SpecError
from fedradio.spec.spec import load_spec


def test_a_valid_spec_has_its_fingerprint(call: Call) -> None:
    done = call("validate", "digits_flat", "rounds=3")
    assert done.exit_code == 0
    assert f"valid (sha256 {load_spec('digits_flat', ['rounds=3']).sha256()[:12]})" in done.output


def test_seed_and_rounds_replace_those_of_the_spec(call: Call) -> None:
    done = call("validate", "digits_flat", "--rounds", "3", "--seed", "9")
    assert load_spec("digits_flat", ["rounds=3", "seed=9"]).sha256()[:12] in done.output


def test_warnings_are_told(call: Call) -> None:
    done = call("validate", "whfl", "algorithm=scaffold", "rule=sgd")
    assert done.exit_code == 0
    assert "warning hops.0: control variates over the air are noisy" in done.output


def test_problems_of_fields_and_of_parts_that_do_not_fit(call: Call) -> None:
    for override in ("rule.lr=-1", "hops.0.policy={kind: sampling, clients: 999}"):
        assert isinstance(call("validate", "digits_flat", override).exception, SpecError)
