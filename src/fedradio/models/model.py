"""Flat models: any torch network as one row ``[D] = [shared d | local trainable | buffers]``."""

from __future__ import annotations

import copy
import hashlib
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, Literal, get_args

import torch
from torch import Tensor, nn
from torch.func import functional_call

from fedradio.core.errors import Problem, SpecError
from fedradio.core.params import Layout
from fedradio.core.rng import Rng
from fedradio.models.checks import check_module, check_size, trial
from fedradio.models.dropout import seed_dropout
from fedradio.models.own import check_given, copied, named_failure
from fedradio.models.redraw import cannot_be_redrawn, redrawn

NORMS = (nn.modules.batchnorm._NormBase, nn.GroupNorm, nn.LayerNorm, nn.RMSNorm)
"""Norm layers, whose affine parameters never enter a payload."""


Norms = Literal["local", "shared"]
"""Whether norm layers stay with the client, or are averaged on a side channel."""


Start = Literal["redrawn", "given"]
"""Whether start values are drawn from the run's seed, or taken as they are."""


@dataclass(frozen=True)
class GivenStart:
    """Start values that are not drawn from the run's seed: their SHA-256, and why they are taken as they were given."""

    sha256: str
    reason: str


class FlatModel:
    """A torch network and the place of each of its tensors in the row.

    ``shared``: every parameter that is sent; ``local``: scale and offset of norm layers; ``buffers``: the
    floating-point buffers (running statistics). Offsets of each layout count from the start of its own part. Tied
    parameters appear once. Integer buffers (``num_batches_tracked``) and frozen parameters are not part of the row.
    ``given_sha256`` is the checksum of values that no spec tells, frozen ones and given start values; None without any.
    ``personal``: names of parameters that are each client's own, see :meth:`personalised`; they are ``local`` too.
    ``own``: the module is the user's, and is tried on real samples before a run. ``given_start`` says that start values
    are those of the module, and why; None where they are drawn.
    """

    def __init__(
        self,
        module: nn.Module,
        shape: Sequence[int],
        classes: int,
        initial: Callable[[FlatModel, Rng], Tensor],
        norms: Norms = "local",
        given_sha256: str | None = None,
        own: bool = False,
        given_start: GivenStart | None = None,
    ) -> None:
        self.module = module
        self.given_sha256 = given_sha256
        self.own = own
        self.given_start = given_start
        self.norms = norms
        self.shape = tuple(shape)
        self.classes = classes
        self.shared, self.local, self.buffers = layouts(module)
        self.personal: frozenset[str] = frozenset()
        self._row = _join(self.shared, self.local, self.buffers)
        self._initial = initial
        self._copies = threading.local()

    def __getstate__(self) -> dict[str, Any]:
        """All but the threads' copies of the module, which another process makes for itself."""
        return {name: value for name, value in vars(self).items() if name != "_copies"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _copies=threading.local())

    def personalised(self, globs: Sequence[str]) -> FlatModel:
        """The same network whose parameters of these names, such as ``fc2.*``, train and never travel: they belong to
        the ``local`` part of a row, before norm layers. Those of the ``personal`` names are each client's own."""
        names = [field.name for field in self.shared.fields]
        chosen = [name for name in names if any(fnmatchcase(name, glob) for glob in globs)]
        problems = []
        for number, glob in enumerate(globs):
            if not any(fnmatchcase(name, glob) for name in names):
                reason = "no parameter has such a name"
                problems.append(Problem(f"personal.{number}", reason, f"such as {', '.join(names[-4:])}", glob))
        if len(chosen) == len(names):
            reason = "every parameter would be personal, so that nothing is left to send"
            problems.append(Problem("personal", reason, "leave some parameters out"))
        if self.norms == "shared" and self.local.size + self.buffers.size:
            reason = "norm layers are sent with norms: shared, but personal parameters are not"
            problems.append(Problem("personal", reason, "set model.norms=local, or use a model without norm layers"))
        if problems:
            raise SpecError(problems)
        fields = {field.name: field.shape for field in self.shared.fields}
        model = copy.copy(self)
        model.norms, model.personal = "local", frozenset(chosen)
        model.shared = Layout.of({name: shape for name, shape in fields.items() if name not in model.personal})
        model.local = _join(Layout.of({name: fields[name] for name in chosen}), self.local)
        model._row = _join(model.shared, model.local, model.buffers)
        model._initial = _Reordered(self)
        return model

    def described(self) -> dict[str, Any]:
        """What it is made of: the network, and the values that no seed draws. Those of networks of this package are all
        drawn."""
        fixed = _fixed(self.module) if self.own else []
        personal = {"personal": sorted(self.personal)} if self.personal else {}
        return personal | {
            "network": repr(self.module),
            "layers": list(dict.fromkeys(type(layer) for layer in self.module.modules())),
            "shape": self.shape,
            "classes": self.classes,
            "norms": self.norms,
            "shared": self.shared.size,
            "start": self._initial,
            "fixed": fixed,
        }

    @property
    def frozen(self) -> int:
        """How many numbers are frozen: they neither train nor travel."""
        return sum(p.numel() for p in self.module.parameters() if not p.requires_grad)

    @property
    def size(self) -> int:
        """``D``, the length of the whole row."""
        return self._row.size

    def views(self, row: Tensor) -> dict[str, Tensor]:
        """The tensors of a row ``[D]`` by their names in the module, as views."""
        return self._row.views(row)

    def init(self, rng: Rng) -> Tensor:
        """Initial row ``[D]``, float32 on the CPU; depends on ``rng`` alone."""
        return self._initial(self, rng)

    def apply(self, row: Tensor, x: Tensor) -> Tensor:
        """Logits ``[n, classes]`` of ``x [n, *shape]`` in evaluation mode, on the row's device; safe from threads."""
        module = self._copy(row.device)
        x = as_input(x, row.dtype, self._copies.channels_last)
        with torch.no_grad(), named_failure(self.own, self.module, x, "evaluation"):
            logits: Tensor = functional_call(module, self.views(row), (x,))
            if self.own and logits.shape != (len(x), self.classes):
                raise ValueError(f"gives outputs of shape {tuple(logits.shape)}, not {(len(x), self.classes)}")
        return logits

    def _copy(self, device: torch.device) -> nn.Module:
        """This thread's copy of the module: ``functional_call`` swaps parameters in place and must not be shared."""
        module: nn.Module | None = getattr(self._copies, "module", None)
        if module is None or self._copies.device != device:
            module = copy.deepcopy(self.module).to(device).eval()
            self._copies.module, self._copies.device = module, device
            self._copies.channels_last = prefers_channels_last(self.module, self.shape)
        return module


