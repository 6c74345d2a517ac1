"""The spec's schema, built from the signatures of the registered factories."""

from __future__ import annotations

import functools
import operator
import types
from collections.abc import Sequence
from typing import Annotated, Any, Literal, Optional, Union, get_args, get_origin

from pydantic import AfterValidator, BaseModel, BeforeValidator, Field, create_model
from pydantic_core import PydanticCustomError

from fedradio.core.contracts import Late, Precision, Target
from fedradio.core.registry import Arg, Part, parts
from fedradio.core.text import STEERING
from fedradio.spec.strict import FRAME

NAME = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"

LONGEST_TUPLE = 1000

USUAL_PLACEMENTS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("predicted", {"blend": 0.5, "move_cost": 0.4}),
    ("cell_popular", {}),
    ("lru", {}),
    ("oracle", {}),
)
"""The placements of a cache whose spec names none."""

STEERS = "steers_the_terminal"
"""Type of the error about control characters in a text."""


def spec_schema() -> type[BaseModel]:
    """The model of a whole spec, with the parts that are registered now."""
    return _spec_schema(tuple(parts()))


@functools.lru_cache(maxsize=4)
def _spec_schema(registered: tuple[Part, ...]) -> type[BaseModel]:
    hop = create_model(
        "Hop",
        __config__=FRAME,
        link=_part_field("link", "ideal", "how payloads become sums"),
        policy=_part_field("policy", "fixed", "who takes part"),
        gather=_part_field("gather", "all", "when receivers merge; on outer hops always all"),
        channel=_part_field("channel", None, "what happens to signals on the air"),
        fleet=_part_field("fleet", None, "what devices can do; without it, seconds and joules are undefined"),
        period=_field(int, 1, "exchanges of this hop per exchange of the hop above", ge=1, le=100_000),
        deadline_s=_field(
            float | None, None, "seconds after the last broadcast; later payloads are lost", gt=0, le=1e9
        ),
        late=_field(
            Late, "stop", "at the deadline, late senders stop and pay until then, or finish and pay for everything"
        ),
        transforms=_parts_field("transform", "what senders do to their payloads, in this order", most=8),
        receiver=_part_field("receiver", None, "what receivers do with the merged change; null: add it"),
    )
    data = create_model(
        "Data",
        __config__=FRAME,
        source=_part_field("source", "digits", "where samples come from"),
        target=_field(
            Target | None,
            None,
            "predict classes or real values; null: what the source has, of a file classes",
        ),
        partition=_part_field(
            "partition", None, "how samples are split over clients; null: i.i.d., or as the source says"
        ),
        stream=_part_field("stream", "static", "how samples arrive over time"),
        test=_field(Literal["source", "client"], "source", "test on the source's test set, or per client"),
        test_fraction=_field(
            float, 0.2, "fraction of a client's samples held out for testing if test is 'client'", gt=0, lt=1
        ),
        unlabelled=_field(float, 0.0, "fraction of a client's training samples whose labels are hidden", ge=0, le=1),
        held_out=_field(float, 0.0, "fraction of a client's labelled samples kept out of training", ge=0, lt=1),
    )
    cache = _cache_schema()
    return create_model(
        "Spec",
        __config__=FRAME,
        name=_field(Annotated[str, Field(pattern=NAME)], "run", "name of the run"),
        about=_field(Annotated[str, Field(max_length=1000), AfterValidator(_printable)], "", "a one-line description"),
        seed=_field(int, 0, "seed of all randomness", ge=0, le=2**63 - 1),
        world_seed=_field(
            int | None, None, "seed of the world (positions, devices, data); null: the same as seed", ge=0, le=2**63 - 1
        ),
        rounds=_field(int, 20, "number of rounds", ge=1, le=10_000_000),
        eval_every=_field(int, 1, "number of rounds between evaluations", ge=1, le=10_000_000),
        eval_top=_field(int, 1, "report top-m accuracy for every m up to this", ge=1, le=100),
        clock=_field(Literal["slowest", "deadline"], "slowest", "what a receiver waits for"),
        grouping=_field(Literal["auto", "single"], "auto", "whether clients are trained in batches, or one at a time"),
        precision=_field(
            Precision,
            "float32",
            "numbers of forward pass and loss in training; bf16: mixed precision, for networks trained by autograd",
        ),
        topology=_part_field("topology", "flat", "the nodes, and who reports to whom"),
        hops=_field(_some(hop), (hop(),), "one entry per hop, starting at the clients"),
        data=_field(data, data(), "samples, their split and their arrival"),
        model=_part_field("model", "mlp", "what is learned"),
        personal=_field(
            tuple[str, ...],
            (),
            "parameters that train but never travel, by their names, such as [fc2.*]; each client has its own",
        ),
        rule=_part_field("rule", "sgd", "one local update"),
        loss=_part_field("loss", None, "cost of local training; null: the algorithm's own, cross entropy for most"),
        schedule=_part_field("schedule", "constant", "the learning rate over time"),
        algorithm=_part_field("algorithm", "fedavg", "what is sent and merged"),
        metrics=_parts_field("metric", "how predictions are scored, in addition to accuracy and loss", most=16),
        cache=_field(Optional[cache], None, "caches at the edges for the files that clients request; null: none"),  # noqa: UP045
    )


