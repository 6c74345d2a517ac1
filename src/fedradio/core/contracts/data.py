"""Contracts of data: samples, their order per client (tapes), their arrival (streams) and mini-batches."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol, runtime_checkable

import torch
from torch import Tensor

from fedradio.core import arrays
from fedradio.core.contracts.state import Slots
from fedradio.core.contracts.time import Clock
from fedradio.core.datasets import Keys, arrays_of
from fedradio.core.errors import DataError
from fedradio.core.rng import Rng

Fetch = Callable[[Tensor], tuple[Tensor, Tensor]]
"""Loads samples: sample numbers ``index`` of any shape to ``(x [*index, *shape], y [*index])``. Those of this package
are frozen dataclasses and can be sent to other processes."""


Law = Callable[[Tensor], Tensor]
"""True law of labels: sample numbers ``[n]`` to the probabilities ``[n, classes]``, float64 on the CPU, of their labels
given their features. Only yardsticks may look at it."""

Target = Literal["class", "value"]
"""What is predicted of a sample: its class, or a real value."""

TRIALS = 64
"""Samples of tapes that are looked at before a run."""


@runtime_checkable
class Repeats(Protocol):
    """What a :data:`Fetch` of inputs that repeat may offer besides: equal inputs then go through a model once.

    Example:

        >>> from fedradio import Repeats, build, load_spec
        >>> isinstance(build(load_spec("digits_flat")).stream.test().fetch, Repeats)
        False
    """

    def key(self, index: Tensor) -> Tensor:
        """Key of every sample's input, int64 ``[*index]``; equal keys: the inputs are equal bit for bit."""
        ...

    def labels(self, index: Tensor) -> Tensor:
        """Labels ``y [*index]`` alone."""
        ...


@runtime_checkable
class Spanned(Repeats, Protocol):
    """A :data:`Fetch` of inputs that span few dimensions: ``x = c Q``, flattened, with orthonormal rows ``Q``.

    Example:

        >>> from fedradio import Spanned, build, load_spec
        >>> isinstance(build(load_spec("digits_flat")).stream.test().fetch, Spanned)
        False
    """

    @property
    def rank(self) -> int:
        """Rows ``r`` of the basis."""
        ...

    def basis(self) -> Tensor:
        """``Q [r, D]``, float64."""
        ...

    def coordinates(self, index: Tensor) -> Tensor:
        """Coordinates ``c [*index, r]`` of the samples' inputs, float64."""
        ...


@dataclass(frozen=True)
class Scale:
    """Standardisation of 8-bit images, float32: ``(x/255 - mean) / std``.

    Every value is computed by itself, so a batch has the bits of the whole set.
    """

    mean: float
    std: float

    def __call__(self, x: Tensor) -> Tensor:
        """Standardised float32 values of pixels ``x`` of any shape, uint8."""
        return x.float().div_(255).sub_(self.mean).div_(self.std)


