"""The number of components that a kernel mixture finds when it is told nothing of it."""

import numpy as np
import pytest

from bigtensor import KernelMixture, SpectralOptions, simulate
from bigtensor.data.opening import open_samples
from bigtensor.engine.blas import single_blas_thread
from bigtensor.engine.reduce import run_pass
from bigtensor.engine.threads import ThreadedRuntime
from bigtensor.errors import IdentifiabilityError
from bigtensor.models.contract.opened_fit import shape_of
from bigtensor.models.contract.script import Estimate, Step
from bigtensor.models.kernel_mixture.choices.component_count import with_counted_components
from bigtensor.models.kernel_mixture.settings import MOST_COUNTED
from bigtensor.statistics.row_sample import Sample
from bigtensor.statistics.validity import Checked
from tests.models.kernel_mixture.parameters import mixture_parameters
from tests.models.scripts import settings_of, sizes_of
from tests.parameters import first_quick

COUNTED = {"spectral": SpectralOptions(bins=256), "max_iter": 1, "random_state": 0}


def settings_for(rows: np.ndarray, **parameters):
    """Return the settings of a model that counts its components, for these rows."""
    model = KernelMixture(**mixture_parameters({"random_state": 0}, **parameters))
    return settings_of(model, shape_of(open_samples(rows, model.views)))


def counted(rows: np.ndarray, **parameters):
    """Count the components of rows that are their own pilot sample."""
    sample = Sample(rows, np.arange(len(rows)), None)
    return with_counted_components(sample, settings_for(rows, **parameters))


@pytest.mark.parametrize(
    ("family", "n_components", "rows", "separation"),
    [
        ("gaussian", 3, 1000, 4.0),
        ("gaussian", 4, 2000, 4.0),
        ("gamma", 4, 2000, 4.0),
        ("gaussian", 8, 5000, 4.0),
        ("gaussian", 4, 5000, 1.5),
    ],
)
@pytest.mark.parametrize("seed", first_quick([7001, 7002]))
@pytest.mark.quick_cases(
    "7001-gaussian-3-1000-4.0", "7001-gamma-4-2000-4.0", "7001-gaussian-4-5000-1.5"
)
def test_count__is_right_unaided(family, n_components, rows, separation, seed):
    data = simulate.kernel_mixture(rows, n_components, family, separation, random_state=seed)
    model = KernelMixture(**COUNTED).fit(data)
    assert len(model.weights_) == n_components
    assert model.n_components == "auto"


@pytest.mark.parametrize("seed", first_quick(range(4)))
def test_count__of_independent_views_is_one(seed):
    rows = np.random.default_rng(seed).standard_normal((500, 3))
    model = KernelMixture(**COUNTED).fit(rows)
    assert model.weights_.tolist() == [1.0]
    assert model.diagnostics_["component_count"]["count"] == 1


@pytest.mark.parametrize("n_components", [2, 3])
def test_count__of_two_views_after_k_means(n_components):
    data = simulate.kernel_mixture(3000, n_components, views=2, random_state=7003)
    model = KernelMixture(init="kmeans", **mixture_parameters(COUNTED, posterior_width=None)).fit(
        data
    )
    assert len(model.weights_) == n_components
    found = model.diagnostics_["component_count"]
    assert len(found["null"]) == 2


def test_count__takes_categories():
    rng = np.random.default_rng(3)
    label = rng.choice(3, size=4000, p=[0.4, 0.3, 0.3])
    shares = np.array([[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]])
    codes = [
        (rng.uniform(size=4000)[:, None] > np.cumsum(shares, axis=1)[label]).sum(axis=1)
        for _ in range(3)
    ]
    rows = np.column_stack(codes).astype(float)
    assert counted(rows, kernel="delta")[0].n_components == 3
    measured = np.column_stack([rows[:, :2], 3.0 * label + rng.normal(size=4000)])
    kernels = {"x0": "delta", "x1": "delta"}
    assert counted(measured, kernel=kernels)[0].n_components == 3
    model = KernelMixture(kernel=kernels, **COUNTED).fit(measured)
    assert len(model.weights_) == 3


