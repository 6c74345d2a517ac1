"""fedradio: a fast simulator of federated learning over wireless edge networks."""

from fedradio._version import __version__

__all__ = ["__version__"]
