"""Charts of runs as plain data: what is drawn, a sentence on it, and its numbers.

The page (plotly) and ``fedradio figures`` (matplotlib) draw the same charts. May import ``results`` and everything
below, but neither plotly nor matplotlib. Start with :mod:`fedradio.report.charts.chart`.
"""
