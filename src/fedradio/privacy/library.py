"""Whether the library ``cryptography`` is there: it belongs to an extra."""

from __future__ import annotations

from importlib import import_module

from fedradio.core.errors import Problem, SpecError

NEEDED = "cryptography.hazmat.primitives.hpke"
"""The youngest module that the protocol uses (RFC 9180); the library has it since version 47."""


def require_cryptography() -> None:
    """Refuse to go on without the library, or with one that is too old."""
    try:
        import_module(NEEDED)
    except ImportError:
        reason = "the library cryptography (version 47 or newer) is not installed"
        raise SpecError(Problem("protocol", reason, "pip install 'fedradio[protocol]'")) from None
