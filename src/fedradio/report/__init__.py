"""Presentation of runs and results: terminal, figures and HTML pages."""