@dataclass(frozen=True)
class Samples:
    """A standardised, labelled data set: ``x [n, *shape]`` float32, ``y [n]`` int64, and its test split. Where values
    are predicted, ``y`` is float32 and ``classes`` 1.

    With a ``scale``, ``x`` and ``test_x`` are the uint8 pixels of images, a quarter of the memory; every mini-batch is
    standardised when it is fetched. :meth:`from_arrays` and :meth:`from_dataset` make samples of what people have, and
    check them.
    """

    x: Tensor
    y: Tensor
    test_x: Tensor
    test_y: Tensor
    classes: int
    sample_bits: float
    scale: Scale | None = None

    @classmethod
    def from_arrays(
        cls,
        x: Any,
        y: Any,
        *,
        test_x: Any = None,
        test_y: Any = None,
        test_fraction: float = 0.2,
        rng: Rng | None = None,
        classes: int | None = None,
        relabel: bool = False,
        standardise: bool = False,
        ids: bool = False,
        sample_bits: float | None = None,
        target: Target = "class",
    ) -> Samples:
        """Samples of arrays of numpy, torch or pandas, or of lists; a :class:`DataError` names what is wrong with them.

        Inputs ``x [n, *shape]`` become float32, int64 where they are ``ids``. Labels ``y [n]`` are whole numbers from
        0; words, and with ``relabel`` any labels, are numbered in sorted order. Where there is no test part,
        ``test_fraction`` of every class becomes it, drawn from ``rng`` (default: of seed 0); 0 leaves it empty, for
        tests on the clients' own samples. ``standardise``: mean 0 and deviation 1 of every column of a table, every
        channel of images ``[n, channels, height, width]``. ``sample_bits``: by default 8 a value of one byte, else 32.
        With ``target`` "value", ``y`` are real numbers as they are, and the test part is drawn from all samples.
        """
        if (test_x is None) != (test_y is None):
            raise DataError("test_x and test_y belong together: one is missing")
        if sample_bits is not None and not sample_bits > 0:
            raise DataError(f"sample_bits must be above 0, but is {sample_bits}")
        kept = arrays.as_array(x, "x")
        inputs = arrays.features(kept, "x", ids)
        given = {"y": y} if test_y is None else {"y": y, "test_y": test_y}
        if target == "value":
            if relabel or classes is not None:
                raise DataError("classes and relabel are for labels: leave them out where values are predicted")
            found, classes = arrays.values(given), 1
        else:
            found, classes = arrays.labels(given, classes, relabel)
        outputs = found["y"]
        arrays.check_arrays(inputs, outputs, classes)
        if test_x is not None:
            test_inputs, test_outputs = arrays.features(test_x, "test_x", ids), found["test_y"]
            if test_inputs.shape[1:] != inputs.shape[1:]:
                shapes = f"{tuple(test_inputs.shape[1:])}, but those of x {tuple(inputs.shape[1:])}"
                raise DataError(f"samples of test_x have shape {shapes}")
            arrays.check_arrays(test_inputs, test_outputs, classes, "test_")
        else:
            chosen = arrays.drawn_test(outputs, test_fraction, (rng or Rng(0)).child("split"))
            test_inputs, test_outputs = inputs[chosen], outputs[chosen]
            inputs, outputs = inputs[~chosen], outputs[~chosen]
        if standardise and not ids:
            inputs, test_inputs = arrays.standardised(inputs, test_inputs)
        return cls(inputs, outputs, test_inputs, test_outputs, int(classes), sample_bits or arrays.sample_bits(kept))

    @classmethod
    def from_dataset(cls, train: Any, test: Any = None, *, keys: Keys | None = None, **options: Any) -> Samples:
        """Samples of data sets of other libraries, such as torchvision's or Hugging Face's: objects with a length and
        numbered items, which are pairs (input, label) or mappings with these ``keys``.

        Pictures become ``[channels, height, width]`` from 0 to 1. ``options`` are those of :meth:`from_arrays`. All
        items are read into memory.
        """
        x, y = arrays_of(train, "train", keys)
        if test is not None:
            options["test_x"], options["test_y"] = arrays_of(test, "test", keys)
        return cls.from_arrays(x, y, **options)

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.x.shape[1:])

    def check(self) -> None:
        """Refuse samples that no model can learn from, however they were made."""
        pixels = self.scale is not None
        arrays.check_arrays(self.x, self.y, self.classes, pixels=pixels)
        arrays.check_arrays(self.test_x, self.test_y, self.classes, "test_", pixels=pixels)
        if len(self.x) == 0:
            raise DataError("x has no samples")

    def to(self, device: torch.device | str) -> Samples:
        return replace(
            self,
            x=self.x.to(device),
            y=self.y.to(device),
            test_x=self.test_x.to(device),
            test_y=self.test_y.to(device),
        )


