"""Components with a covariance each, against scikit-learn and against true parameters."""

import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.random import default_rng
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture as Peer
from sklearn.model_selection import train_test_split

from bigtensor import GaussianMixture, merge
from bigtensor.errors import ConditioningWarning, RefinementWarning, WeightWarning
from bigtensor.models.gaussian_mixture.own_covariance.components import OwnCovarianceComponents
from bigtensor.statistics import windows
from bigtensor.statistics.gaussian.own_covariance_densities import Frame

KINDS = ("full", "diag", "spherical")
FAST = {"n_init": 2, "random_state": 0}


def drawn(n=4000, seed=0):
    """Return rows of three components whose covariances differ, and their labels."""
    rng = default_rng(seed)
    label = rng.choice(3, n, p=[0.5, 0.3, 0.2])
    means = np.array([[0.0, 0, 0], [4, 4, 0], [0, 5, 5]])
    roots = np.array([np.diag([1.0, 0.3, 2]), [[1, 0, 0], [0.9, 0.4, 0], [0, 0, 1]], np.eye(3)])
    return means[label] + np.einsum("nij,nj->ni", roots[label], rng.normal(size=(n, 3))), label


@pytest.fixture(scope="module", params=KINDS)
def kind(request):
    return request.param


@pytest.fixture(scope="module")
def fitted(kind):
    rows, _ = drawn()
    return rows, GaussianMixture(3, covariance_type=kind, **FAST).fit(rows)


def test_fit__is_that_of_scikit_learn(kind, fitted):
    rows, model = fitted
    peer = Peer(3, covariance_type=kind, n_init=3, tol=1e-7, max_iter=500, random_state=0)
    peer.fit(rows)
    assert model.score(rows) > peer.score(rows) - 1e-4
    order = np.argsort(-peer.weights_)
    np.testing.assert_allclose(model.weights_, peer.weights_[order], atol=0.005)
    for name in ("means_", "covariances_", "precisions_", "precisions_cholesky_"):
        expected = getattr(peer, name)[order]
        assert getattr(model, name).shape == expected.shape
        np.testing.assert_allclose(getattr(model, name), expected, rtol=0.05, atol=0.08)
    assert (model.predict(rows) == np.argsort(order)[peer.predict(rows)]).mean() > 0.995
    for name in ("aic", "bic"):
        assert getattr(model, name)(rows) == pytest.approx(getattr(peer, name)(rows), rel=1e-4)


def test_densities__are_those_of_scikit_learn_with_the_same_parameters(kind, fitted):
    rows, model = fitted
    peer = Peer(3, covariance_type=kind)
    peer.weights_, peer.means_ = model.weights_, model.means_
    peer.covariances_, peer.precisions_cholesky_ = model.covariances_, model.precisions_cholesky_
    np.testing.assert_allclose(model.score_samples(rows), peer.score_samples(rows), atol=1e-9)
    np.testing.assert_allclose(model.predict_proba(rows), peer.predict_proba(rows), atol=1e-6)


@pytest.mark.parametrize(
    "data",
    [
        load_iris,
        *(pytest.param(d, marks=pytest.mark.slow) for d in (load_wine, load_breast_cancer)),
    ],
)
@pytest.mark.quick_cases("diag-load_iris", "spherical-load_iris")
def test_initialisations__reach_the_likelihood_of_scikit_learn(data, kind):
    rows = data().data
    for split in range(2):
        train, _ = train_test_split(rows, test_size=0.3, random_state=split)
        settings = {"covariance_type": kind, "reg_covar": 1e-6, "max_iter": 200}
        model = GaussianMixture(3, random_state=0, **settings).fit(train)
        # with the regularisation of scikit-learn on standardised features
        scale = train.std(axis=0)
        peer = Peer(3, covariance_type=kind, n_init=5, tol=1e-5, max_iter=200, random_state=0)
        if kind == "spherical":
            expected = peer.fit(train).score(train)
        else:
            expected = peer.fit(train / scale).score(train / scale) - np.log(scale).sum()
        assert model.score(train) > expected - 0.1


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.quick_cases("0", "4")
def test_narrow_component__is_found_across_two_clusters(seed):
    rng = default_rng(seed)
    rows = rng.normal(size=(600, 2))
    # k-means divides this feature, and the narrow component has rows on both sides
    rows[:, 0] += 2 * rng.integers(0, 2, 600)
    rows[rng.random(600) < 0.4, 1] *= 0.01
    model = GaussianMixture(2, covariance_type="diag", random_state=seed).fit(rows)
    assert model.covariances_[:, 1].min() < 1e-3


