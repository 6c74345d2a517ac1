"""Checked specs: complete, with a fingerprint of what matters."""

from collections.abc import Callable

from fedradio.spec.files import shipped
from fedradio.spec.spec import Spec, check_spec, load_spec
from fedradio.spec.yaml import apply_overrides


def test_an_empty_spec_is_complete() -> None:
    plain = check_spec({}).plain
    assert plain["topology"]["kind"] == "flat"
    assert plain["rule"]["lr"] == 0.1
    assert check_spec(plain).plain == plain


def test_a_string_override_replaces_the_whole_part() -> None:
    spec = check_spec(
        apply_overrides({"data": {"source": {"kind": "digits", "test_fraction": 0.1}}}, ["data.source=digits"])
    )
    assert spec.plain["data"]["source"]["test_fraction"] == 0.2


def test_fingerprint_is_of_what_matters(tiny: Callable[..., Spec]) -> None:
    assert tiny("name=other", "about=words").sha256() == tiny().sha256()
    assert tiny("seed=4").sha256() != tiny().sha256()


def test_every_shipped_spec_is_valid() -> None:
    assert "demo" in shipped()
    for name in shipped():
        spec = load_spec(name)
        assert spec.plain["about"]
        assert spec.name in (name.rpartition("/")[2], name.replace("/", "_"))
