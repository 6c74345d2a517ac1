"""Transforms of payloads: clipping, noise, quantisation, sparsification, error feedback."""

from fedradio.transforms import clip, feedback, noise, quantise, sparsify

__all__ = ["clip", "feedback", "noise", "quantise", "sparsify"]