def test_units_and_offsets__do_not_matter(kind, fitted):
    rows, model = fitted
    # one unit for all features, because a spherical covariance compares them
    units = 1e3 if kind == "spherical" else np.array([1e-4, 1.0, 1e5])
    other = GaussianMixture(3, covariance_type=kind, **FAST).fit(rows * units + 7 * units)
    np.testing.assert_allclose(other.means_, model.means_ * units + 7 * units, rtol=1e-5)
    np.testing.assert_array_equal(other.predict(rows * units + 7 * units), model.predict(rows))


def test_sample__has_the_moments_of_the_model(fitted):
    _, model = fitted
    values, label = model.sample(200_000, random_state=1)
    for component in range(3):
        own = values[label == component]
        np.testing.assert_allclose(own.mean(axis=0), model.means_[component], atol=0.05)
        found = np.cov(own.T)
        expected = model.covariances_[component]
        whole = expected if np.ndim(expected) == 2 else np.eye(3) * expected
        np.testing.assert_allclose(found, whole, atol=0.1)


def test_rounds__are_the_iterations_of_a_fit(kind):
    rows, _ = drawn(2000)
    once = GaussianMixture(3, covariance_type=kind, max_iter=1, **FAST).fit(rows)
    prepared = GaussianMixture(3, covariance_type=kind, **FAST).prepare(rows)
    prepared.solve(merge([prepared.accumulate(rows[:700]), prepared.accumulate(rows[700:])]))
    np.testing.assert_allclose(prepared.means_, once.means_, atol=1e-8)
    np.testing.assert_allclose(prepared.covariances_, once.covariances_, atol=1e-8)


def test_labels_of_some_rows__name_the_components(kind):
    rows, label = drawn(3000)
    some = np.full(len(rows), -1)
    for component in range(3):
        some[np.flatnonzero(label == component)[:5]] = component + 10
    model = GaussianMixture(3, covariance_type=kind, **FAST).fit(rows, some)
    assert model.classes_.tolist() == [10, 11, 12]
    assert (model.predict(rows) == label).mean() > 0.95


@pytest.mark.parametrize(
    "as_names",
    [
        lambda codes: codes.astype(float),
        lambda codes: np.where(codes < 0, np.nan, codes.astype(float)),
        lambda codes: np.where(codes < 0, None, codes.astype(str).astype(object)),
        lambda codes: np.where(codes < 0, np.nan, codes.astype(str).astype(object)),
        lambda codes: np.where(codes < 0, -1, codes.astype(str).astype(object)),
        lambda codes: np.where(codes < 0, "", codes.astype(str)),
        lambda codes: pd.Categorical.from_codes(np.maximum(codes - 10, -1), ["10", "11", "12"]),
        lambda codes: pd.Series(codes).astype(str).where(codes >= 0).astype("string"),
        lambda codes: [str(code) if code >= 0 else np.nan for code in codes],
        lambda codes: [str(code) if code >= 0 else -1 for code in codes],
        lambda codes: np.array([*codes, None], object)[:-1],
    ],
    ids=[
        *("float -1", "float NaN", "None", "NaN", "-1 of names", "empty", "categorical"),
        *("string", "list with NaN", "list with -1", "objects of NumPy"),
    ],
)
@pytest.mark.quick_cases("float NaN", "None", "-1 of names", "categorical")
def test_labels_of_some_rows__may_be_missing_in_any_way(as_names):
    rows, label = drawn(300)
    some = np.where(np.arange(300) % 2, -1, label + 10)
    model = GaussianMixture(3, random_state=0).fit(rows, as_names(some))
    assert model.classes_.astype(str).tolist() == ["10", "11", "12"]


