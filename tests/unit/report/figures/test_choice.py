"""A choice of figures: metric, axis, names, order."""

from collections.abc import Callable
from pathlib import Path

import matplotlib
import pytest
from support.past import digest_of, past
from support.records import evaluation

import fedradio
from fedradio.core.errors import Problem, SpecError, StoreError
from fedradio.report.figures.axes import save_figure
from fedradio.report.figures.choice import chosen_drawings, chosen_variants, drawable, figures, names_of, split_labels
from fedradio.report.figures.gallery import write
from fedradio.results.run import Run
from fedradio.results.variants import Variant, variants
from fedradio.spec.spec import Spec

Make = Callable[..., Spec]


def runs_of(tiny: Make, *changes: str) -> list[Run]:
    """Two seeds for each change, with accuracies 0.5, 0.6, 0.7 in three rounds."""
    runs = [past(tiny(f"seed={seed}", *change.split()), [0.5, 0.6, 0.7]) for change in changes for seed in (1, 2)]
    for run in runs:
        run.__dict__["digest"] = digest_of(run)
    return runs


@pytest.fixture
def three(tiny: Make) -> list[Variant]:
    return variants(runs_of(tiny, "algorithm=fedavg", "algorithm=fedprox", "algorithm=scaffold"))


@pytest.fixture
def grid(tiny: Make) -> list[Variant]:
    pairs = [f"algorithm={kind} rule.lr={lr}" for kind in ("fedavg", "fedprox") for lr in (0.1, 0.2)]
    return variants(runs_of(tiny, *pairs))


def refused(call: Callable[[], object]) -> list[Problem]:
    with pytest.raises(SpecError) as caught:
        call()
    return list(caught.value.problems)


def labels(every: list[Variant]) -> list[str]:
    return [variant.label.removeprefix("algorithm=") for variant in every]


def test_order_and_what_is_left_out(three: list[Variant], grid: list[Variant]) -> None:
    assert labels(chosen_variants(three, ["scaffold", "fedavg"])) == ["scaffold", "fedavg", "fedprox"]
    assert labels(chosen_variants(three, without=["fedprox"])) == ["fedavg", "scaffold"]
    assert labels(chosen_variants(grid, ["rule.lr=0.2"])) == [
        "rule.lr=0.2, algorithm=fedavg",
        "rule.lr=0.2, algorithm=fedprox",
        "rule.lr=0.1, algorithm=fedavg",
        "rule.lr=0.1, algorithm=fedprox",
    ]
    found = refused(lambda: chosen_variants(three, ["scafold"], ["fedavgg"]))
    assert [(one.path, one.remedy) for one in found] == [
        ("--order", "did you mean 'scaffold'?"),
        ("--without", "did you mean 'fedavg'?"),
    ]
    (one,) = refused(lambda: chosen_variants(three, without=["fedavg", "fedprox", "scaffold"]))
    assert one.reason == "leaves no variant to draw"


def test_names(three: list[Variant], grid: list[Variant]) -> None:
    assert names_of(three, {"fedprox": "FedProx (mu=0.01)"}) == {"algorithm=fedprox": "FedProx (mu=0.01)"}
    assert names_of(grid, {"fedprox": "FedProx"}) == {
        "rule.lr=0.1, algorithm=fedprox": "rule.lr=0.1, FedProx",
        "rule.lr=0.2, algorithm=fedprox": "rule.lr=0.2, FedProx",
    }
    assert names_of(grid, {"fedprox, rule.lr=0.2": "best"}) == {"rule.lr=0.2, algorithm=fedprox": "best"}


def test_names_that_cannot_be_used(three: list[Variant]) -> None:
    wrong = {"fedavg": r"$\foo$", "scafold": "S", "fedprox": " "}
    found = {one.reason: one.remedy for one in refused(lambda: names_of(three, wrong))}
    assert found == {
        "no such variant": "did you mean 'scaffold'?",
        r"the formula cannot be typeset: Unknown symbol: \foo": r"write a literal dollar sign as \$",
        "the name is empty": 'such as --label fedprox="A name"',
    }
    (one,) = refused(lambda: names_of(three, {"fedavg": "A", "fedprox": "A"}))
    assert one.reason == "two variants have this name"


def test_names_as_typed(three: list[Variant], grid: list[Variant]) -> None:
    assert split_labels(["fedprox=FedProx (mu=0.01)", "algorithm=scaffold=S = c"], three) == {
        "fedprox": "FedProx (mu=0.01)",
        "algorithm=scaffold": "S = c",
    }
    assert split_labels(["rule.lr=0.2=fast"], grid) == {"rule.lr=0.2": "fast"}
    (one,) = refused(lambda: split_labels(["fedprox"], three))
    assert one.reason == "does not name a variant"


