"""The base of all data files of published items."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from fedradio.papers.form import Key, Text
from fedradio.spec.strict import Strict


class Named(Strict):
    key: Key
    text: Text = "something"


@pytest.mark.parametrize("plain", [{"key": "Not a key"}, {"key": "a", "text": ""}, {"key": "a", "more": 1}, {"key": 1}])
def test_what_does_not_fit_is_refused(plain: dict[str, object]) -> None:
    assert Named.model_validate({"key": "a_1"}).text == "something"
    with pytest.raises(ValidationError):
        Named.model_validate(plain)