def test_two_classes__of_a_classifier_are_no_labels_of_some_rows():
    rows, label = drawn(300)
    for classes in (np.where(label, 1, -1), pd.Series(np.where(label, 1, -1), dtype=object)):
        assert not hasattr(GaussianMixture(2, random_state=0).fit(rows, classes), "classes_")


@pytest.mark.parametrize("copies", [40, 400])
def test_equal_rows__have_a_fit_and_a_note(kind, copies):
    rng = default_rng(0)
    rows = np.concatenate([rng.normal(size=(500, 3)), np.tile([9.0, 9, 9], (copies, 1))])
    model = GaussianMixture(2, covariance_type=kind, reg_covar=1e-6, random_state=0).fit(rows)
    assert np.isfinite(model.score_samples(rows)).all()
    assert (model.predict(rows)[500:] == model.predict(rows)[500]).all()
    assert any("regularisation" in s for s in model.diagnostics_["verdict"]["sentences"])


def test_more_components_than_groups_of_rows__is_said(kind):
    rows = np.repeat(np.eye(3) * 8, 50, axis=0) + default_rng(0).normal(size=(150, 3)) * 1e-3
    model = GaussianMixture(3, covariance_type=kind, **FAST).fit(rows)
    assert len(np.unique(model.predict(rows))) == 3


def test_component_without_rows__is_not_returned_however_many_features(kind):
    n_features = 100
    rows = default_rng(0).normal(size=(400, n_features))
    precisions = {"full": np.eye(n_features), "diag": np.ones(n_features), "spherical": 1.0}[kind]
    model = GaussianMixture(
        2,
        covariance_type=kind,
        weights_init=[0.5, 0.5],
        means_init=np.outer([0, 60], np.ones(n_features)),
        precisions_init=np.array([precisions, precisions]),
        reg_covar=1e-6,
    )
    with pytest.warns(ConditioningWarning, match="not returned"):
        assert len(model.fit(rows).weights_) == 1


def test_few_iterations__are_said():
    rng = default_rng(2)
    # components of a small sample are far from those of all rows
    rows = np.concatenate([rng.normal(size=(20_000, 9)), rng.normal(1.5, 1, size=(20_000, 9))])
    with pytest.warns(RefinementWarning, match="max_iter"):
        GaussianMixture(4, max_iter=2, pilot_rows=300, random_state=0).fit(rows)


@pytest.mark.parametrize(
    ("covariance_type", "measure"),
    [("diag", "penalised log-likelihood"), ("tied", "log-likelihood")],
)
def test_description__names_the_measure_that_iterations_raise(covariance_type, measure):
    model = GaussianMixture(3, covariance_type=covariance_type, random_state=0).fit(drawn(500)[0])
    description = model.description
    assert measure in description.facts(model)["outcome"]
    (sentence,) = description.report(model, None).method
    assert f"Mean {measure}s after" in sentence


def test_few_rows__have_a_larger_regularisation_that_helps_other_rows():
    rng = default_rng(7)
    rows = rng.normal(size=(400, 20)) @ rng.normal(size=(20, 20))
    train, other = rows[:60], rows[60:]
    model = GaussianMixture(2, random_state=0).fit(train)
    assert model.diagnostics_["pilot"]["reg_covar"] > 1e-6
    plain = GaussianMixture(2, reg_covar=1e-6, random_state=0).fit(train)
    assert model.score(other) > plain.score(other) + 1


@pytest.mark.slow  # a law of float32 is quick
def test_few_float32_rows_with_heavy_tails__have_a_fit():
    rng = np.random.default_rng(1)
    n, d, k = (int(rng.integers(*ends)) for ends in ((20, 120), (2, 6), (2, 5)))
    rows = rng.standard_t(2, (n, d)).astype(np.float32)
    # the covariance of two rows far out is rounded by more than the least regularisation
    with pytest.warns(ConditioningWarning, match="fewer than two rows"):
        model = GaussianMixture(k, random_state=0).fit(rows)
    assert np.isfinite(model.score_samples(rows)).all()


