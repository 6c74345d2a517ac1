"""All factories in one place."""

import pytest

from fedradio import parts
from fedradio.algorithms.fedavg import fedavg
from fedradio.core.registry import FAMILIES
from fedradio.core.registry import parts as registered
from fedradio.engine.rules import adam
from fedradio.parts import Family


def test_every_part_is_reached_by_family_and_kind() -> None:
    for part in registered():
        assert getattr(getattr(parts, part.family), part.kind) is part.factory
        assert part.kind in dir(getattr(parts, part.family))


def test_a_kind_of_one_family_is_reached_at_once() -> None:
    assert parts.fedavg is fedavg
    assert parts.rule.adam is adam
    assert {"fedavg", "digits", "rule"} <= set(dir(parts))
    assert "adam" not in dir(parts)
    assert all(getattr(parts, name) is not None for name in dir(parts))
    assert FAMILIES.keys().isdisjoint(part.kind for part in registered())  # else a family would hide a part


def test_words_that_lead_nowhere() -> None:
    with pytest.raises(AttributeError, match=r"parts.receiver.adam or parts.rule.adam"):
        parts.adam  # noqa: B018
    with pytest.raises(AttributeError, match="did you mean 'fedprox'"):
        parts.fedproxx  # noqa: B018
    with pytest.raises(AttributeError, match="no link 'fedavg'; `fedradio ls` lists all"):
        parts.link.fedavg  # noqa: B018
    assert not hasattr(parts, "__path__")


def test_a_family_tells_what_it_is() -> None:
    assert repr(Family("schedule")).startswith("schedule: the learning rate over time (constant, ")
