"""Scikit-learn's common checks of a topic model."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from bigtensor import TopicModel

SHORT = (
    "the check fits numbers below one, hence documents of fewer than three words, of which there "
    "are no triples: the error says so"
)
EXPECTED = {
    **dict.fromkeys(
        (
            "check_fit_score_takes_y",
            "check_sample_weights_list",
            "check_estimators_nan_inf",
            "check_estimator_sparse_tag",
            "check_estimator_sparse_array",
            "check_estimator_sparse_matrix",
        ),
        SHORT,
    ),
    "check_dtype_object": (
        "objects that are not numbers raise a DataError, which is a ValueError as all errors of "
        "the data; the check wants a TypeError"
    ),
}


# a few dozen documents of broken counts, of which most checks fit
@pytest.mark.filterwarnings("ignore::bigtensor.errors.ConditioningWarning")
@parametrize_with_checks(
    [TopicModel(2, random_state=0)], expected_failed_checks=lambda _: EXPECTED, xfail_strict=True
)
def test_common_checks__hold(estimator, check):
    check(estimator)
