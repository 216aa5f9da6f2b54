import copy

import numpy as np
import pytest

from bigtensor.models.kernel_mixture.report import sentences as of_kernels
from bigtensor.models.words.label_level import level_of
from bigtensor.models.words.wording import size
from bigtensor.report import sentences
from tests.report.labelled_rows import rows_of


def text_of(model):
    found = sentences.fit_sentences(model, level_of(model), of_kernels.method_sentences(model))
    return " ".join(found)


def test_fit_sentences__say_what_was_fitted_on_what(mixture):
    text = text_of(mixture)
    found = mixture.diagnostics_
    assert "3 components was fitted to 6,000 rows" in text
    assert f"The data: {found['data']}." in text
    assert "Every feature is a view of its own" in text
    assert "4 passes: pilot (6,000 rows), moments" in text
    assert "come from a sample of 6,000 rows." in text
    assert f"by joint diagonalisation; of {len(found['spectral']['candidates'])} cand" in text
    assert f"“{found['spectral']['chosen']}”" in text
    assert f"{size(found['plan']['projected_nbytes'])} in a process" in text
    assert "with no limit given" in text
    assert "Random state 0: the same data" in text


def test_fit_sentences__follow_the_diagnostics(mixture, wide_mixture, cell_model):
    mixture.diagnostics_["passes"][1]["reused_parts"] = 3
    mixture.diagnostics_["plan"]["allowed_nbytes"] = 2**30
    text = text_of(mixture)
    assert "3 parts came from a checkpoint" in text
    assert "of 1.0 GiB allowed" in text
    assert "within a component: both (" in text_of(wide_mixture)
    started = text_of(cell_model)
    assert "k-means clusters" in started
    assert "candidate" not in started


def test_sample_sentence__says_whether_all_rows_are_shown():
    everything = rows_of([0] * 10, [1] * 10)
    assert sentences.sample_sentence(everything).endswith("show all 10 rows of the data.")
    part = rows_of([0] * 10, [1] * 10, total=4000)
    assert "a sample of 10 of the 4,000 rows" in sentences.sample_sentence(part)


def test_cuts_sentences__name_cuts_that_are_as_good(merged_model):
    model = copy.copy(merged_model)
    found = dict(model.diagnostics_["population_count"], chosen=4, as_good=[])
    model.diagnostics_ = {**model.diagnostics_, "population_count": found}
    assert len(of_kernels.cuts_sentences(model)) == 2
    found["as_good"] = [3, 5]
    last = of_kernels.cuts_sentences(model)[-1]
    assert last.startswith("3 and 5 populations are about as good")
    assert "standard error between random halves" in last
    assert "dashed line" in of_kernels.cuts_sentences(model)[1]
    # models of earlier versions do not know the limit
    del found["separate_below"]
    assert "dashed line" not in of_kernels.cuts_sentences(model)[1]
    del model.diagnostics_["population_count"]
    assert of_kernels.cuts_sentences(model) == []


def test_likelihood_sentence__explains_a_fall_where_densities_are_broadened():
    assert "may fall" not in of_kernels.likelihood_sentence({})
    assert "may fall" in of_kernels.likelihood_sentence({"posterior_widths": [1.0]})


def test_component_description__names_what_differs_most_first():
    found = of_kernels.component_description(np.array([0.8, -2.0, 0.1, 1.0]), ["a", "b", "c", "d"])
    assert found == "b very low, d high, a high"
    nothing = of_kernels.component_description(np.zeros(2), ["a", "b"])
    assert nothing == "near the overall mean in every feature"


def test_fit_sentences__name_every_criterion_of_merging():
    from bigtensor.decomposition.merging.component_merging import CRITERIA, LEVELS

    assert set(CRITERIA) == {LEVELS, *of_kernels._CRITERIA}


def test_fit_sentences__say_how_populations_came_about(merged_model):
    text = text_of(merged_model)
    assert "30 components" in text
    assert "into 4 populations" in text
    assert "at least 1 times as wide as the spread" in text


@pytest.mark.parametrize(("temperature", "told"), [(1.0, False), (1.254, True)])
def test_fit_sentences__tell_of_a_temperature(merged_model, monkeypatch, temperature, told):
    monkeypatch.setitem(merged_model.diagnostics_, "probability_temperature", temperature)
    text = text_of(merged_model)
    assert ("temperature 1.25" in text) == told


def test_fit_sentences__name_kernels_and_shared_components(mixture, monkeypatch):
    monkeypatch.setitem(mixture.diagnostics_, "kernels", {"view1": "laplace"})
    monkeypatch.setitem(mixture.diagnostics_, "shared", True)
    text = text_of(mixture)
    assert "view1 laplace; Gaussian for all other" in text
    assert "has the same density in all views." in text
    kernels = dict.fromkeys(mixture.views_.features, "laplace")
    monkeypatch.setitem(mixture.diagnostics_, "kernels", kernels)
    assert "Kernel of all views: laplace." in text_of(mixture)
