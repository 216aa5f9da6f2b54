import numpy as np
import pytest

from bigtensor.report import notices
from bigtensor.report.level import Level
from bigtensor.report.rows import ReportRows
from bigtensor.report.words import Notice


def level(weights, overlap=None, name="component"):
    weights = np.asarray(weights, float)
    none = np.zeros((0, len(weights)))
    return Level(name, weights, (), none, np.eye(len(weights)) if overlap is None else overlap)


def rows_of(label, certainty, *, total=None, left_out=0):
    label = np.asarray(label)
    return ReportRows(
        values=np.zeros((len(label), 1)),
        label=label,
        probability=np.asarray(certainty, float)[:, None],
        weight=np.ones(len(label)),
        truth=None,
        sample_id=None,
        total=len(label) if total is None else total,
        left_out=left_out,
    )


def test_fit_notices__begin_with_the_verdict(mixture):
    mixture.diagnostics_["spectral"] |= {"concerns": ["rank deficient"]}
    (notice,) = notices.fit_notices(mixture, level(mixture.weights_))
    assert notice.level == "good"
    assert notice.text.startswith("No fault was found in the mixture (held-out log-likelihood -")
    mixture.diagnostics_["verdict"] |= {"good": False, "sentences": ["A fault.", "A remedy."]}
    (notice,) = notices.fit_notices(mixture, level(mixture.weights_))
    assert notice == Notice("warning", "A fault. A remedy.")


@pytest.fixture
def unjudged(mixture):
    """A model of an earlier version."""
    del mixture.diagnostics_["verdict"]
    return mixture


def test_fit_notices__are_good_when_nothing_is_doubtful(unjudged):
    mixture = unjudged
    mixture.diagnostics_["spectral"] |= {"concerns": [], "spectral_gap": [9.0, 4.25, None]}
    mixture.diagnostics_["mean_log_likelihood"] = [-5.0, -4.9]
    (notice,) = notices.fit_notices(mixture, level(mixture.weights_))
    assert notice.level == "good"
    assert "4.25 times the first one left out" in notice.text
    second = ", ".join(mixture.diagnostics_["groups"][1])
    assert notice.text.endswith(f"in the group {second}.")


@pytest.mark.parametrize(
    ("concern", "words"),
    [
        ("small spectral gap", "1.2 times the first one left out"),
        ("rank deficient", "Use fewer components, more rows"),
        ("not converged", "used up its steps"),
        ("never heard of", "never heard of"),
    ],
)
def test_fit_notices__explain_every_concern(unjudged, concern, words):
    mixture = unjudged
    mixture.diagnostics_["spectral"] |= {"concerns": [concern], "spectral_gap": [9.0, 4.0, 1.2]}
    first = notices.fit_notices(mixture, level(mixture.weights_))[0]
    assert first.level == "warning"
    assert words in first.text


def test_fit_notices__know_every_outcome_of_the_decomposition():
    from bigtensor.decomposition.solution import Outcome

    doubtful = {outcome.value for outcome in Outcome if outcome is not Outcome.CONVERGED}
    assert doubtful == set(notices._CONCERNS)


def test_fit_notices__name_small_and_similar_components(mixture):
    mixture.weights_ = np.array([0.7, 0.29, 0.01])
    overlap = np.array([[1.0, 0.1, 0.0], [0.1, 1.0, 0.63], [0.0, 0.63, 1.0]])
    texts = [
        one.text
        for one in notices.fit_notices(mixture, level(mixture.weights_, overlap))
        if one.level == "warning"
    ]
    assert any("Component 2 (about 60 rows) is so small" in text for text in texts)
    assert any("components 1 and 2 (0.63). Such" in text for text in texts)
    assert not any("0 and 1" in text for text in texts)


def test_fit_notices__judge_the_likelihood(unjudged):
    mixture = unjudged
    mixture.diagnostics_["mean_log_likelihood"] = [-5.0, -4.5, -4.75]
    texts = [one.text for one in notices.fit_notices(mixture, level(mixture.weights_))]
    assert any("fell by 0.25 nats a row in posterior pass 3" in text for text in texts)
    del mixture.diagnostics_["spectral"]
    mixture.diagnostics_["mean_log_likelihood"] = [-5.0, -4.5]
    texts = [one.text for one in notices.fit_notices(mixture, level(mixture.weights_))]
    assert any("still rose by 0.5 nats" in text for text in texts)
    mixture.diagnostics_["posterior_widths"] = {"view1": 0.4}
    texts = [one.text for one in notices.fit_notices(mixture, level(mixture.weights_))]
    assert not any("nats" in text for text in texts)


def test_fit_notices__tell_of_rows_left_out_and_of_notes(mixture):
    mixture.diagnostics_ |= {"rows_left_out": 1, "notes": ["view 'a': few distinct values"]}
    found = notices.fit_notices(mixture, level(mixture.weights_))
    assert "1 row with missing values was left out of the fit." in [one.text for one in found]
    assert found[-1] == Notice("note", "View 'a': few distinct values.")
    levels = [one.level for one in found]
    assert levels == sorted(levels, key=["warning", "good", "note"].index)


def test_row_notices__count_certain_rows():
    rows = rows_of([0, 0, 1, 1], [0.99, 0.95, 0.5, 0.91])
    (notice,) = notices.row_notices(rows, level([0.5, 0.5]))
    assert notice.text.startswith("75 % of the sampled rows")


def test_row_notices__warn_of_foreign_labels_and_missing_values():
    rows = rows_of([0, 0, 0, 1], [1, 1, 1, 1], left_out=7)
    texts = [one.text for one in notices.row_notices(rows, level([0.5, 0.5]))]
    assert "Component 0 holds 75.0 % of the labelled rows, but its weight is 50.0 %." in texts[1]
    assert texts[2].startswith("7 rows of the sample hold missing values")


def test_notices__speak_of_populations_where_these_are_shown(mixture):
    overlap = np.array([[1.0, 0.1, 0.0], [0.1, 1.0, 0.63], [0.0, 0.63, 1.0]])
    shown = level([0.7, 0.29, 0.01], overlap, "population")
    texts = [one.text for one in notices.fit_notices(mixture, shown)]
    assert any(text.startswith("Population 2 (about 60 rows) is so small") for text in texts)
    assert any("populations 1 and 2 (0.63). Such a pair may be one population;" in t for t in texts)
    rows = rows_of([0, 0, 0, 1], [1, 1, 1, 1])
    texts = [one.text for one in notices.row_notices(rows, level([0.5, 0.5], name="population"))]
    assert texts[0].startswith("100 % of the sampled rows belong to their population")
    assert texts[1].startswith("Population 0 holds 75.0 %")


def test_fit_notices__do_not_list_components_without_end(mixture):
    count = notices.MOST_NAMED + 4
    shown = level(np.full(count, 1e-3), np.ones((count, count)))
    small, alike = (
        one.text
        for one in notices.fit_notices(mixture, shown)
        if "so small" in one.text or "Hard to tell" in one.text
    )
    assert small.count("rows)") == alike.count("(1.00)") == notices.MOST_NAMED
    assert "and 4 more" in small
