"""The rows that the moments of a spectral start are summed over."""

from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

from bigtensor import KernelMixture, SpectralOptions, simulate
from bigtensor.errors import ParameterError
from bigtensor.models.contract.data_shape import DataShape
from bigtensor.models.kernel_mixture import stages
from bigtensor.models.kernel_mixture.choices.alternative_initialisations import (
    ALTERNATIVES,
    RECURS,
)
from bigtensor.models.kernel_mixture.solve import SETTLED
from bigtensor.models.kernel_mixture.stages import LEAST_CANDIDATES
from bigtensor.models.pilot.sample import pilot_pass
from bigtensor.statistics import windows as row_windows
from bigtensor.statistics.windows import MIN_WINDOW_ROWS
from tests.models.kernel_mixture.parameters import mixture_parameters
from tests.models.scripts import sizes_of

ROWS = 200_000
WINDOW_ROWS = stages.SETTLING_WINDOWS * MIN_WINDOW_ROWS
"""The fewest rows in windows."""


@pytest.fixture(scope="module")
def rows():
    return simulate.kernel_mixture(ROWS, 3, separation=1.5, random_state=3)


@pytest.fixture
def many(monkeypatch):
    """Data of this module count as many rows."""
    monkeypatch.setattr(row_windows, "SETTLING_ROWS", 50_000)
    monkeypatch.setattr(stages, "SETTLING_ROWS", 50_000)


def passes(model):
    return [(one["name"].split()[0], one["rows"]) for one in model.diagnostics_["passes"]]


def error(model, data):
    features = [str(name) for name in data["feature"].values]
    grids = [simulate.error_grid(data, feature) for feature in features]
    truth = [
        simulate.kernel_mixture_density(data, feature, grid)
        for feature, grid in zip(features, grids, strict=True)
    ]
    found = [
        model.component_density(feature, grid)
        for feature, grid in zip(features, grids, strict=True)
    ]
    return simulate.density_error(data["true_weights"], truth, found, grids)


def test_moments__of_many_rows_read_windows_that_the_mixture_settles_on(many, rows):
    model = KernelMixture(
        3, spectral=SpectralOptions(bins=512, n_landmarks=40), random_state=0
    ).fit(rows)
    done = passes(model)
    assert ("moments", WINDOW_ROWS) in done
    assert ("settling", WINDOW_ROWS) in done
    assert done[-2:] == [("posterior", ROWS)] * 2
    assert model.diagnostics_["spectral"]["rows"] == WINDOW_ROWS
    assert model.diagnostics_["moments"].keys() == {"rows", "reason"}
    assert model.diagnostics_["moments"]["rows"] == WINDOW_ROWS
    assert model.diagnostics_["moments"]["reason"].startswith("EM iterations over these rows")


@pytest.mark.slow  # that windows are read is quick
def test_moments__of_windows_end_as_near_the_truth_as_those_of_all_rows(many, rows):
    settings = {"spectral": SpectralOptions(bins=512, n_landmarks=40), "random_state": 0}
    some = KernelMixture(3, **settings).fit(rows)
    every = KernelMixture(3, **mixture_parameters(settings, moments_rows="all")).fit(rows)
    assert ("moments", ROWS) in passes(every)
    assert every.diagnostics_["moments"] == {
        "rows": ROWS,
        "reason": str(SpectralOptions.setting("moments_rows", "all")),
    }
    assert error(some, rows) < 1.02 * error(every, rows)
    assert (some.predict(rows) == every.predict(rows)).mean() > 0.998


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::bigtensor.errors.BigtensorWarning")
def test_moments__of_windows_that_leave_a_doubtful_start_get_rivals(many):
    cells = simulate.cytometry(ROWS, 8, random_state=2)
    model = KernelMixture(
        8, spectral=SpectralOptions(bins=512, n_landmarks=40), random_state=0
    ).fit(cells)
    found = model.diagnostics_
    assert found["spectral"]["outcome"] != "converged"
    tried = found["initialisations"]
    of_moments = [one for one in tried if one["bandwidth"] is not None]
    assert [one["rows"] for one in of_moments] == [WINDOW_ROWS, *[ROWS] * (len(of_moments) - 1)]
    assert [one["bandwidth"] for one in of_moments] == [1, *ALTERNATIVES][: len(of_moments)]
    # they end with the round in which the best likelihood recurs
    likelihoods = sorted(one["log_likelihood"] for one in of_moments)
    assert len(tried) in (3, 5, 7)
    assert len(tried) == 7 or likelihoods[-1] - likelihoods[-2] < RECURS
    # what settles goes on from the best of them
    settling = found["settling_log_likelihood"]
    assert settling[0] == pytest.approx(likelihoods[-1], abs=0.02)
    assert settling[-1] >= settling[0]
    # the passes of every initialisation are in the plan
    shape = DataShape(ROWS, model.views_.features, "float32", False, ROWS)
    planned = {size.name: size for size in sizes_of(model, shape)}
    names = [one["name"] for one in found["passes"]]
    assert [name for name in names if name.startswith("trial")] == ["trial rows"]
    assert planned["trial rows"].times == 1
    assert sum(name.startswith("settling") for name in names) <= planned["settling"].times