@dataclass(frozen=True)
class TestSet:
    """Test or validation samples: ``index [n]`` sorted by evaluation ``group [n]``; with ``per_client`` group ``g`` is
    client ``g``."""

    __test__ = False  # the name begins like a test class; pytest must not collect it

    index: Tensor
    group: Tensor
    groups: int
    per_client: bool
    fetch: Fetch

    def bounds(self) -> list[tuple[int, int]]:
        """Half-open range ``(first, end)`` of every group's samples."""
        ends = torch.bincount(self.group.cpu(), minlength=self.groups).cumsum(0).tolist()
        return list(zip([0, *ends[:-1]], ends, strict=True))

    def to(self, device: torch.device | str) -> TestSet:
        fetch = _onto(self.fetch, self.index.device, device)
        return replace(self, index=self.index.to(device), group=self.group.to(device), fetch=fetch)


@dataclass(frozen=True)
class Tapes:
    """Every client's samples of the whole run in order of arrival, one tape per client. A stream is a window on them.

    ``index [n]`` are sample numbers for ``fetch``, client ``c`` owning ``offset[c]:offset[c+1]``; ``label [n]`` are
    their labels, which a client knows where ``labelled [n]``. ``reference`` holds accuracies that need no training;
    ``validation`` labelled samples of every client that it never trains on, where the spec asks for them; ``law`` is
    that of the labels, where samples are requests and the source knows it.
    """

    index: Tensor
    offset: Tensor
    label: Tensor
    labelled: Tensor
    fetch: Fetch
    test: TestSet
    shape: tuple[int, ...]
    classes: int
    sample_bits: float
    reference: Mapping[str, float] = field(default_factory=dict)
    validation: TestSet | None = None
    law: Law | None = None

    @property
    def clients(self) -> int:
        return len(self.offset) - 1

    @property
    def target(self) -> Target:
        """What is predicted of a sample."""
        return "value" if self.label.is_floating_point() else "class"

    @property
    def class_numbers(self) -> Tensor:
        """Labels ``[n]`` as numbers of classes; samples with values are of one class, 0."""
        return torch.zeros_like(self.label, dtype=torch.long) if self.target == "value" else self.label

    def check(self) -> None:
        """Refuse tapes whose first samples no model can learn from: one of each of some clients, and some for tests."""
        size = self.offset.diff()
        if len(self.offset) < 2 or int(size.min()) < 1:
            raise DataError(f"the tape of client {int(size.argmin()) if len(size) else 0} is empty")
        for name, index in (("", self.index[self.offset[:-1]][:TRIALS]), ("test_", self.test.index[:TRIALS])):
            x, y = (self.fetch if name == "" else self.test.fetch)(index)
            arrays.check_arrays(x, y, self.classes, name)
            if tuple(x.shape[1:]) != self.shape:
                raise DataError(f"samples of {name}x have shape {tuple(x.shape[1:])}, but the tapes say {self.shape}")

    def to(self, device: torch.device | str) -> Tapes:
        """The same tapes with indices and fetched samples on another device; the data set itself stays where it is."""
        if torch.device(device) == self.index.device:
            return self
        return replace(
            self,
            index=self.index.to(device),
            offset=self.offset.to(device),
            label=self.label.to(device),
            labelled=self.labelled.to(device),
            fetch=_onto(self.fetch, self.index.device, device),
            test=self.test.to(device),
            validation=None if self.validation is None else self.validation.to(device),
        )


@dataclass(frozen=True)
class _Onto:
    """A :data:`Fetch` that gathers samples on their ``home`` device and copies them to ``device``."""

    fetch: Fetch
    home: torch.device
    device: torch.device | str

    def __call__(self, index: Tensor) -> tuple[Tensor, Tensor]:
        x, y = self.fetch(index.to(self.home))
        return x.to(self.device), y.to(self.device)


@dataclass(frozen=True)
class _RepeatsOnto(_Onto):
    """The same of inputs that repeat; keys and labels are copied too."""

    def key(self, index: Tensor) -> Tensor:
        assert isinstance(self.fetch, Repeats)
        return self.fetch.key(index.to(self.home)).to(self.device)

    def labels(self, index: Tensor) -> Tensor:
        assert isinstance(self.fetch, Repeats)
        return self.fetch.labels(index.to(self.home)).to(self.device)