def test_many_rows__have_the_least_regularisation():
    model = GaussianMixture(2, random_state=0).fit(drawn(6000)[0])
    pilot = model.diagnostics_["pilot"]
    assert pilot["reg_covar"] == 1e-6
    assert "regularisations" not in pilot
    assert pilot["shrinkage"] == 0


def test_more_empty_clusters_than_rows_of_a_fold__are_no_error():
    rows = np.repeat(default_rng(0).normal(size=(2, 2)), 11, axis=0)
    with pytest.warns(ConditioningWarning):
        model = GaussianMixture(22, random_state=0).fit(rows)
    assert np.isfinite(model.score_samples(rows)).all()


@pytest.mark.parametrize("copy", [True, False])
def test_features_that_determine_each_other__are_told(copy):
    rows, _ = drawn(2000)
    last = rows[:, 0] if copy else rows @ [1.0, 2.0, -1.0]
    with pytest.warns(ConditioningWarning, match="depend linearly .*x0.*x3"):
        model = GaussianMixture(3, reg_covar=1e-6, **FAST).fit(np.column_stack([rows, last]))
    assert not model.diagnostics_["verdict"]["good"]


def test_many_rows__settle_on_some_of_them_first(monkeypatch):
    rows = np.concatenate([drawn(200_000, seed)[0] for seed in range(2)])
    options = {"reg_covar": 1e-6, "max_iter": 30, "tol": 1e-7, **FAST}
    whole = GaussianMixture(3, **options).fit(rows)
    monkeypatch.setattr(windows, "SETTLING_ROWS", 90_000)
    model = GaussianMixture(3, **options).fit(rows)
    names = [one["name"].split()[0] for one in model.diagnostics_["passes"]]
    assert names.index("settling") < names.index("posterior")
    read = {one["name"].split()[0]: one["rows"] for one in model.diagnostics_["passes"]}
    assert read["settling"] < read["posterior"] == len(rows)
    assert model.score(rows) == pytest.approx(whole.score(rows), abs=1e-6)
    np.testing.assert_allclose(model.covariances_, whole.covariances_, atol=0.01)


def test_iterations_that_have_not_settled__are_a_warning_of_scikit_learn():
    rows, _ = drawn(1000)
    start = rows[:3]
    with pytest.warns(ConvergenceWarning, match="still rises") as warned:
        GaussianMixture(
            3,
            max_iter=2,
            weights_init=np.full(3, 1 / 3),
            means_init=start,
            precisions_init=np.stack([np.eye(3)] * 3),
        ).fit(rows)
    assert any(issubclass(one.category, RefinementWarning) for one in warned)


@pytest.mark.parametrize("reg_covar", [0.01, 0.3, "auto"])
@pytest.mark.quick_cases("full-0.01", "diag-0.3", "spherical-auto")
def test_iterations__raise_the_penalised_likelihood(kind, reg_covar):
    rows = load_iris().data
    model = GaussianMixture(
        3, covariance_type=kind, reg_covar=reg_covar, warm_start=True, tol=1e-12
    )
    steps = []
    for _ in range(4):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            # a large regularisation shrinks a component to less than two rows, which is left out
            warnings.simplefilter("ignore", ConditioningWarning)
            steps += list(np.diff(model.fit(rows).lower_bounds_))
    assert len(steps) > 4
    assert min(steps) > -1e-9


def test_penalised_likelihood__is_the_mean_over_noise_in_the_rows():
    rng = default_rng(0)
    rows = rng.normal(size=(300, 2)) @ [[1.0, 0.5], [0.0, 0.3]]
    model = GaussianMixture(1, reg_covar=0.2, max_iter=2, tol=1e-12).fit(rows)
    noise = rng.normal(size=(4000, *rows.shape)) * np.sqrt(0.2) * rows.std(axis=0)
    blurred = model.score_samples((rows + noise).reshape(-1, 2)).mean()
    assert model.lower_bound_ == pytest.approx(blurred, abs=0.01)
    assert model.lower_bound_ < model.score(rows) - 0.1


