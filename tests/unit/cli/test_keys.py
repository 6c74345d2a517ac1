"""The command ``keys``."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

pytest.importorskip("cryptography")

from fedradio.cli.keys import app
from fedradio.core.errors import StoreError


def test_it_says_what_goes_where(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, [str(tmp_path / "keys"), "--host", "localhost", "--nodes", "3"])
    assert done.exit_code == 0
    assert "give every device ca.crt and the key of its client, node-0.key to node-2.key" in done.output
    assert "fedradio serve SPEC --tls" in done.output
    again = CliRunner().invoke(app, [str(tmp_path / "keys"), "--host", "localhost", "--nodes", "3"])
    assert isinstance(again.exception, StoreError)
