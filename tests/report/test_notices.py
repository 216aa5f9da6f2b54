import re
from dataclasses import replace

import numpy as np

from bigtensor import open_samples
from bigtensor.models.kernel_mixture.report import notices as of_kernels
from bigtensor.models.kernel_mixture.report.levels import Level
from bigtensor.models.words.label_level import LabelLevel
from bigtensor.models.words.report_blocks import Notice
from bigtensor.report import notices
from tests.report.labelled_rows import rows_of


def level(weights, name="component"):
    weights = np.asarray(weights, float)
    return LabelLevel(name, weights, weights)


def alike(weights, overlap=None, name="component"):
    weights = np.asarray(weights, float)
    none = np.zeros((0, len(weights)))
    return Level(name, weights, (), none, np.eye(len(weights)) if overlap is None else overlap)


def test_fit_notices__of_kernels_begin_with_the_verdict(mixture):
    mixture.diagnostics_["spectral"] |= {"concerns": ["rank deficient"]}
    (notice,) = of_kernels.fit_notices(mixture, alike(mixture.weights_))
    assert notice.level == "good"
    assert notice.text.startswith("No fault was found in the mixture")
    mixture.diagnostics_["verdict"] |= {"good": False, "sentences": ["A fault.", "A remedy."]}
    (notice,) = of_kernels.fit_notices(mixture, alike(mixture.weights_))
    assert notice == Notice("warning", "A fault. A remedy.")


def test_fit_notices__name_small_and_similar_components(mixture):
    mixture.weights_ = np.array([0.7, 0.29, 0.01])
    (small,) = notices.fit_notices(mixture, level(mixture.weights_))
    assert small.level == "warning"
    assert "Component 2 has fewer than 200 rows" in small.text
    overlap = np.array([[1.0, 0.1, 0.0], [0.1, 1.0, 0.63], [0.0, 0.63, 1.0]])
    _, close = of_kernels.fit_notices(mixture, alike(mixture.weights_, overlap))
    assert close.level == "warning"
    assert "1 and 2 (0.63). " in close.text
    assert "0 and 1" not in close.text


def test_one_verdict__praises_no_fit_with_warnings():
    praise, note, warning = (Notice(kind, kind) for kind in ("good", "note", "warning"))
    assert notices.one_verdict([praise, note]) == [praise, note]
    assert notices.one_verdict([praise, note, warning]) == [note, warning]


def test_fit_notices__tell_of_rows_left_out_and_of_notes(mixture):
    mixture.diagnostics_ |= {"rows_left_out": 1, "notes": ["view 'a': few distinct values"]}
    (left_out,) = notices.fit_notices(mixture, level(mixture.weights_))
    assert left_out.text.startswith("1 row with missing values was left")
    assert notices.fit_notices(mixture, None) == [left_out]
    last = of_kernels.fit_notices(mixture, alike(mixture.weights_))[-1]
    assert last == Notice("note", "View 'a': few distinct values.")
    found = [last, Notice("good", "Good."), left_out, left_out, Notice("warning", "Third.")]
    assert notices.banners(found) == [left_out, left_out]
    assert [one.level for one in notices.notes(found)] == ["warning", "good", "note"]


def test_row_notices__count_certain_rows(mixture):
    rows = rows_of([0, 0, 1, 1], [0.99, 0.95, 0.5, 0.91])
    (notice,) = notices.row_notices(mixture, rows, level([0.5, 0.5]))
    assert notice.text.startswith("75 % of the sampled rows")


def test_row_notices__warn_of_foreign_labels_and_missing_values(mixture):
    rows = rows_of([0, 0, 0, 1], [1, 1, 1, 1], left_out=7)
    texts = [one.text for one in notices.row_notices(mixture, rows, level([0.5, 0.5]))]
    assert re.search(r"Component 0 .* 75\.0 % .* 50\.0 %\.", texts[1])
    assert texts[2].startswith("7 rows of the sample hold missing")


def test_notices__speak_of_populations_where_these_are_shown(mixture):
    overlap = np.array([[1.0, 0.1, 0.0], [0.1, 1.0, 0.63], [0.0, 0.63, 1.0]])
    weights = [0.7, 0.29, 0.01]
    (small,) = notices.fit_notices(mixture, level(weights, "population"))
    assert small.text.startswith("Population 2 has fewer")
    assert not notices.fit_notices(mixture, level(weights, "population"), {2})
    close = of_kernels.fit_notices(mixture, alike(weights, overlap, "population"))[-1]
    assert "populations overlap" in close.text
    rows = rows_of([0, 0, 0, 1], [1, 1, 1, 1])
    texts = [
        one.text for one in notices.row_notices(mixture, rows, level([0.5, 0.5], "population"))
    ]
    assert texts[0].startswith("100 % of the sampled rows")
    assert texts[1].startswith("Population 0 holds 75.0 %")


def test_fit_notices__do_not_list_components_without_end(mixture):
    count = of_kernels.MOST_NAMED + 4
    weights = np.full(count, 1e-3)
    (small,) = notices.fit_notices(mixture, level(weights))
    close = of_kernels.fit_notices(mixture, alike(weights, np.ones((count, count))))[-1]
    assert small.text.startswith(f"Components 0 to {count - 1} have")
    assert close.text.count("(1.00)") == of_kernels.MOST_NAMED


def test_fit_notices__count_rows_with_the_label_after_a_fit_with_survey_weights(mixture):
    weights = [0.6, 0.345, 0.055]
    label = np.repeat([0, 1, 2], [1700, 973, 327])
    rows = rows_of(label, np.ones(3000))
    mixture.diagnostics_ |= {"rows": 3000, "effective_rows": 2700.0}
    mixture.weights = "relative"
    assert not notices.fit_notices(mixture, level(weights), rows=rows)
    # of rows without labels only weights are known
    assert not notices.fit_notices(mixture, level(weights))
    few = rows_of(np.where(np.arange(3000) < 2800, label, 0), np.ones(3000))
    (small,) = notices.fit_notices(mixture, level(weights), rows=few)
    assert small.text.startswith("Component 2 has")
    counted = replace(few, label_rows=np.array([1700.0, 973.0, 327.0]))
    assert not notices.fit_notices(mixture, level(weights), rows=counted)
    # a table of 128 answer patterns, with their frequencies as weights
    mixture.weights = "counts"
    mixture.diagnostics_ |= {"rows": 128, "effective_rows": 6000.0}
    assert not notices.fit_notices(mixture, level(weights))


def test_row_notices__name_weights_that_the_data_lack(mixture):
    samples = open_samples(np.zeros((4, 1)))
    rows = replace(rows_of([0, 0, 0, 1], [1, 1, 1, 1]), samples=samples)
    mixture.diagnostics_ |= {"effective_rows": 3.5, "whole_weights": False}
    warning = notices.row_notices(mixture, rows, level([0.5, 0.5]))[1]
    assert "open_samples" in warning.text
    assert "overlap" not in warning.text
    weighted = replace(rows, samples=open_samples(np.zeros((4, 1)), weight=np.ones(4)))
    assert "overlap" in notices.row_notices(mixture, weighted, level([0.5, 0.5]))[1].text
