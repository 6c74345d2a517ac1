"""The live page: the page of a run or sweep, served on this machine and updated without reloading."""
