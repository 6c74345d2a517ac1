"""Data: sources of samples, their partition over clients, their arrival over time.

``catalog``, ``decode``, ``download`` and ``cache`` bring public data sets to this machine; ``sources`` turn them into
samples; ``partition`` splits these over clients; ``tapes`` puts each client's samples in order; ``streams`` are windows
on the tapes, ``growing`` and bounded ``fifo`` ones among them, from which ``draw`` takes mini-batches. ``video`` and
``video_files`` (its samples are in ``video_features``) are video services whose clients produce their own samples, by
the Markov chain of ``requests``. ``own`` reads your own data.
"""

from fedradio.data import fifo, growing, own, partition, sources, streams, tapes, video, video_files

__all__ = ["fifo", "growing", "own", "partition", "sources", "streams", "tapes", "video", "video_files"]