def wrap(
    module: nn.Module,
    shape: Sequence[int],
    classes: int,
    norms: Norms = "shared",
    start: Start = "redrawn",
) -> FlatModel:
    """Flat model of any torch classifier ``x [n, *shape] -> logits [n, classes]``.

    The module is copied. Its start values are ``redrawn`` from the run's seed, layer by layer; ``given`` values, such
    as pretrained ones, and those of a module that cannot be filled anew are taken as they are, and runs keep their
    checksum. Frozen parameters neither train nor travel. Norm layers are averaged on their side channel, or stay
    ``local``. ``nn.Dropout`` draws from the run's generators; a module that is random in any other way, lazy or of
    another output shape is refused. Inputs may be floating point or integers (ids).
    """
    check_given(module, shape, classes, {"norms": (norms, get_args(Norms)), "start": (start, get_args(Start))})
    shape = tuple(shape)
    check_size(sum(p.numel() for p in module.parameters() if not isinstance(p, nn.UninitializedParameter)))
    check_module(module)
    module = seed_dropout(copied(module)).cpu().float()
    trial(module, shape, classes)
    reason = 'asked for by start="given"' if start == "given" else cannot_be_redrawn(module)
    if reason is None:
        return FlatModel(module, shape, classes, _redrawn_row, norms, _checksum(_fixed(module)), own=True)
    row = row_of(module)
    given = GivenStart(_checksum([row]) or "", reason)
    return FlatModel(module, shape, classes, _Given(row), norms, _checksum([*_fixed(module), row]), True, given)