def _cache_schema() -> type[BaseModel]:
    """The keys of caches."""
    several: Any = int | tuple[int, ...]
    size: Any = float | tuple[float, float]
    schemas = {part.kind: part_schema(part) for part in parts("placement")}
    usual = tuple(schemas[kind](**keywords) for kind, keywords in USUAL_PLACEMENTS)
    listed: Any = Annotated[_listed(list(schemas.values())), Field(min_length=1, max_length=16)]
    return create_model(
        "Cache",
        __config__=FRAME,
        capacity=_field(
            several, 8, "number of files that an edge keeps; or several numbers, served side by side", ge=1, le=10**6
        ),
        placements=(listed, Field(usual, description="which files edges keep; all placements see the same requests")),
        every=_field(Literal["slot", "edge_round", "round"], "slot", "when caches are updated"),
        file_bits=_field(size, 200e6, "bits per file, or their range (log-uniform)", gt=0, le=1e15),
        access_bps=_field(float, 100e6, "bits per second from an edge to a client", gt=0, le=1e15),
        backhaul_bps=_field(float, 1e9, "bits per second from the provider to an edge", gt=0, le=1e15),
        core_s=_field(float, 0.02, "core-network and propagation delay on a miss, in seconds", ge=0, le=1e6),
        sharing=_field(
            Literal["summed", "top", "plain"], "summed", "what clients tell their edge about their forecasts"
        ),
        top=_field(
            int | None,
            None,
            "number of most likely files that a client reports; null: 4 if sharing is top",
            ge=1,
            le=1000,
        ),
        protocol=_field(bool, False, "count the control bits of the privacy protocol"),
    )


def part_schema(part: Part) -> type[BaseModel]:
    """The keywords of one factory, and its kind."""
    fields: dict[str, Any] = {"kind": (Literal[part.kind], part.kind)}
    for parameter in part.parameters():
        default = ... if parameter.required else parameter.default
        fields[parameter.name] = (
            _bounded(parameter.annotation, parameter.arg),
            Field(default, description=_doc(parameter.arg)),
        )
    return create_model(f"{part.family}_{part.kind}", __config__=FRAME, **fields)


def _field(annotation: Any, default: Any, doc: str, **bounds: Any) -> tuple[Any, Any]:
    return _bounded(annotation, Arg(doc, **bounds)), Field(default, description=doc)


def _some(item: Any) -> Any:
    return Annotated[tuple[item, ...], Field(min_length=1, max_length=8)]


def _part_field(family: str, default: str | None, doc: str) -> tuple[Any, Any]:
    """A field that takes a kind's plain name, or a mapping of ``kind`` and keywords; null only without a default."""
    schemas = [part_schema(part) for part in parts(family)]
    if not schemas:
        return type(None), Field(None, description=doc)
    union: Any = _union(schemas)
    if default is None:
        union = Optional[union]  # noqa: UP045
    accepted = Annotated[union, BeforeValidator(functools.partial(_with_kind, default))]
    chosen = next((s() for s in schemas if s.model_fields["kind"].default == default), None)
    return accepted, Field(chosen, description=doc)


def _parts_field(family: str, doc: str, most: int) -> tuple[Any, Any]:
    """A field that takes a list of at most so many parts, each a kind's plain name or a mapping of ``kind`` and
    keywords; empty by default. Its key stands in :data:`~fedradio.core.registry.PART_LISTS`."""
    listed = _listed([part_schema(part) for part in parts(family)])
    return Annotated[listed, Field(max_length=most)], Field((), description=doc)


def _listed(schemas: Sequence[type[BaseModel]]) -> Any:
    """A tuple of any number of these parts."""
    item: Any = type(None)
    if schemas:
        item = Annotated[_union(schemas), BeforeValidator(functools.partial(_with_kind, None))]
    return types.GenericAlias(tuple, (item, Ellipsis))


def _union(schemas: Sequence[type[BaseModel]]) -> Any:
    """Any of these parts, told apart by their kinds."""
    union: Any = functools.reduce(operator.or_, schemas)
    return Annotated[union, Field(discriminator="kind")] if len(schemas) > 1 else union


def _with_kind(default: str | None, value: Any) -> Any:
    """A plain name is a kind without keywords; keywords without a kind belong to the default."""
    if isinstance(value, str):
        return {"kind": value}
    return {"kind": default, **value} if isinstance(value, dict) and default is not None else value


def _printable(text: str) -> str:
    """The text; refused if it would steer the terminal that shows it."""
    if found := STEERING.search(text):
        raise PydanticCustomError(STEERS, "contains the control character {code}", {"code": f"U+{ord(found[0]):04X}"})
    return text


def _bounded(annotation: Any, arg: Arg) -> Any:
    """Bounds belong to the numbers of an annotation, wherever they stand in unions, tuples and mappings; a tuple may be
    given as a list, its items are as strict as everything else."""
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin in (Union, types.UnionType):
        return functools.reduce(operator.or_, (_bounded(item, arg) for item in inner))
    if origin is tuple and inner[-1] is Ellipsis:
        items: Any = types.GenericAlias(tuple, (_bounded(inner[0], arg), Ellipsis))
        return Annotated[items, Field(max_length=LONGEST_TUPLE, strict=False)]
    if origin is tuple:
        fixed: Any = types.GenericAlias(tuple, tuple(_bounded(item, arg) for item in inner))
        return Annotated[fixed, Field(strict=False)]
    if origin is dict:
        named: Any = types.GenericAlias(dict, (inner[0], _bounded(inner[1], arg)))
        return named
    if annotation in (int, float):
        return Annotated[annotation, Field(ge=arg.ge, gt=arg.gt, le=arg.le, lt=arg.lt)]
    return annotation


def _doc(arg: Arg) -> str:
    return f"{arg.doc} [{arg.unit}]" if arg.unit else arg.doc
