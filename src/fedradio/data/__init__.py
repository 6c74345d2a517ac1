"""Samples: where they come from, how they are split over clients, how they arrive.

``catalog``, ``decode``, ``fetch`` and ``store`` bring public data sets to this machine; ``sources`` make samples of
them; ``partition`` splits these over clients; ``tapes`` puts each client's samples in order; ``streams`` are windows on
the tapes, from which ``draw`` takes mini-batches.
"""

from fedradio.data import partition, sources, streams, tapes

__all__ = ["partition", "sources", "streams", "tapes"]
