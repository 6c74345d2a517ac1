"""``fedradio ls``."""

from support.commands import Call

from fedradio.core.errors import SpecError
from fedradio.core.registry import parts
from fedradio.spec.files import shipped


def test_parts_of_a_family_or_all(call: Call) -> None:
    text = call("ls", "algorithm").output
    assert all(part.kind in text for part in parts("algorithm"))
    assert "urban_macro" not in text
    assert "urban_macro" in call("ls").output


def test_shipped_specs(call: Call) -> None:
    text = call("ls", "spec").output
    assert all(name in text for name in shipped())


def test_unknown_families(call: Call) -> None:
    refused = call("ls", "algoritm").exception
    assert isinstance(refused, SpecError)
    assert "did you mean 'algorithm'" in str(refused)


def test_specs_by_the_beginning_of_their_names(call: Call) -> None:
    shown = call("ls", "spec", "rawhfl/quick").output
    assert "rawhfl/quick/z4" in shown
    assert "osafl" not in shown
    for words, reason in (
        (("spec", "nothing"), "lists a family: fedcpsl"),
        (("link", "ideal"), "can only be used with `ls spec`"),
    ):
        refused = call("ls", *words).exception
        assert isinstance(refused, SpecError)
        assert reason in str(refused)
