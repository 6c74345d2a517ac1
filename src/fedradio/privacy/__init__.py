"""The privacy protocol of RawHFL's Fig. 2 with real cryptography, masked sums, and attacks on what remains visible.

Needs the extra ``protocol`` (the library ``cryptography``), all but ``attack``, ``leaks``, ``padding`` and ``library``.
"""