@pytest.mark.filterwarnings("ignore::bigtensor.errors.BigtensorWarning")
@pytest.mark.slow  # where none are tried is quick
def test_alternatives__of_the_same_rows_have_other_bandwidths():
    cells = simulate.cytometry(20_000, 8, random_state=1)
    found = KernelMixture(8, random_state=0).fit(cells).diagnostics_
    tried = found["initialisations"]
    assert {one["rows"] for one in tried} == {20_000}
    assert [one["bandwidth"] for one in tried] == [
        *(1, None),
        *np.setdiff1d(ALTERNATIVES, 1, assume_unique=True),
    ][: len(tried)]
    best = max(one["log_likelihood"] for one in tried if one["bandwidth"] is not None)
    assert found["mean_log_likelihood"][0] > best - SETTLED


@pytest.mark.filterwarnings("ignore::bigtensor.errors.BigtensorWarning")
@pytest.mark.slow  # a law of weights is quick
def test_alternatives__of_rows_of_weight_two_are_those_of_repeated_rows():
    values = simulate.cytometry(3000, 8, random_state=0)["X"].to_numpy()
    weighted = KernelMixture(8, random_state=0).fit(values, sample_weight=np.full(3000, 2.0))
    repeated = KernelMixture(8, random_state=0).fit(np.vstack([values, values]))
    tried = [
        [one["bandwidth"] for one in model.diagnostics_["initialisations"]]
        for model in (weighted, repeated)
    ]
    assert tried[0] == tried[1]
    same = np.asarray(weighted.predict(values)) == np.asarray(repeated.predict(values))
    assert same.mean() > 0.99


@pytest.mark.parametrize(
    "change",
    [
        {"max_iter": 3},
        {"n_populations": 4},
        {"init": "kmeans"},
        {"spectral": SpectralOptions(posterior_width=0.2)},
    ],
)
def test_alternatives__are_not_tried_where_passes_are_fixed_or_broad(change):
    views = tuple((name, (name,)) for name in "abc")
    names = {
        rows: {
            size.name
            for size in sizes_of(
                KernelMixture(8, **change), DataShape(rows, views, "float32", False, rows)
            )
        }
        for rows in (100_000, 10**8)
    }
    assert not {"trial rows"} & (names[100_000] | names[10**8])


def test_moments__of_few_rows_read_all(rows):
    model = KernelMixture(3, spectral=SpectralOptions(bins=512, n_landmarks=40), max_iter=1).fit(
        rows
    )
    assert passes(model)[1:] == [("moments", ROWS), ("posterior", ROWS)]
    assert model.diagnostics_["moments"]["reason"].startswith("all rows")


def test_moments__read_at_least_as_many_rows_as_are_asked_for(rows):
    model = KernelMixture(
        3, spectral=SpectralOptions(bins=512, n_landmarks=40, moments_rows=130_000)
    ).fit(rows)
    assert ("moments", WINDOW_ROWS) in passes(model)
    assert "moments_rows=130000" in model.diagnostics_["moments"]["reason"]


