"""Video requests by popularity and similarity (OSAFL): files with images in genres, clients with genre preferences.

A sample is a client's last request, or its last few requests, and its next one.
"""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
import torch

from fedradio.core.contracts import Tapes, TestSet
from fedradio.core.errors import Problem, SpecError
from fedradio.core.registry import Arg, register
from fedradio.core.rng import Rng
from fedradio.data.draw import Ints
from fedradio.data.requests import Floats, RequestLaw, Requests, drifting, nearest, zipf_mandelbrot
from fedradio.data.video import check_drift
from fedradio.data.video_features import (
    Catalogue,
    Features,
    Genre,
    History,
    draw_catalogue,
    features_of,
    photographs,
)

MAX_VALUES = 100_000_000
"""Most numbers in a table over clients and files, or over clients and pairs of genres: 800 MB."""

MAX_REQUESTS = 10_000_000
"""Most requests of all clients, training and test together: 240 MB of random numbers while they are drawn."""

PHOTOGRAPHS = 100
"""Fine labels of CIFAR-100: as many files can have an image of it."""

Images = Literal["generated", "cifar100"]
Range = tuple[float, float]


@register("source", "video_files", paper="OSAFL, appendix D-A, eqs. (80)-(82)")
def video_files(
    clients: int,
    rng: Rng,
    /,
    *,
    genres: Annotated[int, Arg("genres", ge=1, le=100)] = 5,
    files_per_genre: Annotated[int, Arg("files per genre", ge=2, le=200)] = 20,
    preference: Annotated[float, Arg("Dirichlet concentration of a client's genre preferences", ge=1e-3, le=1e6)] = 0.3,
    stay: Annotated[
        Range, Arg("range of a client's probability of staying in the genre, drawn uniformly", ge=0, le=1)
    ] = (
        0.4,
        0.9,
    ),
    top_k: Annotated[int, Arg("number of most similar files of the genre that may come next", ge=1, le=199)] = 1,
    zipf_gamma: Annotated[float, Arg("skewness of the popularity (Zipf-Mandelbrot)", ge=0, le=1e6)] = 1.0,
    zipf_q: Annotated[float, Arg("shift of the popularity rank (Zipf-Mandelbrot)", gt=-1, le=1e9)] = 0.0,
    sample: Annotated[
        Literal["features", "history"],
        Arg("features: those of the last request; history: the ids of the last requests"),
    ] = "features",
    history: Annotated[int, Arg("requests per history sample", ge=1, le=10**5)] = 10,
    requests: Annotated[int, Arg("requests per client; the first ones only serve as history", ge=1, le=10**6)] = (3300),
    test_requests: Annotated[int, Arg("held-out requests per client", ge=1, le=10**6)] = 500,
    images: Annotated[
        Images, Arg("images of the files: generated, or from CIFAR-100 as in the paper (fedradio data fetch cifar100)")
    ] = "generated",
    image_std: Annotated[
        float,
        Arg(
            "standard deviation of an image's pixels; values below 1 are a fit to the published learning speed",
            gt=0,
            le=1e3,
        ),
    ] = 1.0,
    genre: Annotated[
        Genre, Arg("how the genre enters the features: its number divided by genres, or its number as printed")
    ] = ("unit"),
    drift: Annotated[
        float,
        Arg("probability that two neighbouring popularity ranks of a genre are swapped before a slot", ge=0, le=1),
    ] = 0.0,
) -> Tapes:
    """Next-request prediction for a video service: images or past requests, 100 files, one test group per client.

    A client's first request is a file of a genre drawn from its preferences. After that, with probability ``stay`` it
    requests one of the ``top_k`` most similar other files of the same genre, in proportion to ``exp(cosine)``;
    otherwise it moves to another genre, drawn in proportion to its preferences. Files that are not chosen by similarity
    are chosen by popularity, ``p(rank) = (rank + q)^-gamma / sum_r (r + q)^-gamma``, where the ranking within a genre
    is random. A client that likes no other genre chooses from its own. File ``i`` of genre ``g`` has the number
    ``g*files_per_genre + i``.

    ``features`` predicts the next request from the last one. A file is an image of 3 x 32 x 32 smooth random numbers
    with mean 0 and variance 1, or the first training image of a fine label of CIFAR-100, standardised in the same way;
    similarities are cosines between images. Extra columns contain the client's preferences, the similarities to all
    files of the genre, itself included, ``g/genres`` repeated, and the client's ``stay``: with 5 genres of 20 files
    this is one column, in which ``g/5`` is repeated 70 times. A sample has 3 * 32 * 33 numbers of 32 bits.

    The paper does not state the scale of the pixels, and repeats the genre's ID, 0 to 4. Both can affect the speed of
    learning; use ``image_std`` and ``genre: printed`` to try this. Neither changes the requests.

    ``history`` predicts the next request from the numbers of the last ``history`` requests, ``ceil(log2 files)`` bits
    each. Both kinds of samples are made from the same requests; the tapes contain ``requests - 1`` or ``requests -
    history`` samples.

    ``bayes`` is the best expected accuracy on the test samples: the mean, over the last requests, of the largest
    probability of a next one. ``top_popular`` is that of always predicting the file that is requested most often on
    all tapes together.

    With ``drift`` the popularity ranking changes from slot to slot, where a slot is a position in a client's requests:
    a client that makes twice as many requests sees twice as many changes. Test requests go through the same slots, and
    ``bayes`` uses the distribution in the slot of each.
    """
    window = 1 if sample == "features" else history
    problems = _law_problems(files_per_genre, stay, top_k, zipf_q)
    problems += _size_problems(clients, genres, files_per_genre, window, requests, test_requests)
    problems += _image_problems(genres * files_per_genre, sample, images, image_std, genre)
    if problems:
        raise SpecError(problems)
    slots = max(requests, test_requests)
    check_drift(drift, slots * genres * files_per_genre)
    if images == "cifar100":
        catalogue = photographs(genres, files_per_genre)
    else:
        catalogue = draw_catalogue(genres, files_per_genre, rng)
    popularity = zipf_mandelbrot(files_per_genre, zipf_gamma, zipf_q)
    law = draw_law(catalogue, clients, preference, stay, top_k, popularity, rng, drift, slots)
    run = rng.of_run()
    train, test = law.simulate(requests, run.child("tape")), law.simulate(test_requests, run.child("test"))
    request = np.concatenate([train.ravel(), test.ravel()])
    client = np.concatenate([np.repeat(np.arange(clients), length) for length in (requests, test_requests)])
    if sample == "features":
        features = features_of(catalogue, law, request, client, image_std, genre)
        return _tapes(law, features, train, test, 1, features.shape, 32 * features.table.shape[1])
    ids = History(torch.from_numpy(request), history)
    return _tapes(law, ids, train, test, history, (history,), history * (law.contents - 1).bit_length())


