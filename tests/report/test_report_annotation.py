import numpy as np
import pytest
from sklearn.metrics import precision_recall_fscore_support

from bigtensor.models.words.sampled_rows import Groups, LabelledRows
from bigtensor.report import annotation, tables


def rows_of(label, probability, codes, names):
    return LabelledRows(
        values=np.zeros((len(label), 1)),
        label=np.asarray(label),
        probability=np.asarray(probability, float),
        weight=np.ones(len(label)),
        truth=Groups(np.asarray(codes), names),
        sample_id=None,
        total=len(label),
        left_out=0,
    )


@pytest.fixture(scope="module")
def noisy():
    """Five populations of three classes, the last of which no population has most rows of."""
    rng = np.random.default_rng(11)
    probability = rng.dirichlet(np.full(5, 0.4), 4000)
    population = np.array([rng.choice(5, p=row) for row in probability])
    codes = np.array([1, 0, 1, 0, 0])[population]
    codes[rng.random(4000) < 0.05] = 3
    codes[rng.random(4000) < 0.1] = -1
    label = probability.argmax(axis=1)
    label[:20] = -1
    return rows_of(label, probability, codes, ("a", "b", "never", "rare"))


def test_annotate_by_majority__gives_labels_the_class_of_most_rows():
    probability = [[0.6, 0.3, 0.1], [0.5, 0.1, 0.4], [0.1, 0.7, 0.2], [0.2, 0.0, 0.8]]
    rows = rows_of([0, 0, 1, 2], probability, [5, 5, 0, 5], ("x", *"1234", "y"))
    found = annotation.annotate_by_majority(rows)
    assert found.names == ("x", "y")
    assert found.of_label.tolist() == [1, 0, 1]
    assert found.true_class.tolist() == found.predicted_class.tolist() == [1, 1, 0, 1]
    # the class y has the labels 0 and 2
    assert found.confidence == pytest.approx([0.7, 0.9, 0.7, 1.0])
    assert found.share_right == 1


def test_annotate_by_majority__leaves_out_rows_without_class_or_label():
    rows = rows_of([0, -1, 1], [[1.0, 0.0, 0.0]] * 3, [0, 0, -1], ("x",))
    found = annotation.annotate_by_majority(rows)
    assert len(found.true_class) == 1
    assert found.of_label.tolist() == [0, -1, -1]
    assert annotation.annotate_by_majority(rows_of([0], [[1.0]], [-1], ("x",))) is None


def test_class_scores__are_those_of_scikit_learn(noisy):
    found = annotation.annotate_by_majority(noisy)
    assert found.names == ("a", "b", "rare")
    scores = annotation.class_scores(found)
    precision, recall, f1, rows = precision_recall_fscore_support(
        found.true_class, found.predicted_class, labels=range(3), zero_division=np.nan
    )
    np.testing.assert_allclose(scores.precision, precision)
    assert np.isnan(scores.precision[2])
    np.testing.assert_allclose(scores.recall, recall)
    np.testing.assert_allclose(scores.f1[:2], f1[:2])
    assert scores.f1[2] == 0
    assert scores.rows.tolist() == rows.tolist()


def test_reliability__is_that_of_a_loop_over_rows(noisy):
    found = annotation.annotate_by_majority(noisy)
    result = annotation.reliability(found)
    kept = (noisy.label >= 0) & (noisy.truth.codes >= 0)
    of_population = {}
    for population in range(5):
        codes = noisy.truth.codes[kept & (noisy.label == population)]
        of_population[population] = np.bincount(codes).argmax()
    bins = [[] for _ in range(10)]
    for row in np.flatnonzero(kept):
        own = of_population[noisy.label[row]]
        same = [population for population in range(5) if of_population[population] == own]
        confidence = noisy.probability[row, same].sum()
        bins[min(int(confidence * 10), 9)].append((confidence, noisy.truth.codes[row] == own))
    assert result.counts.tolist() == [len(one) for one in bins]
    error = 0.0
    for one, confidence, right in zip(bins, result.confidence, result.share_right, strict=True):
        if not one:
            assert np.isnan(confidence)
            assert np.isnan(right)
            continue
        expected = np.mean(one, axis=0)
        assert (confidence, right) == pytest.approx(tuple(expected))
        error += len(one) / kept.sum() * abs(expected[0] - expected[1])
    assert result.calibration_error == pytest.approx(error)
    assert error > 0.01


def test_reliability__has_no_error_where_the_share_right_is_the_confidence():
    known = np.array([0] * 7 + [1] * 3)
    found = annotation.Annotation(
        ("a", "b"), np.array([0]), known, np.zeros(10, np.int64), np.full(10, 0.7)
    )
    result = annotation.reliability(found)
    assert result.calibration_error == pytest.approx(0)
    sure = annotation.Annotation(
        ("a", "b"), np.array([0]), known, np.zeros(10, np.int64), np.ones(10)
    )
    assert annotation.reliability(sure).counts.tolist() == [0] * 9 + [10]
    assert annotation.reliability(sure).calibration_error == pytest.approx(0.3)


def test_class_table__is_ordered_by_size_and_names_populations(noisy):
    found = annotation.annotate_by_majority(noisy)
    scores = annotation.class_scores(found)
    table = tables.class_table(found, "population")
    assert table.header == ("class", "rows", "populations", "precision", "recall", "F1")
    lines = {row[0].text: [cell.text for cell in row[1:]] for row in table.rows}
    assert lines["a"][1:] == ["1, 3, 4", *(f"{scores.__dict__[n][0]:.3f}" for n in SCORES)]
    assert lines["b"][1] == "0, 2"
    assert lines["rare"][1:] == ["none", "none", "0.000", "0.000"]
    sizes = [int(row[1].text.replace(",", "")) for row in table.rows]
    assert sizes == sorted(sizes, reverse=True)
    assert f"{100 * found.share_right:.1f} % of these rows" in table.caption
    assert f"mean F1 of the classes is {np.mean(scores.f1):.3f}" in table.caption


SCORES = ("precision", "recall", "f1")
