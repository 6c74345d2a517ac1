"""Samples: where they come from, how they are split over clients, how they arrive.

``catalog``, ``decode``, ``fetch`` and ``store`` bring public data sets to this machine; ``sources`` make samples of
them; ``partition`` splits these over clients; ``tapes`` puts each client's samples in order; ``streams`` are windows on
the tapes, ``growing`` ones among them, from which ``draw`` takes mini-batches. ``video`` is a world in which clients
make their own samples, by the law of ``requests``.
"""

from fedradio.data import growing, partition, sources, streams, tapes, video

__all__ = ["growing", "partition", "sources", "streams", "tapes", "video"]
