"""Batches without real workers."""

import pytest
from support.batches import fake_workers


@pytest.fixture
def fakes(monkeypatch: pytest.MonkeyPatch) -> None:
    fake_workers(monkeypatch)
