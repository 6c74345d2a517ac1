"""Styles of algorithms: complete, distinct also for colour-blind readers, visible on light and dark pages."""

from itertools import combinations

import numpy as np
import pytest

import fedradio
from fedradio.core.registry import parts
from fedradio.report.style import DASHES, LOOKS, SPARE, STYLES, Style, luminance, plotly_dash, style, styles
from fedradio.results.variants import Variant

assert fedradio.__version__  # importing the package registers its algorithms

# How dichromats see linear RGB (Machado, Oliveira and Fernandes 2009, severity 1), and the identity.
VISIONS = {
    "normal": np.eye(3),
    "protan": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "deutan": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
    "tritan": np.array(
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]
    ),
}
# Oklab (Ottosson 2020): linear RGB to cone responses, and their cube roots to lightness and two opponent colours.
CONES = np.array([[0.41222, 0.53633, 0.05145], [0.21190, 0.68070, 0.10740], [0.08830, 0.28172, 0.62998]])
OPPONENTS = np.array([[0.21045, 0.79362, -0.00407], [1.97800, -2.42859, 0.45059], [0.02590, 0.78277, -0.80868]])
DARK, WHITE = "#1E1E1E", "#FFFFFF"


def seen(colour: str, vision: str) -> np.ndarray:
    rgb = np.array([int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)])
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    return 100 * OPPONENTS @ np.cbrt(CONES @ np.clip(VISIONS[vision] @ linear, 0, 1))


def distance(one: str, other: str) -> float:
    """Smallest distance under any vision; black and white are 100 apart, about 2 can just be told apart."""
    return min(float(np.linalg.norm(seen(one, vision) - seen(other, vision))) for vision in VISIONS)


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def variant(algorithm: str, label: str = "") -> Variant:
    return Variant(label or algorithm, algorithm, {})


def test_luminance_of_known_colours() -> None:
    assert luminance(WHITE) == pytest.approx(1)
    assert luminance("#000000") == 0
    assert luminance("#777777") == pytest.approx(0.1845, abs=1e-4)
    assert contrast(WHITE, "#777777") == pytest.approx(4.48, abs=0.01)


def test_every_registered_algorithm_has_a_style_of_its_own() -> None:
    kinds = {part.kind for part in parts("algorithm") if part.factory.__module__.startswith("fedradio.")}
    assert kinds == set(STYLES)
    assert len({one.colour for one in STYLES.values()}) == len(STYLES)
    assert len({one.marker for one in STYLES.values()}) == len(STYLES)


def test_the_commonest_are_told_apart_by_colour_alone() -> None:
    first = [STYLES[name].colour for name in ("fedavg", "fedprox", "fednova", "scaffold", "osafl", "fedcpsl")]
    assert min(distance(*pair) for pair in combinations(first, 2)) > 7
    assert min(distance(one, STYLES["central"].colour) for one in first) > 7


def test_all_are_told_apart_by_every_reader() -> None:
    for (a, one), (b, other) in combinations(STYLES.items(), 2):
        near = distance(one.colour, other.colour)
        assert near > 5, (a, b)
        assert near > 7 or one.dash != other.dash, (a, b)


@pytest.mark.parametrize("colour", [*(one.colour for one in STYLES.values()), *SPARE])
def test_colours_are_seen_on_light_and_dark_pages(colour: str) -> None:
    assert contrast(colour, WHITE) > 2.2
    assert contrast(colour, DARK) > 2.2


def test_unknown_algorithms_keep_a_style_that_no_known_one_has() -> None:
    assert style("mine") == Style("#8A7A00", style("mine").dash, style("mine").marker)
    assert style("mine") == style("mine")
    assert all(style(f"plugin{n}").colour in SPARE for n in range(50))
    assert len({style(f"plugin{n}") for n in range(50)}) > 40
    assert set(SPARE).isdisjoint(one.colour for one in STYLES.values())


def test_the_first_variant_of_an_algorithm_has_its_style_and_the_others_vary_it() -> None:
    found = styles([variant("fedavg", "a"), variant("fedprox"), variant("fedavg", "b"), variant("fedavg", "c")])
    assert found[0] == style("fedavg")
    assert found[1] == style("fedprox")
    family = [found[0], found[2], found[3]]
    for name in ("colour", "dash", "marker"):
        assert len({getattr(one, name) for one in family}) == 3


@pytest.mark.parametrize("algorithm", [*STYLES, "mine"])
def test_many_variants_of_one_algorithm_are_all_different_and_visible(algorithm: str) -> None:
    found = styles([variant(algorithm, str(n)) for n in range(LOOKS + 1)])
    assert len(set(found)) == LOOKS > 60
    assert min(min(contrast(one.colour, WHITE), contrast(one.colour, DARK)) for one in found) > 1.7


def test_for_plotly() -> None:
    assert plotly_dash((), 2) == "solid"
    assert plotly_dash(DASHES[1], 2) == "14px,4px"