def test_count__takes_wide_views_and_groups_of_several_views():
    rows = simulate.kernel_mixture(1000, 3, views=6, random_state=2)["X"].to_numpy()
    views = {"a": [0, 1], "b": [2], "c": [3], "d": [4, 5]}
    for groups in (None, [["b"], ["c"], ["d"]]):
        settings, found = counted(rows, views=views, view_groups=groups, n_landmarks=30)
        assert settings.n_components == 3
        assert len(found["null"]) == 3


def test_count__few_rows_are_enough_for_clear_components():
    rows = simulate.kernel_mixture(60, 2, random_state=0)["X"].to_numpy()
    assert counted(rows)[0].n_components == 2


def test_count__is_a_function_of_the_seed_and_not_of_units():
    rows = simulate.kernel_mixture(800, 3, random_state=1)["X"].to_numpy()
    (_, one), (_, same), (_, scaled) = (
        counted(part, n_landmarks=40) for part in (rows, rows, 1024.0 * rows)
    )
    assert one["count"] == scaled["count"] == 3
    for first, second, third in zip(one["null"], same["null"], scaled["null"], strict=True):
        np.testing.assert_array_equal(first, second)
        # a kernel is as high as one over its width
        np.testing.assert_allclose(third / third[0], first / first[0], rtol=1e-5)
    other = counted(rows, n_landmarks=40, random_state=5)[1]
    assert np.abs(other["null"][0] - one["null"][0]).max() > 0


def test_diagnostics__hold_the_spectrum_that_was_counted():
    data = simulate.kernel_mixture(2000, 4, random_state=7004)
    found = KernelMixture(**COUNTED).fit(data).diagnostics_["component_count"]
    assert found["count"] == 4
    assert found["ratio"] == 1.5
    counts = []
    for values, null in zip(found["singular_values"], found["null"], strict=True):
        assert len(values) == MOST_COUNTED + 1
        assert len(null) == MOST_COUNTED - 1
        assert values == sorted(values, reverse=True)
        above = np.array(values[: len(null)]) > found["ratio"] * np.array(null)
        counts.append(1 + int(np.argmin(above)))
    assert max(counts) == found["count"]


def test_given_count__is_not_counted(model, data):
    assert "component_count" not in model.diagnostics_
    rows = data["X"].to_numpy()
    settings = settings_for(rows, n_components=5)
    sample = Sample(rows, np.arange(len(rows)), None)
    assert with_counted_components(sample, settings) == (settings, {})


@pytest.mark.parametrize("parameters", [{}, {"n_directions": 6}, {"init": "kmeans"}])
def test_plan__bounds_what_is_read_once_the_components_are_counted(data, parameters):
    model = KernelMixture(
        **mixture_parameters({**COUNTED, "n_landmarks": 40, "pilot_rows": 2000}, **parameters)
    )
    samples = open_samples(data, None)
    shape = shape_of(samples)
    planned = {size.name.split(",")[0]: size for size in sizes_of(model, shape)}
    script, seen = recorded(model.script(settings_of(model, shape)), samples), set[str]()
    for wanted in script:
        name = wanted.name.rstrip(" 0123456789")
        statistic = Checked(wanted.statistic)
        assert statistic.state_nbytes() <= planned[name].state_nbytes
        assert statistic.work_nbytes(statistic.block_rows) <= planned[name].work_nbytes
        seen.add(name)
    assert seen == {*planned}


def recorded(script, samples):
    """Run a script of passes, and yield every pass that it asked for."""
    result, runtime = None, ThreadedRuntime(1)
    while True:
        with single_blas_thread():
            try:
                wanted = script.send(result)
            except StopIteration:
                return
        result = None
        if isinstance(wanted, Estimate | Step):
            continue
        yield wanted
        result = run_pass(samples, wanted, runtime)


@pytest.mark.slow  # counts are quick
def test_directions__are_as_many_as_asked_for(data, small):
    for directions in (3, 6, 9):
        model = KernelMixture(**mixture_parameters(small, n_directions=directions)).fit(data)
        assert len(model.weights_) == 3
    with pytest.raises(IdentifiabilityError, match=r"at most 2 components, but 3 "):
        KernelMixture(**mixture_parameters(small, n_directions=2)).fit(data)
