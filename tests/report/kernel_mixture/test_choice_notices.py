import copy
import re

import numpy as np
import pytest

from bigtensor import KernelMixture
from bigtensor.models.kernel_mixture.report import notices
from bigtensor.models.words.wording import percent


def noticed(model, count):
    """Cut a copy of a model elsewhere, and return the notice."""
    (notice,) = notices.population_notices(copy.copy(model).cut_populations(count))
    return notice


@pytest.fixture(scope="module")
def merged_by_criterion(cells_path):
    model = KernelMixture(30, n_populations=4, merging="mean_misclassification", random_state=0)
    return model.fit(str(cells_path))


@pytest.mark.slow
def test_population_notices__say_how_well_halves_agree(merged_model):
    notice = noticed(merged_model, "auto")
    assert notice.level == "good"
    assert notice.text.startswith("4 populations: ")
    assert " 1.00, where 1 stands " in notice.text
    assert "the number that the data suggest." in notice.text
    many = noticed(merged_model, 20)
    # no agreement is known below which a number is wrong
    assert many.level == "note"
    assert many.text.endswith("The data suggest 4.")
    assert noticed(merged_model, 1).level == "warning"


@pytest.mark.slow  # a fit of thirty components, merged
def test_population_notices__name_other_numbers_that_are_as_good(merged_model):
    model = copy.copy(merged_model)
    found = dict(model.diagnostics_["population_count"], chosen=4, as_good=[3, 5, 6, 7])
    model.diagnostics_ = {**model.diagnostics_, "population_count": found}
    assert noticed(model, 4).text.endswith("3 and 5 to 7 would be about as good.")
    assert noticed(model, 2).text.endswith("4. 3 and 5 to 7 would be about as good.")


def test_outlier_notices__say_where_light_components_went(merged_model):
    model = copy.copy(merged_model)
    tree, weights = model.merge_tree_, model.merge_tree_.weights
    light = np.argsort(weights)[:3]
    found = {"count": 3, "share": float(weights[light].sum())}
    model.diagnostics_ = {**model.diagnostics_, "outlying_components": found}
    (notice,) = notices.outlier_notices(model.cut_populations(4))
    assert notice.level == "note"
    assert f"3 components hold {percent(weights[light].sum())} of the rows" in notice.text
    populations = tree.cut(4)[light].tolist()
    for population in set(populations):
        count = populations.count(population)
        assert f" {population} ({count} component{'s' if count > 1 else ''})" in notice.text
    # a tree that is hardly merged has them as populations of their own
    assert notices.outlier_notices(model.cut_populations(28)) == []


def test_outlier_notices__are_silent_without_outliers(merged_model, fitted_mixture):
    model = copy.copy(merged_model)
    none = {"outlying_components": {"count": 0, "share": 0.0}}
    model.diagnostics_ = {**model.diagnostics_, **none}
    assert notices.outlier_notices(model) == []
    assert notices.outlier_notices(fitted_mixture) == []


def test_population_notices__are_good_where_the_tree_would_be_cut_by_itself(merged_by_criterion):
    notice = noticed(merged_by_criterion, "auto")
    assert notice.level == "good"
    heights = merged_by_criterion.merge_tree_.heights
    assert merged_by_criterion.merge_tree_.cut_automatically() == 4
    assert f"misclassification of {heights[25]:.2g}; the next one" in notice.text
    assert notice.text.endswith(f"would have {heights[26]:.2g}.")


def test_population_notices__say_what_a_cut_elsewhere_does(merged_by_criterion):
    few = noticed(merged_by_criterion, 2)
    assert few.level == "warning"
    assert "were merged to get 2 populations" in few.text
    assert few.text.endswith("Cut by itself, the tree has 4.")
    many = noticed(merged_by_criterion, 9)
    assert many.level == "note"
    assert "9 populations where by itself it has 4" in many.text
    one = noticed(merged_by_criterion, 1)
    assert one.level == "warning"
    assert "Labels then say nothing" in one.text
    assert "the last merge" not in noticed(merged_by_criterion, 30).text


def test_population_notices__are_silent_without_populations(fitted_mixture):
    assert notices.population_notices(fitted_mixture) == []


def count(values, null, ratio=1.5):
    found = {"count": 1 + len(values), "singular_values": [values], "null": [null], "ratio": ratio}
    return notices.count_notices(found)[0]


def test_count_notices__say_how_clear_the_count_is():
    clear = count([9.0, 6.0, 1.1], [1.0, 1.0, 1.0])
    assert clear.level == "good"
    assert "by at least 6 times" in clear.text
    assert "one by 1.1 times. A" in clear.text
    for close in ([9.0, 1.6, 1.1], [9.0, 6.0, 1.4]):
        notice = count(close, [1.0, 1.0, 1.0])
        assert notice.level == "warning"
        assert "one more and one less" in notice.text


def test_count_notices__warn_at_either_end():
    assert "one component was taken" in count([1.0, 0.9], [1.0, 1.0]).text
    assert "the most that was looked for" in count([9.0, 8.0, 7.0], [1.0, 1.0]).text
    assert notices.count_notices(None) == []


def test_count_notices__take_the_group_that_shows_most():
    found = {
        "count": 3,
        "singular_values": [[2.0, 1.0, 1.0], [9.0, 5.0, 1.0]],
        "null": [[1.0, 1.0, 1.0], [1.0, 1.0, 1.0]],
        "ratio": 1.5,
    }
    assert "by at least 5 times" in notices.count_notices(found)[0].text


FACTORS = [0.25, 0.5, 1.0, 2.0]


def test_bandwidth_notices__name_the_choice():
    found = {"chosen": 0.5, "factors": FACTORS, "spectral_gaps": [0.1, 0.4, 0.3, 0.2]}
    (notice,) = notices.bandwidth_notices(found)
    assert notice.level == "note"
    assert re.search(r"bandwidth of 0\.5 .* of 4 bandwidths", notice.text)
    assert notices.bandwidth_notices(None) == []


@pytest.mark.parametrize(
    ("chosen", "end", "beyond"), [(0.25, "narrowest", "0.125"), (2.0, "widest", "4")]
)
def test_bandwidth_notices__warn_at_the_ends(chosen, end, beyond):
    found = {"chosen": chosen, "factors": FACTORS, "held_out_log_likelihood": [-1.0] * 4}
    (notice,) = notices.bandwidth_notices(found)
    assert notice.level == "warning"
    assert f"It is the {end} of those tried" in notice.text
    assert f"bandwidth={beyond}." in notice.text


def test_bandwidth_notices__warn_where_nothing_could_be_scored():
    found = {"chosen": 1.0, "factors": FACTORS, "held_out_log_likelihood": [None] * 4}
    assert "the rule was taken" in notices.bandwidth_notices(found)[0].text


def test_landmark_notices__name_the_worst_view():
    found = {
        "a": {"count": 50, "trace_error": 0.01},
        "b": {"count": 60, "trace_error": 0.4},
        "c": {"count": 70, "trace_error": 0.2},
        "d": {"count": 80, "trace_error": None},
    }
    (notice,) = notices.landmark_notices(found)
    assert re.match(r"The 60 landmarks of view b .* 1 .* 40 %", notice.text)
    del found["b"], found["c"]
    assert notices.landmark_notices(found) == []
