"""The command ``serve``: what it refuses, and the app that it writes; a whole federation is in tests/federation."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

pytest.importorskip("flwr")

from fedradio.cli.serve import app
from fedradio.core.errors import SpecError


def test_without_tls_only_on_this_machine(tmp_path: Path) -> None:
    for options in ([], ["--insecure", "--bind", "0.0.0.0"]):
        done = CliRunner().invoke(app, ["demo", "--out", str(tmp_path / "run"), *options])
        assert isinstance(done.exception, SpecError)
    assert not (tmp_path / "run").exists()


def test_an_app_for_a_superlink_of_ones_own(tmp_path: Path) -> None:
    given = ["topology=flat", "hops=[{policy: {kind: fixed, steps: 2}}]", "--app", str(tmp_path / "app")]
    done = CliRunner().invoke(app, ["demo", *given])
    assert done.exit_code == 0, done.exception
    assert "flwr run" in done.output
    assert (tmp_path / "app" / "pyproject.toml").is_file()
