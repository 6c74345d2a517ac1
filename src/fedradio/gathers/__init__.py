"""When receivers merge the updates of clients."""

from fedradio.gathers import all as all

__all__ = ["all"]
