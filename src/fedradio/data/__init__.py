"""Samples: where they come from, how they are split over clients, how they arrive.

``catalog``, ``decode``, ``fetch`` and ``store`` bring public data sets to this machine; ``sources`` make samples of
them; ``partition`` splits these over clients; ``tapes`` puts each client's samples in order; ``streams`` are windows on
the tapes, ``growing`` and bounded ``fifo`` ones among them, from which ``draw`` takes mini-batches. ``video`` and
``video_files`` (its samples are in ``video_features``) are worlds in which clients make their own samples, by the law
of ``requests``.
"""

from fedradio.data import fifo, growing, partition, sources, streams, tapes, video, video_files

__all__ = ["fifo", "growing", "partition", "sources", "streams", "tapes", "video", "video_files"]