@pytest.mark.parametrize(
    ("moments_rows", "planned"), [("auto", 1_048_576), ("all", 10**8), (4_000_000, 4_194_304)]
)
def test_plan__shows_the_rows_of_the_moments(moments_rows, planned):
    shape = DataShape(10**8, (("a", ("a",)), ("b", ("b",)), ("c", ("c",))), "float32", False, 1e8)
    model = KernelMixture(
        3, spectral=SpectralOptions(moments_rows=moments_rows), bandwidth="cross-validation"
    )
    sizes = {size.name: size.rows for size in sizes_of(model, shape)}
    assert sizes["moments"] == planned
    assert sizes["cross-validation moments"] == planned
    assert sizes["settling"] == 1_048_576
    assert sizes["posterior"] == 10**8


def test_signal_to_noise__grows_with_the_root_of_the_rows():
    ratios = {}
    for rows in (10_000, 160_000):
        data = simulate.kernel_mixture(rows, 3, random_state=5)
        model = KernelMixture(
            3, spectral=SpectralOptions(bins=512, n_landmarks=40), bandwidth=1.0, random_state=0
        ).fit(data)
        ratios[rows] = np.array(model.diagnostics_["spectral"]["signal_to_noise"])
    assert ratios[160_000] / ratios[10_000] == pytest.approx(4, rel=0.4)
    assert (ratios[10_000] > 5).all()


@pytest.mark.filterwarnings("ignore::bigtensor.errors.BigtensorWarning")
def test_signal_to_noise__of_components_that_are_not_there_is_near_one():
    values = np.random.default_rng(0).normal(size=(20_000, 3))
    model = KernelMixture(
        3, spectral=SpectralOptions(n_landmarks=40), max_iter=1, random_state=0
    ).fit(values)
    ratios = np.array(model.diagnostics_["spectral"]["signal_to_noise"])
    assert ((ratios > 0.5) & (ratios < 3)).all(), ratios


@pytest.mark.parametrize("wrong", ["some", 0, 999, 1e6, True])
def test_moments_rows__that_cannot_be_are_refused(wrong):
    with pytest.raises(ParameterError, match="moments_rows"):
        KernelMixture(3, spectral=SpectralOptions(moments_rows=wrong)).fit(np.zeros((10, 3)))


@pytest.mark.parametrize("size", [20_000, 50_000, 600_000])
def test_pilot__looks_at_a_million_rows_and_at_all_of_fewer(size):
    def windows_of(rows):
        shape = DataShape(rows, (("view", ("feature",)),), "f4", False, float(rows))
        settings = SimpleNamespace(shape=shape, pilot_rows=size, random_state=0)
        return pilot_pass(settings, least_candidates=LEAST_CANDIDATES).rows

    assert windows_of(LEAST_CANDIDATES) is None
    candidates = sum(stop - start for start, stop in windows_of(10**8))
    assert max(LEAST_CANDIDATES, 2 * size) <= candidates <= 4 * max(LEAST_CANDIDATES, size)


def test_clusters__that_agree_with_moments_end_the_comparison_and_those_that_do_not_are_taken():
    rows, label = make_blobs(12_000, centers=8.0 * np.eye(3), random_state=1)
    model = KernelMixture(3, random_state=0).fit(rows)
    first, clusters, wider = (
        one["log_likelihood"] for one in model.diagnostics_["initialisations"]
    )
    assert abs(clusters - max(first, wider)) < RECURS
    assert not model.diagnostics_["began_with_clusters"]
    rows, label = make_blobs(3_000, centers=8.0 * np.eye(3), random_state=0)
    model = KernelMixture(3, random_state=0).fit(rows)
    assert [one["bandwidth"] for one in model.diagnostics_["initialisations"]] == [1, None]
    assert model.diagnostics_["began_with_clusters"]
    assert adjusted_rand_score(label, model.predict(rows)) > 0.99
    assert "EM iterations" not in model.diagnostics_["verdict"]["sentences"][0]