def test_all_or_the_curves_of_a_metric_or_some(three: list[Variant]) -> None:
    def names(**choice: object) -> list[str]:
        return [drawing.name for drawing in chosen_drawings(three, **choice)]  # type: ignore[arg-type]

    assert {"accuracy-rounds", "loss-rounds", "energy-clients"} <= set(names())
    assert names(metric="loss") == ["loss-rounds", "loss-seconds", "loss-joules", "loss-bits"]
    assert names(against=["joules", "bits"]) == ["accuracy-joules", "accuracy-bits"]
    assert names(only=["accuracy-bits"]) == ["accuracy-bits"]
    assert names(target=0.6, only=["accuracy-joules"]) == ["accuracy-joules"]


def test_wrong_choices(three: list[Variant]) -> None:
    found = refused(lambda: chosen_drawings(three, against=["joule"], target=90.0))
    assert [(one.path, one.reason) for one in found] == [
        ("--against", "no such axis"),
        ("--target", "accuracies are between 0 and 1"),
    ]
    (one,) = refused(lambda: chosen_drawings(three, "acuracy"))
    assert one.remedy == "did you mean 'accuracy'?"
    (one,) = refused(lambda: chosen_drawings(three, only=["accuracy-joule"]))
    assert one.remedy == "did you mean 'accuracy-joules'?"
    (one,) = refused(lambda: chosen_drawings(three, against=["seconds"]))
    assert (one.path, one.reason) == ("accuracy-seconds", "cannot be drawn: seconds are undefined")


def test_a_figure_is_the_same_wherever_it_is_saved(tiny: Make, tmp_path: Path) -> None:
    runs = runs_of(tiny, "algorithm=fedavg", "algorithm=fedprox")
    write(chosen_drawings(variants(runs), only=["accuracy-joules"]), tmp_path, ["pdf"])
    save_figure(figures(*runs, only="accuracy-joules")["accuracy-joules"], tmp_path / "b.pdf", 300)
    assert (tmp_path / "accuracy-joules.pdf").read_bytes() == (tmp_path / "b.pdf").read_bytes()


def test_runs_that_can_be_drawn(tiny: Make) -> None:
    unfinished, done = past(tiny(), [0.5], status=None), past(tiny("seed=2"), [0.5])
    assert drawable([unfinished]) == [unfinished]
    assert drawable([unfinished, done]) == [done]
    with pytest.raises(StoreError, match="no run is complete"):
        drawable([unfinished, unfinished])
    with pytest.raises(StoreError, match="no runs to draw"):
        figures()


def test_a_figure_has_what_was_asked_for(tiny: Make) -> None:
    runs = runs_of(tiny, "algorithm=fedavg", "algorithm=fedprox")
    names = {"fedprox": r"FedProx ($\mu$)"}
    (figure,) = figures(*runs, against="joules", target=0.65, labels=names, order=["fedprox"]).values()
    (axes,) = figure.axes
    assert [text.get_text() for text in figure.legends[0].get_texts()] == [r"FedProx ($\mu$)", "fedavg"]
    assert 65.0 in [line.get_ydata()[0] for line in axes.lines if len({*line.get_ydata()}) == 1]  # type: ignore[index]
    assert fedradio.figures is figures


def test_a_metric_that_is_named_is_drawn_alone(tiny: Make) -> None:
    """The figures of a single run also show related metrics, unless one metric is chosen."""
    run = past(tiny(), [0.5, 0.6])
    run.__dict__["evaluations"] = [evaluation(t, accuracy=0.5, loss=0.5, bayes=0.9) for t in (1, 2)]
    run.__dict__["digest"] = digest_of(run)
    both, alone = (figures(run, metric=metric, against="rounds")["accuracy-rounds"] for metric in (None, "accuracy"))
    assert (len(both.axes[0].lines), len(alone.axes[0].lines)) == (2, 1)


STYLE = {
    "axes.labelsize": 11,
    "font.family": "DejaVu Serif",
    "lines.linewidth": 3,
    "figure.figsize": (5, 2),
}


def test_a_style_of_matplotlib_applies(tiny: Make) -> None:
    runs = runs_of(tiny, "algorithm=fedavg", "algorithm=fedprox")
    with matplotlib.rc_context(STYLE):
        figure = figures(*runs, only="accuracy-rounds")["accuracy-rounds"]
    assert figure.axes[0].xaxis.label.get_fontsize() == 11
    assert figure.axes[0].lines[0].get_linewidth() == 3
    assert figure.get_figwidth() == 5
    assert figure.axes[0].xaxis.label.get_fontfamily() == ["DejaVu Serif"]
