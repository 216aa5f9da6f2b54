"""Bad input of independent component analysis, and data that do not support it."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from bigtensor import ICA, KernelICA, SparseICA, simulate
from bigtensor.errors import (
    ConditioningWarning,
    ConstantFeatureWarning,
    DataError,
    IdentifiabilityError,
    MissingValueError,
    ParameterError,
)
from bigtensor.models.sources.settings import most_sources
from tests.models.sources.ica.problems import column_error, problem


@pytest.fixture(scope="module")
def rows():
    return problem("laplace", 4, 4, 20_000, seed=1)[0]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_components": 0}, "n_components is 0; .* at least 1"),
        ({"n_components": 2.5}, "n_components is 2.5"),
        ({"method": "fast"}, "method is 'fast'; .* auto, whitened, "),
        ({"max_iter": 0}, "max_iter is 0"),
        ({"gauss_newton_steps": -1}, "gauss_newton_steps is -1"),
        (
            {"n_components": 5, "method": "whitened"},
            "n_components=5 .*4 f.*method='cumulant'",
        ),
        (
            {"n_components": 9},
            "n_components=9 exceeds 8, .*cumulant",
        ),
    ],
)
def test_parameters__out_of_range_are_errors(rows, settings, message):
    with pytest.raises(ParameterError, match=message):
        ICA(**settings).fit(rows)


def test_most_sources__leave_the_cumulant_more_entries_than_columns():
    assert [most_sources(d) for d in (1, 2, 3, 4, 10)] == [1, 2, 4, 8, 55]


def test_few_rows__are_an_error(rows):
    with pytest.raises(DataError, match="3 rows, fewer than the 4 "):
        ICA().fit(rows[:3])
    with pytest.raises(DataError, match="have 1 row"):
        ICA(1).fit(rows[:1])
    weight = np.where(np.arange(40) < 3, 1.0, 0.0)
    with pytest.raises(DataError, match="3 rows, fewer than the 4 "):
        ICA().fit(np.random.default_rng(0).normal(size=(40, 4)), sample_weight=weight)


@pytest.mark.parametrize(
    "model", [ICA(10), ICA(), SparseICA(3), KernelICA(3, kernel="linear")], ids=str
)
def test_transposed_recording__is_refused_before_its_rows_are_read(model):
    recording = np.broadcast_to(0.0, (32, 8_000))
    with pytest.raises(DataError, match=r"32 rows and 8,000 features.*X\.T"):
        model.fit(recording)


def test_short_transposed_recording__is_a_warning(rows):
    with pytest.warns(ConditioningWarning, match=r"8 rows and 120 features.*X\.T"):
        ICA(2).plan(rows[:240].reshape(8, 120))


def test_table_of_genes__has_fewer_rows_than_features_without_warnings_on_it():
    rng = np.random.default_rng(0)
    genes = rng.laplace(size=(200, 3)) @ rng.normal(size=(3, 800)) + rng.normal(size=(200, 800))
    with warnings.catch_warnings(record=True) as raised:
        warnings.simplefilter("always")
        assert ICA(3, method="whitened").fit(genes).mixing_.shape == (800, 3)
    assert not [w for w in raised if "X.T" in str(w.message)]


def test_missing_values__are_an_error(rows):
    bad = rows.copy()
    bad[7, 2] = np.nan
    with pytest.raises(MissingValueError, match="row 7"):
        ICA().fit(bad)


def test_constant_features__are_named_and_have_no_part(rows):
    wide = np.insert(rows, 2, 5.0, axis=1)
    with pytest.warns(ConstantFeatureWarning, match="Feature 'x2' has one value only"):
        found = ICA(random_state=0).fit(wide)
    assert found.mixing_.shape == (5, 4)
    assert not found.mixing_[2].any()
    assert not found.components_[:, 2].any()
    alone = ICA(random_state=0).fit(rows)
    assert np.allclose(np.delete(found.mixing_, 2, axis=0), alone.mixing_, atol=1e-4)


def test_features_that_are_all_constant__are_an_error():
    with pytest.raises(DataError, match="all features are constant"):
        ICA().fit(np.full((100, 3), 7.0))


def test_duplicated_features__lower_the_rank(rows):
    wide = np.hstack([rows, rows[:, :2] * 3 - 1])
    found = ICA(random_state=0).fit(wide)
    assert found.mixing_.shape == (6, 4)
    assert found.diagnostics_["rank"] == 4
    assert "have the rank 4" in found.diagnostics_["verdict"]["sentences"][0]
    assert found.mixing_[4:] == pytest.approx(3 * found.mixing_[:2], abs=1e-4)
    with pytest.warns(ConditioningWarning, match="have the rank 4.*method='cumulant'"):
        assert ICA(6, random_state=0).fit(wide).mixing_.shape == (6, 4)


@pytest.mark.parametrize("repeated", ["rows", "weights"])
def test_gaussian_sources__of_copies_are_no_more_than_those_of_the_rows(repeated):
    rows, times = np.random.default_rng(0).normal(size=(600, 15)), 4
    if repeated == "rows":
        rows, weight = np.tile(rows, (times, 1)), None
    else:
        weight = np.full(600, times)
    with pytest.warns(ConditioningWarning, match="sources are Gaussian within"):
        ICA(random_state=0).fit(rows, sample_weight=weight)


def test_weights_of_coarse_values__count_rows_that_are_equal_by_chance():
    rows = np.random.default_rng(0).exponential(2.0, size=(4000, 3)).round()
    values, times = np.unique(rows, axis=0, return_counts=True)
    counted = ICA(random_state=0).fit(values, sample_weight=times)
    assert counted.diagnostics_["gaussian_sources"] == 0


def test_gaussian_sources__are_told():
    gaussian = np.random.default_rng(0).standard_normal((20_000, 4))
    with pytest.warns(ConditioningWarning, match="4 of the 4 sources are Gaussian within"):
        ICA(method="whitened", random_state=0).fit(gaussian)
    mixed = np.hstack([gaussian[:, :2], problem("laplace", 4, 4, 20_000, seed=2)[0]])
    found = ICA(method="whitened", random_state=0).fit(mixed)
    sentences = " ".join(found.diagnostics_["verdict"]["sentences"])
    assert "2 of the 6 sources are Gaussian" in sentences
    # sources of few rows may differ from Gaussian ones and not be told from them
    assert "may be mixtures of each other" in sentences
    assert found.diagnostics_["gaussian_sources"] == 2
    assert np.abs(found.kurtosis_[-2:]).max() < 0.2


@pytest.mark.filterwarnings("ignore::bigtensor.errors.ConditioningWarning")
@pytest.mark.parametrize("n_sources", [2, 4])
@pytest.mark.quick_cases("2")
def test_uniform_sources_of_few_rows__are_rarely_called_gaussian(n_sources):
    good = 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        mixing, _ = np.linalg.qr(rng.normal(size=(n_sources, n_sources)))
        rows = rng.uniform(-1, 1, size=(150, n_sources)) @ mixing.T
        model = ICA(random_state=0).fit(rows)
        cosines = np.abs(mixing.T @ (model.mixing_ / np.linalg.norm(model.mixing_, axis=0)))
        assert cosines.max(axis=0).min() > 0.9
        good += model.diagnostics_["verdict"]["good"]
    assert good >= 10


def test_gaussian_sources__are_counted_among_many():
    rows = np.random.default_rng(0).normal(size=(1000, 60))
    with pytest.warns(ConditioningWarning, match="of the 60 sources are Gaussian within"):
        model = ICA(random_state=0).fit(rows)
    assert model.diagnostics_["gaussian_sources"] >= 55


def test_fewer_sources_than_asked__are_returned_as_fewer():
    values, mixing, _ = problem("laplace", 12, 5, 60_000, noise=0.3, seed=3)
    with pytest.warns(ConditioningWarning, match="5 of 8 sources .*n_components=5"):
        found = ICA(8, method="cumulant", random_state=0).fit(values)
    assert found.mixing_.shape == (12, 5)
    assert column_error(mixing, found.mixing_) < 0.06
    # as many as there are, without a warning
    found = ICA(method="cumulant", random_state=0).fit(values)
    assert found.mixing_.shape == (12, 5)
    sentences = " ".join(found.diagnostics_["verdict"]["sentences"])
    assert "5 of 12 sources stand out" in sentences


def test_gaussian_rows__have_no_cumulant():
    gaussian = np.random.default_rng(1).standard_normal((20_000, 4))
    with pytest.raises(IdentifiabilityError, match=r"no source stands out.*method='whitened'"):
        ICA(method="cumulant", random_state=0).fit(gaussian)


@pytest.mark.parametrize("method", ["whitened", "cumulant"])
def test_an_outlier_of_a_million__changes_nothing_but_a_warning(rows, method):
    bad = np.vstack([rows, np.full((1, 4), 1e6, "f4")])
    with pytest.warns(ConditioningWarning, match="1 row lies far from all others"):
        found = ICA(method=method, random_state=0).fit(bad)
    alone = ICA(method=method, random_state=0).fit(rows)
    assert column_error(alone.mixing_, found.mixing_) < 0.02
    assert found.diagnostics_["outlying_rows"] == 1


def test_offsets__in_float32_cost_few_digits(rows):
    far = (rows.astype("f8") + 1e4).astype("f4")
    near = far.astype("f8") - 1e4
    moved, still = (ICA(random_state=0).fit(part) for part in (far, near))
    assert column_error(still.mixing_, moved.mixing_) < 1e-3


@pytest.mark.parametrize("others", [5, 600])
def test_flat_stretch__after_a_few_other_rows_is_fitted(rows, others):
    """All rows that vary are in one block, which estimates of errors leave out."""
    flat = np.vstack([rows[:others], np.repeat(rows[:1], 10_000 - others, axis=0)])
    found = ICA(random_state=0).fit(flat)
    assert np.isfinite(found.mixing_).all()
    if others > 500:
        alone = ICA(random_state=0).fit(rows[:others])
        assert column_error(alone.mixing_, found.mixing_) < 0.2


def test_channels_as_rows__are_refused_before_a_covariance_of_time():
    wide = np.broadcast_to(np.float32(0), (8, 30_000))
    with pytest.raises(DataError, match=r"8 rows and 30,000 features.*X\.T"):
        ICA(3).fit(wide)


def test_batches_by_the_cumulant__name_the_pass_that_is_missing(rows):
    found = ICA(method="cumulant", random_state=0).partial_fit(rows)
    with pytest.raises(NotFittedError, match=r"further pass.*'contractions'"):
        found.transform(rows)
    assert found.statistics_.rows == len(rows)
    # as the message says
    found.solve(found.accumulate(rows))
    assert found.transform(rows).shape == rows.shape


def test_constant_feature__leaves_the_cumulant_to_more_sources_than_others():
    data = simulate.ica(5_000, 4, n_features=3, random_state=0)["X"].to_numpy()
    wide = np.insert(data, 1, 1.0, axis=1)
    with pytest.warns(ConstantFeatureWarning):
        found = ICA(4, random_state=0).fit(wide)
    alone = ICA(4, random_state=0).fit(data)
    assert found.method_ == alone.method_ == "cumulant"
    assert np.delete(found.mixing_, 1, axis=0) == pytest.approx(alone.mixing_, abs=1e-3)
    with pytest.raises(ParameterError, match="the 3 features that vary"):
        ICA(4, method="whitened").fit(wide)
