"""``python -m fedradio``."""

from fedradio.cli import main

main()
