"""The live page: the page of a run or a sweep, served on this machine while it goes on, and updated without reload."""
