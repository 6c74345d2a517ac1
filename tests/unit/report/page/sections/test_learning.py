"""Curves of accuracies and losses."""

from fedradio.report.page.run_data import RunData
from fedradio.report.page.sections.learning import accuracies, curve, learning, losses, other_metrics

NAMES = ["accuracy", "loss", "personal_accuracy", "top_2_accuracy", "top_4_accuracy", "variate_norm"]


def test_metrics_share_an_axis_with_their_kind() -> None:
    """Of many top-m accuracies some have a line; references such as ``bayes`` are drawn with the accuracies."""
    assert accuracies(NAMES) == ["accuracy", "personal_accuracy", "top_2_accuracy"]
    assert losses(NAMES) == ["loss"]
    assert other_metrics([*NAMES, "bayes"]) == ["variate_norm"]


def test_curves_stand_at_what_was_spent(small: RunData) -> None:
    found = curve(small, "accuracy", "joules")
    assert found is not None
    assert (found[0].tolist(), found[1].tolist()) == ([3.5, 7.0], [0.5, 0.75])
    trained = curve(small, "train_loss", "rounds")
    assert trained is not None
    assert trained[1].tolist() == [2.0, 1.0]
    assert curve(small, "accuracy", "uses") is None
    assert curve(small, "bayes", "rounds") is None


def test_words_beside_the_curves(small: RunData) -> None:
    text = learning(small, "@algorithm")
    assert "Accuracy goes from 50.00 % after round 1 to 75.00 % after round 2" in text
    assert "Final values: test loss 0.25, training loss 1." in text
    for words in ("simulated time", "energy", "uplink"):
        assert words in text


def test_without_an_evaluation(empty: RunData) -> None:
    assert "the spec evaluates every 1 rounds and at the end" in learning(empty, "@algorithm")
