"""Every part of a spec with its values, units and meaning."""

from collections.abc import Callable

from support.pages import Outline

from fedradio.core.registry import part
from fedradio.report.page.html import Html
from fedradio.report.page.sections.settings import settings
from fedradio.spec.description import describe
from fedradio.spec.spec import Spec


def shown(spec: Spec) -> Html:
    """The section of a spec whose description was stored with it."""
    return settings(spec.plain, describe(spec))


def test_hops_are_named_by_what_they_join(tiny: Callable[..., Spec], cells: Callable[..., Spec]) -> None:
    assert "Hop 0, clients to server" in shown(tiny())
    text = shown(cells())
    assert "Hop 0, clients to edges" in text
    assert "Hop 1, edges to server" in text


def test_values_have_units_and_meanings(cells: Callable[..., Spec]) -> None:
    text = shown(cells("hops.0.deadline_s=90", "hops.0.link={kind: digital, erasure: 0.25}"))
    assert "1 min 30 s" in text
    assert "<td>Hz</td>" in text
    assert "probability that a payload sent in time is lost" in text
    assert "0.25" in text


def test_lists_of_parts_are_shown_one_by_one(tiny: Callable[..., Spec]) -> None:
    text = shown(tiny("metrics=[macro_f1, {kind: calibration, bins: 7}]"))
    assert text.index("<strong>macro_f1</strong>") < text.index("<strong>calibration</strong>")
    assert "number of equal-width bins of the confidence" in text
    assert "<strong>metrics</strong>" not in text
    assert "<strong>metrics</strong>" in shown(tiny())


def test_parts_that_are_not_there_say_so(tiny: Callable[..., Spec]) -> None:
    assert "none; the time and energy of computing and sending are undefined" in shown(tiny())


def test_parts_of_other_versions_are_shown_as_they_are(tiny: Callable[..., Spec]) -> None:
    text = shown(Spec(tiny().plain | {"algorithm": {"kind": "elsewhere", "strength": 7}}))
    assert "elsewhere" in text
    assert "strength" in text
    assert len(Outline(text).names("details")) == 4


def test_without_a_description_values_are_shown_without_meanings(tiny: Callable[..., Spec]) -> None:
    text = settings(tiny().plain, {})
    assert "sgd" in text
    (meaning,) = [parameter.arg.doc for parameter in part("rule", "sgd").parameters() if parameter.name == "batch"]
    assert meaning not in text
    assert meaning in shown(tiny())