def draw_law(
    catalogue: Catalogue,
    clients: int,
    preference: float,
    stay: Range,
    top_k: int,
    popularity: Floats,
    rng: Rng,
    drift: float = 0.0,
    slots: int = 1,
) -> Requests:
    """Random law of the clients' requests for a catalogue; ``popularity [M]`` is the law of ranks in every genre, whose
    order drifts from slot to slot."""
    genres, files, _ = catalogue.cosine.shape
    rank = rng.child("popularity").numpy().random((genres, files)).argsort(axis=1)
    return Requests(
        preference=rng.child("preferences").numpy().dirichlet(np.full(genres, preference), size=clients),
        stay=stay[0] + (stay[1] - stay[0]) * rng.child("stay").numpy().random(clients),
        near=nearest(catalogue.cosine, top_k),
        entry=popularity[rank],
        drift=drifting(rank, popularity, drift, slots, rng.child("drift")),
    )


def _tapes(
    law: Requests,
    fetch: Features | History,
    train: Ints,
    test: Ints,
    window: int,
    shape: tuple[int, ...],
    sample_bits: int,
) -> Tapes:
    """Tapes whose samples are ``window`` successive requests of ``train [C, requests]``; of ``test`` for evaluation.

    In ``fetch`` the chains of ``train`` and ``test`` are concatenated, client after client.
    """
    index, test_index = (
        torch.from_numpy(_starts(chain.shape, window, first)) for chain, first in ((train, 0), (test, train.size))
    )
    label, test_label = train[:, window:].ravel(), test[:, window:].ravel()
    last = test[:, window - 1 : -1]  # [C, samples]
    true = RequestLaw(law, fetch.request, (train.shape[1], test.shape[1]), window - 1)
    best = np.take_along_axis(law.ceiling(), last, axis=1) if law.drift is None else true.highest(test_index)
    client = torch.arange(law.clients)
    return Tapes(
        index=index,
        offset=torch.arange(law.clients + 1) * (train.shape[1] - window),
        label=torch.from_numpy(label),
        labelled=torch.ones(len(label), dtype=torch.bool),
        fetch=fetch,
        test=TestSet(test_index, client.repeat_interleave(test.shape[1] - window), law.clients, True, fetch),
        shape=shape,
        classes=law.contents,
        sample_bits=float(sample_bits),
        reference={
            "bayes": float(best.mean()),
            "top_popular": float((test_label == np.bincount(label).argmax()).mean()),
        },
        law=true,
    )


