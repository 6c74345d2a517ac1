"""The command ``join``: options that belong together; a whole federation is in tests/federation."""

import pytest
from typer.testing import CliRunner

pytest.importorskip("flwr")

from fedradio.cli.join import app
from fedradio.core.errors import SpecError


@pytest.mark.parametrize(
    ("options", "path"),
    [
        ([], "--key"),
        (["--key", "k"], "--ca"),
        (["--insecure", "--key", "k"], "--insecure"),
    ],
)
def test_a_device_needs_its_key_and_the_certificate(options: list[str], path: str) -> None:
    done = CliRunner().invoke(app, ["127.0.0.1:9", "--client", "0", *options])
    assert isinstance(done.exception, SpecError)
    assert done.exception.problems[0].path == path


def test_an_address_is_a_host_and_a_port() -> None:
    done = CliRunner().invoke(app, ["nowhere", "--client", "0", "--insecure"])
    assert isinstance(done.exception, SpecError)