def row_of(module: nn.Module) -> Tensor:
    """The values of a module as a row ``[D]``."""
    return torch.cat([t.detach().reshape(-1) for part in _tensors(module) for t in part.values()] or [torch.zeros(0)])


def _redrawn_row(model: FlatModel, rng: Rng) -> Tensor:
    """Initial row ``[D]`` of a module of the user's own, drawn anew."""
    return row_of(redrawn(model.module, rng))


def _frozen(module: nn.Module) -> list[Tensor]:
    return [p.detach() for p in module.parameters() if not p.requires_grad]


def _fixed(module: nn.Module) -> list[Tensor]:
    """Values of a module of the user's own that no seed draws: frozen parameters, and buffers beside norm layers."""
    layers = [layer for layer in module.modules() if not isinstance(layer, NORMS)]
    return [*_frozen(module), *(buffer for layer in layers for buffer in layer.buffers(recurse=False))]


def _checksum(values: Sequence[Tensor]) -> str | None:
    """SHA-256 of values that no spec tells; None without any."""
    digest = hashlib.sha256()
    for tensor in values:
        digest.update(tensor.detach().contiguous().numpy().tobytes())
    return digest.hexdigest() if values else None


@dataclass(frozen=True)
class _Given:
    """Initialisation with a given row ``[D]``."""

    row: Tensor

    def __call__(self, model: FlatModel, rng: Rng) -> Tensor:
        return self.row.clone()


@dataclass(frozen=True)
class _Reordered:
    """Initialisation of a model with personal parameters: the values of the ``base`` in the order of its own row."""

    base: FlatModel

    def __call__(self, model: FlatModel, rng: Rng) -> Tensor:
        values = self.base.views(self.base.init(rng))
        return model._row.flatten(values)


def layouts(module: nn.Module) -> tuple[Layout, Layout, Layout]:
    """``(shared, local, buffers)`` of a module, each in the order of the module's definition."""
    shared, local, buffers = (Layout.of({name: t.shape for name, t in part.items()}) for part in _tensors(module))
    return shared, local, buffers


def as_input(x: Tensor, dtype: torch.dtype, channels_last: bool) -> Tensor:
    """Inputs in the row's floating-point type and, for images ``[n, channels, height, width]``, in channels-last
    memory if asked for; ids stay integers."""
    if not x.is_floating_point():
        return x
    x = x.to(dtype)
    if not channels_last:
        return x
    x = x.contiguous(memory_format=torch.channels_last)
    _, channels, height, width = x.shape
    # one channel has both orders at once, and torch would take the slow one: the strides must say which is meant
    return x.as_strided(x.shape, (channels * height * width, 1, channels * width, channels))


def prefers_channels_last(module: nn.Module, shape: Sequence[int]) -> bool:
    """Whether channels-last images suit the module: 2-d convolutions, and no ``view`` call that forbids them."""
    if len(shape) != 3 or not any(isinstance(layer, nn.Conv2d) for layer in module.modules()):
        return False
    probe = copy.deepcopy(module).eval()
    try:
        with torch.no_grad():
            probe(as_input(torch.zeros(2, *shape), torch.float32, channels_last=True))
    except Exception:  # whatever the user's code raises
        return False
    return True


def _tensors(module: nn.Module) -> tuple[dict[str, Tensor], dict[str, Tensor], dict[str, Tensor]]:
    """Tensors by name of the three parts of a row: shared, local, buffers."""
    norms = {id(p) for layer in module.modules() if isinstance(layer, NORMS) for p in layer.parameters(recurse=False)}
    shared: dict[str, Tensor] = {}
    local: dict[str, Tensor] = {}
    for name, parameter in module.named_parameters():
        if parameter.requires_grad:
            (local if id(parameter) in norms else shared)[name] = parameter
    buffers = {name: buffer for name, buffer in module.named_buffers() if buffer.is_floating_point()}
    return shared, local, buffers


def _join(*parts: Layout) -> Layout:
    return Layout.of({field.name: field.shape for part in parts for field in part.fields})