def _onto(fetch: Fetch, home: torch.device, device: torch.device | str) -> Fetch:
    return (_RepeatsOnto if isinstance(fetch, Repeats) else _Onto)(fetch, home, device)


@dataclass(frozen=True)
class Picks:
    """Padded mini-batches: sample numbers ``index [A, T, B]``, the first ``count [A, T]`` of each batch being real."""

    index: Tensor
    count: Tensor


@dataclass(frozen=True)
class Batches:
    """Labelled mini-batches of a cohort, unlabelled ones where the loss uses them, and their :data:`Fetch`."""

    labelled: Picks
    unlabelled: Picks | None
    fetch: Fetch


class Stream(Protocol):
    """The clients' data sets over time: a moving window ``[lo, hi)`` on every tape.

    Static, growing and first-in-first-out streams differ only in the rule that moves the window.

    Example:

        >>> from fedradio import build, load_spec
        >>> stream = build(load_spec("digits_flat")).stream
        >>> state = stream.start()
        >>> stream.clients, stream.shape, int(stream.stats(state)["samples"].sum())
        (20, (1, 8, 8), 1438)
    """

    @property
    def clients(self) -> int: ...

    @property
    def shape(self) -> tuple[int, ...]: ...

    @property
    def classes(self) -> int: ...

    @property
    def target(self) -> Target:
        """What is predicted of a sample; values have one class."""
        return "class"

    @property
    def sample_bits(self) -> float: ...

    def start(self) -> Slots: ...

    def lasts(self, rounds: int, exchanges: int = 1) -> str:
        """Why the tapes may be too short for ``rounds`` rounds of ``exchanges`` edge rounds; empty if they suffice."""
        ...

    def arrive(self, state: Slots, clock: Clock, rng: Rng) -> Slots:
        """The state after the samples that arrive before this edge round."""
        ...

    def stats(self, state: Slots) -> Slots:
        """Statistics of the clients' present data: ``samples [C]``, ``labelled [C]``, ``label_counts [C, classes]`` and
        ``seen [C]``.

        ``seen`` counts all samples that a client has had so far, those of the start included; it never falls, and a
        sample that arrives again counts again.
        """
        ...

    def draw(
        self, state: Slots, clients: Tensor, updates: Tensor, batch: int, rng: Rng, unlabelled_batch: int = 0
    ) -> Batches:
        """Mini-batches for ``clients [A]``, epoch after shuffled epoch, ``updates [A]`` of them each.

        A client's picks depend neither on who else is active nor, as a prefix, on its number of updates.
        """
        ...

    def test(self) -> TestSet: ...

    def validation(self) -> TestSet | None:
        """Labelled samples that every client keeps out of its training; None where the spec asks for none."""
        ...

    def reference(self, state: Slots) -> dict[str, float]:
        """Accuracies that need no training (``bayes``, ``top_popular``), where the source knows them."""
        ...


@runtime_checkable
class RequestStream(Protocol):
    """What a :class:`Stream` of requests may offer besides, for caches: a sample is a client's present state and its
    next request, which is its label.

    ``law`` is that of the labels, None where samples are no requests; ``fetch`` loads samples; ``request_rate [C]`` is
    each client's probability to use a slot.

    Example:

        >>> from fedradio import RequestStream, build, load_spec
        >>> isinstance(build(load_spec("rawhfl_cache")).stream, RequestStream)
        True
    """

    @property
    def law(self) -> Law | None: ...

    @property
    def fetch(self) -> Fetch: ...

    @property
    def request_rate(self) -> Tensor: ...

    def chances_at(self, clock: Clock) -> Tensor:
        """Slots ``[C]`` in which each client may request before this edge round."""
        ...

    def ahead(self, state: Slots) -> Tensor:
        """Number ``[C]`` of the sample that each client meets next, -1 at the end of its tape. Its features are the
        client's present state, its label the next request."""
        ...

    def asked(self, before: Slots, after: Slots) -> list[Tensor]:
        """Numbers of the samples that arrived between two states, per client, in order."""
        ...
