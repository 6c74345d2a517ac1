"""Receiver rules: server optimisers of any tier."""

from fedradio.receivers import adaptive, momentum

__all__ = ["adaptive", "momentum"]
