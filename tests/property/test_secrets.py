"""No secret is ever shown: not in texts of objects, not in errors, not in logs, not in what the command prints."""

from __future__ import annotations

import base64
import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.commands import invoke

from fedradio.privacy.messages import Message
from fedradio.privacy.protocol import MadeFiles, Service, ask
from fedradio.privacy.refusals import Refused
from fedradio.privacy.secret import Secret
from fedradio.privacy.sums import Slot, cell
from fedradio.privacy.trials import TRIALS

MADE: list[Secret] = []
"""Every secret that a test has made."""


@pytest.fixture(autouse=True)
def _noted(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Write down every secret that is made."""
    init = Secret.__init__

    def noted(self: Secret, octets: bytes) -> None:
        init(self, octets)
        MADE.append(self)

    monkeypatch.setattr(Secret, "__init__", noted)
    yield
    MADE.clear()


def forms(secret: bytes) -> Iterator[str]:
    """How octets may turn up in a text: hexadecimal, base 64, numbers, Python's own form."""
    yield secret.hex()
    yield base64.b64encode(secret).decode()[:20]
    yield base64.urlsafe_b64encode(secret).decode()[:20]
    yield str(int.from_bytes(secret, "big"))
    yield repr(secret)[2:-1]
    yield str(list(secret))[1:-1]


def objects(root: Any, seen: set[int]) -> Iterator[Any]:
    """Everything that can be reached from an object through attributes and containers."""
    if id(root) in seen:
        return
    seen.add(id(root))
    yield root
    inner: list[Any] = []
    if isinstance(root, dict):
        inner = [*root.keys(), *root.values()]
    elif isinstance(root, (list, tuple, set)):
        inner = list(root)
    elif hasattr(root, "__dict__"):
        inner = list(vars(root).values())
    for each in inner:
        yield from objects(each, seen)


def private(service: Service) -> bytes:
    key = service.provider._private
    assert isinstance(key, X25519PrivateKey)
    return key.private_bytes_raw()


def shown(text: str, secrets: list[bytes]) -> bool:
    return any(form in text for secret in secrets for form in forms(secret))


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3), st.booleans()), min_size=1, max_size=5),
    st.booleans(),
)
def test_texts_of_parties_messages_and_views_show_no_secret(
    caplog: pytest.LogCaptureFixture, asked: list[tuple[int, int, bool]], tags_only: bool
) -> None:
    MADE.clear()
    with caplog.at_level(logging.DEBUG):
        service = Service.start([0, 0, 1], MadeFiles((0, 10, 200, 3000)), tags_only=tags_only)
        for client, content, rotate in asked:
            ask(service, client, content)
            if rotate:
                service.new_epoch()
    secrets = [private(service), *(secret.reveal() for secret in MADE)]
    assert len(secrets) >= 8
    own = [service, *objects(service, set())]
    parties = [each for each in own if type(each).__module__.startswith("fedradio")]
    assert any(isinstance(each, Message) for each in parties)
    text = "\n".join(f"{each!r} {each}" for each in parties) + caplog.text
    assert not shown(text, secrets)


def test_the_search_finds_a_secret_that_is_shown() -> None:
    secret = Secret.new()
    for form in forms(secret.reveal()):
        assert shown(f"a text with {form} in it", [secret.reveal()])
    assert not shown("a text without", [secret.reveal()])


@pytest.mark.parametrize("trial", TRIALS, ids=lambda trial: trial.what)
def test_errors_show_no_secret(trial: Any, caplog: pytest.LogCaptureFixture) -> None:
    from fedradio.privacy.trials import small_service

    service = small_service()
    text = ""
    with caplog.at_level(logging.DEBUG):
        try:
            trial.attempt(service)
        except Refused as error:
            text = f"{error!r} {error} {error.__dict__} {error.__cause__!r}"
    assert not shown(text + caplog.text, [private(service), *(secret.reveal() for secret in MADE)])


def test_sums_show_no_secret() -> None:
    import numpy as np

    members, edge = cell(range(4))
    reports = {member.number: member.report(np.full(3, 0.5), Slot(1)) for member in members[:3]}
    revealed = {member.number: member.reveal([3], Slot(1)) for member in members[:3]}
    edge.total(reports, Slot(1), revealed)
    text = repr([*members, edge, revealed, *(vars(member) for member in members)])
    assert not shown(text, [secret.reveal() for secret in MADE])


def test_the_command_prints_no_secret() -> None:
    printed = invoke("protocol", "--requests", "3", "--megabytes", "0.01")
    assert printed.exit_code == 0, printed.output
    written = invoke("protocol", "--requests", "3", "--megabytes", "0.01", "--json")
    json.loads(written.stdout)
    assert len(MADE) > 100
    assert not shown(printed.output + written.output, [secret.reveal() for secret in MADE])
