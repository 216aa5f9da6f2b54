import numpy as np
import pytest

from bigtensor.report import summary
from bigtensor.report.rows import ReportRows

APART = np.eye(3)


def rows_of(label, certainty, *, total=None, left_out=0):
    label = np.asarray(label)
    return ReportRows(
        values=np.zeros((len(label), 1)),
        label=label,
        certainty=np.asarray(certainty, float),
        weight=np.ones(len(label)),
        truth=None,
        sample_id=None,
        total=len(label) if total is None else total,
        left_out=left_out,
    )


def test_fit_sentences__say_what_was_fitted_on_what(mixture):
    text = " ".join(summary.fit_sentences(mixture))
    found = mixture.diagnostics_
    assert "A KernelMixture of 3 components was fitted to 6,000 rows of 4 features." in text
    assert f"The data: {found['data']}." in text
    assert "Every feature is a view of its own" in text
    assert "The data were read in 4 passes: pilot (6,000 rows), moments (6,000 rows)" in text
    assert "Bandwidths and landmarks come from a sample of 6,000 rows." in text
    assert f"by joint diagonalisation; of {len(found['spectral']['candidates'])} cand" in text
    assert f"“{found['spectral']['chosen']}”" in text
    assert f"{summary.size(found['plan']['projected_nbytes'])} in a process" in text
    assert "with no limit given" in text
    assert "Random state 0: the same data" in text


def test_fit_sentences__follow_the_diagnostics(mixture, wide_mixture, cell_model):
    mixture.diagnostics_["passes"][1]["reused_parts"] = 3
    mixture.diagnostics_["plan"]["allowed_nbytes"] = 2**30
    text = " ".join(summary.fit_sentences(mixture))
    assert "3 parts came from a checkpoint" in text
    assert "of 1.0 GiB allowed" in text
    assert "Views, independent of each other within a component: both (" in " ".join(
        summary.fit_sentences(wide_mixture)
    )
    started = " ".join(summary.fit_sentences(cell_model))
    assert "started from k-means clusters" in started
    assert "candidate" not in started


def test_fit_notices__are_good_when_nothing_is_doubtful(mixture):
    mixture.diagnostics_["spectral"] |= {"concerns": [], "spectral_gap": [9.0, 4.25, None]}
    mixture.diagnostics_["mean_log_likelihood"] = [-5.0, -4.9]
    (notice,) = summary.fit_notices(mixture, APART)
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
def test_fit_notices__explain_every_concern(mixture, concern, words):
    mixture.diagnostics_["spectral"] |= {"concerns": [concern], "spectral_gap": [9.0, 4.0, 1.2]}
    first = summary.fit_notices(mixture, APART)[0]
    assert first.level == "warning"
    assert words in first.text


def test_fit_notices__know_every_outcome_of_the_decomposition():
    from bigtensor.decomposition.solution import Outcome

    doubtful = {outcome.value for outcome in Outcome if outcome is not Outcome.CONVERGED}
    assert doubtful == set(summary._CONCERNS)


def test_fit_notices__name_small_and_similar_components(mixture):
    mixture.weights_ = np.array([0.7, 0.29, 0.01])
    overlap = np.array([[1.0, 0.1, 0.0], [0.1, 1.0, 0.63], [0.0, 0.63, 1.0]])
    texts = [one.text for one in summary.fit_notices(mixture, overlap) if one.level == "warning"]
    assert any("Component 2 (about 60 rows) is so small" in text for text in texts)
    assert any("components 1 and 2 (0.63). Such" in text for text in texts)
    assert not any("0 and 1" in text for text in texts)


def test_fit_notices__judge_the_likelihood(mixture, cell_model):
    mixture.diagnostics_["mean_log_likelihood"] = [-5.0, -4.5, -4.75]
    texts = [one.text for one in summary.fit_notices(mixture, APART)]
    assert any("fell by 0.25 nats a row in posterior pass 3" in text for text in texts)
    del mixture.diagnostics_["spectral"]
    mixture.diagnostics_["mean_log_likelihood"] = [-5.0, -4.5]
    texts = [one.text for one in summary.fit_notices(mixture, APART)]
    assert any("still rose by 0.5 nats" in text for text in texts)


def test_fit_notices__tell_of_rows_left_out_and_of_notes(mixture):
    mixture.diagnostics_ |= {"rows_left_out": 1, "notes": ["view 'a': few distinct values"]}
    notices = summary.fit_notices(mixture, APART)
    assert "1 row with missing values was left out of the fit." in [one.text for one in notices]
    assert notices[-1] == summary.Notice("note", "View 'a': few distinct values.")
    levels = [one.level for one in notices]
    assert levels == sorted(levels, key=["warning", "good", "note"].index)


def test_row_notices__count_certain_rows():
    rows = rows_of([0, 0, 1, 1], [0.99, 0.95, 0.5, 0.91])
    (notice,) = summary.row_notices(rows, np.array([0.5, 0.5]))
    assert notice.text.startswith("75 % of the sampled rows")


def test_row_notices__warn_of_foreign_labels_and_missing_values():
    rows = rows_of([0, 0, 0, 1], [1, 1, 1, 1], left_out=7)
    texts = [one.text for one in summary.row_notices(rows, np.array([0.5, 0.5]))]
    assert "Component 0 holds 75.0 % of the labelled rows, but its weight is 50.0 %." in texts[1]
    assert texts[2].startswith("7 rows of the sample hold missing values")


def test_sample_sentence__says_whether_all_rows_are_shown():
    everything = rows_of([0] * 10, [1] * 10)
    assert summary.sample_sentence(everything).endswith("show all 10 rows of the data.")
    part = rows_of([0] * 10, [1] * 10, total=4000)
    assert "a sample of 10 of the 4,000 rows" in summary.sample_sentence(part)


def test_component_description__names_what_differs_most_first():
    found = summary.component_description(np.array([0.8, -2.0, 0.1, 1.0]), ["a", "b", "c", "d"])
    assert found == "b very low, d high, a high"
    nothing = summary.component_description(np.zeros(2), ["a", "b"])
    assert nothing == "near the overall mean in every feature"


@pytest.mark.parametrize(
    ("nbytes", "words"),
    [(512, "512 bytes"), (2048, "2.0 KiB"), (300 * 2**20, "300 MiB"), (2**41, "2.0 TiB")],
)
def test_size__uses_the_unit_that_fits(nbytes, words):
    assert summary.size(nbytes) == words