def _starts(shape: tuple[int, ...], window: int, first: int) -> Ints:
    """First requests of the samples of chains ``[C, length]``, which are concatenated from position ``first`` on."""
    clients, length = shape
    return np.asarray((first + length * np.arange(clients)[:, None] + np.arange(length - window)).ravel())


def _law_problems(files: int, stay: Range, top_k: int, q: float) -> list[Problem]:
    problems = []
    if not 0 <= stay[0] <= stay[1] <= 1:
        reason = "must be the lowest and highest probability"
        problems.append(Problem("data.source.stay", reason, "such as [0.4, 0.9]", stay))
    if not 1 <= top_k < files:
        reason = f"a genre has {files - 1} other files"
        problems.append(Problem("data.source.top_k", reason, f"use 1 to {files - 1}, or more files_per_genre", top_k))
    if not q > -1:
        reason = "the first rank would have no popularity"
        problems.append(Problem("data.source.zipf_q", reason, "use a value above -1, such as 0", q))
    return problems


def _image_problems(files: int, sample: str, images: Images, image_std: float, genre: Genre) -> list[Problem]:
    """More files than there are photographs, and a scale for images where samples have none."""
    problems = []
    if images == "cifar100" and files > PHOTOGRAPHS:
        reason = f"there are {files} files, but CIFAR-100 has only {PHOTOGRAPHS} labels"
        problems.append(Problem("data.source.images", reason, "use generated images, or fewer genres or files", images))
    if sample == "history":
        reason, remedy = "a history contains only file numbers", "leave it out, or set sample: features"
        problems += [Problem("data.source.image_std", reason, remedy, image_std)] if image_std != 1 else []
        problems += [Problem("data.source.genre", reason, remedy, genre)] if genre != "unit" else []
    return problems


def _size_problems(
    clients: int, genres: int, files: int, window: int, requests: int, test_requests: int
) -> list[Problem]:
    """Sequences too short for a single sample, and tables too large for memory."""
    problems = []
    if window < 1:
        problems.append(Problem("data.source.history", "a sample needs a request", "such as 10", window))
    for name, length in (("requests", requests), ("test_requests", test_requests)):
        if length <= window:
            reason = f"a sample needs {window + 1} successive requests"
            problems.append(
                Problem(f"data.source.{name}", reason, f"use more than {window}, or a shorter history", length)
            )
    if clients * (requests + test_requests) > MAX_REQUESTS:
        reason = f"{clients} clients with {requests + test_requests} requests each exceed {MAX_REQUESTS:,} in total"
        problems.append(Problem("data.source.requests", reason, "use fewer requests, test_requests or clients"))
    if (values := clients * max(genres * files, genres**2)) > MAX_VALUES:
        reason = (
            f"the law of {clients} clients and {genres * files} files has {values:,} numbers, more than {MAX_VALUES:,}"
        )
        problems.append(Problem("data.source.files_per_genre", reason, "use fewer files, genres or clients", files))
    return problems
