"""What the abstracts of the papers claim, in our words: the sentences that claims of items are evidence for."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from importlib import resources

from fedradio.papers.form import Text
from fedradio.spec.strict import Strict
from fedradio.spec.yaml import parse_yaml

FILE = "published/abstracts.yaml"


class Sentence(Strict):
    """A sentence of an abstract. ``fleets``: what becomes of it on devices with floors; ``untested``: why no claim is
    about it."""

    says: Text
    fleets: Text | None = None
    untested: Text | None = None


@functools.cache
def abstracts() -> Mapping[str, Mapping[str, Sentence]]:
    """The sentences of every paper by their key."""
    plain = parse_yaml((resources.files("fedradio") / FILE).read_text(encoding="utf-8"), FILE)
    return {
        paper: {key: Sentence.model_validate(sentence) for key, sentence in sentences.items()}
        for paper, sentences in plain.items()
    }
