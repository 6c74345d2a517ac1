"""Commands called in this process."""

import pytest
from support.commands import Call, invoke


@pytest.fixture
def call() -> Call:
    """``call("ls", "spec")``: what the command printed, its exit code, and the error that ``main`` would show."""
    return invoke