@pytest.mark.parametrize("whitened", [False, True])
def test_penalties__are_half_the_traces_of_the_regularisation_over_covariances(kind, whitened):
    rng = default_rng(1)
    means, regularisation = rng.normal(size=(2, 4)), rng.uniform(0.1, 2, 4)
    roots = np.eye(4) + 0.3 * rng.normal(size=(2, 4, 4))
    whole = roots @ roots.transpose(0, 2, 1)
    variances = np.diagonal(whole, axis1=1, axis2=2)
    covariances = {"full": whole, "diag": variances, "spherical": variances[:, 0]}[kind]
    matrix = whitened and kind == "full"
    units = np.full(4, 0.5) if kind == "spherical" else rng.uniform(0.5, 2, 4)
    frame = Frame(means[0], np.linalg.inv(roots[0]).T if matrix else units)
    components = OwnCovarianceComponents(
        np.array([0.7, 0.3]), means, covariances, frame, (("all", tuple("abcd")),), "float64"
    )
    penalised = components.penalised_mixture(regularisation).log_maxima
    precisions = {
        "full": np.diagonal(np.linalg.inv(whole), axis1=1, axis2=2),
        "diag": 1 / variances,
        "spherical": np.repeat(1 / variances[:, :1], 4, axis=1),
    }[kind]
    expected = components.mixture().log_maxima - 0.5 * precisions @ regularisation
    np.testing.assert_allclose(penalised, expected, rtol=1e-12)


@pytest.mark.parametrize(("deviation", "precision"), [(0.05, "float32"), (0.02, "float64")])
@pytest.mark.parametrize("n_narrow", [1, 8])
def test_narrow_covariances__have_products_of_float64(n_narrow, deviation, precision):
    """Eigenvalues of precisions are below 1,000 where their norm may be larger."""
    variances = np.ones(8)
    variances[:n_narrow] = deviation**2
    components = OwnCovarianceComponents(
        np.ones(1),
        np.zeros((1, 8)),
        np.diag(variances)[None],
        Frame(np.zeros(8), np.ones(8)),
        (("all", tuple("abcdefgh")),),
        "float32",
    )
    assert components.mixture().precision == precision


@pytest.mark.parametrize(
    ("n", "kind", "compared"),
    [(200, "full", True), (2000, "full", False), (2000, "diag", False)],
)
@pytest.mark.quick_cases("2000-full-False", "2000-diag-False", "200-full-True")
def test_verdict__says_where_one_component_describes_the_rows_as_well(n, kind, compared):
    normal = default_rng(1).normal(size=(n, 2))
    groups, _ = drawn(n)
    gains = []
    for rows in (normal, groups):
        model = GaussianMixture(3, covariance_type=kind, **FAST).fit(rows)
        pilot = model.diagnostics_["pilot"]
        assert ("regularisations" in pilot) == compared
        gains.append(pilot["gain_over_one_component"])
        notes = model.diagnostics_["verdict"]["sentences"][1:]
        assert [("n_components='auto'" in str(note)) for note in notes] == [True] * (gains[-1] <= 0)
    assert gains[0] <= 0 < gains[1]


def test_gain_over_one_component__is_that_of_bic():
    rows, _ = drawn(2000)
    model, one = (GaussianMixture(k, **FAST).fit(rows) for k in (3, 1))
    gain = (one.bic(rows) - model.bic(rows)) / (2 * len(rows))
    assert model.diagnostics_["pilot"]["gain_over_one_component"] == pytest.approx(gain, abs=1e-4)


def test_gain_over_one_component__is_not_that_of_components_to_start_from():
    rows, _ = drawn(2000)
    model = GaussianMixture(3, warm_start=True, **FAST).fit(rows)
    assert model.diagnostics_["pilot"]["gain_over_one_component"] > 0
    model.fit(rows + 1)
    assert "gain_over_one_component" not in model.diagnostics_["pilot"]


def test_gain_over_one_component__needs_weights_that_count_rows():
    rows, _ = drawn(2000)
    model = GaussianMixture(3, covariance_type="diag", **FAST)
    with pytest.warns(WeightWarning, match="relative"):
        model.fit(rows, sample_weight=np.full(2000, 1 / 20))
    assert "gain_over_one_component" not in model.diagnostics_["pilot"]
