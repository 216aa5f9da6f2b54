"""Groups of views: given, with views left out of them, and chosen by the data."""

import warnings
from collections.abc import Sequence

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import linear_sum_assignment
from scipy.special import expit
from scipy.stats import norm

import bigtensor
from bigtensor import KernelMixture, SpectralOptions, simulate
from bigtensor.data.opening import open_samples
from bigtensor.data.rows.block import Block
from bigtensor.decomposition.multiview.regression import regress_embeddings
from bigtensor.decomposition.multiview.view_groups import CLEARLY_BETTER
from bigtensor.errors import ConditioningWarning, ParameterError, ViewError
from bigtensor.models.kernel_mixture.embedded_view import features_of
from bigtensor.models.kernel_mixture.script import STORED_CLASSES
from bigtensor.statistics.base import Workspace
from bigtensor.statistics.densities.row_functions import Responsibilities
from bigtensor.statistics.densities.view_densities import MixtureDensities
from bigtensor.store import pack, unpack
from tests.benchmarks.accuracy.truth import Truth
from tests.benchmarks.preparations import statistic_of
from tests.models.kernel_mixture.parameters import mixture_parameters
from tests.parameters import first_quick

NAMES = [f"view{place}" for place in range(1, 7)]
SINGLE = [[name] for name in NAMES[:3]]
PAIRS = [NAMES[:2], NAMES[2:4], NAMES[4:]]

COLUMNS = [f"x{place}" for place in range(6)]
NEIGHBOURS = [COLUMNS[:2], COLUMNS[2:4], COLUMNS[4:]]

KINDS = {"a": [0], "pair": [3, 4], "b": [1], "code": [5], "c": [2]}
MEANS = np.array([[0.0, 0, 0, 0, 0], [3.0, 6, 3, 4, -4], [6.0, 3, 6, -4, 4]])
CODES = np.array([[0.8, 0.15, 0.05], [0.1, 0.8, 0.1], [0.2, 0.2, 0.6]])


def initialisation_of(model: KernelMixture, data) -> MixtureDensities:
    """Return the mixture that the first posterior pass is given."""
    return statistic_of(model, open_samples(data, model.views), "posterior 1").mixture


def labels_of(mixture: MixtureDensities, rows: np.ndarray) -> np.ndarray:
    out = {"label": np.empty(len(rows), np.int32)}
    slices = {str(column): slice(column, column + 1) for column in range(rows.shape[1])}
    Responsibilities(mixture).evaluate(Block(rows, slices, 0, len(rows)), out, Workspace())
    return out["label"]


def densities_of(mixture: MixtureDensities, truth: Truth) -> list[np.ndarray]:
    """Return the tabulated densities of all views on the grids of the truth."""
    tables, found = mixture.tables, []
    for view, points in enumerate(truth.grids):
        logs = tables.log_tables[view]
        grid = tables.low[view] + tables.step[view] * np.arange(len(logs))
        columns = [np.interp(points, grid, column) for column in logs.T]
        # tables are relative to the lengths of the grids
        found.append(np.exp(np.stack(columns, axis=1)) / (grid[-1] - grid[0]))
    return found


def error_of(truth: Truth, densities: Sequence[np.ndarray], views: slice) -> float:
    """Return sum_h pi_h ||p_h - estimate||_2, mean over some of the views."""
    part = Truth(truth.data, truth.features[views], truth.grids[views], truth.densities[views])
    return part.error(densities[views])


def accuracy(label: np.ndarray, found: np.ndarray) -> float:
    """Return the share of right labels, one to one."""
    table = np.zeros((label.max() + 1, max(label.max(), found.max()) + 1))
    np.add.at(table, (label, found), 1)
    return float(table[linear_sum_assignment(-table)].sum() / len(label))


@pytest.mark.parametrize(
    ("rows", "separation"), [(4000, 4.0), (6000, 1.5)], ids=["easy", "overlapping"]
)
@pytest.mark.parametrize("seed", first_quick(range(4)))
@pytest.mark.quick_cases("0-easy")
def test_views_left_out__are_regressed_as_well_as_those_in_groups(rows, separation, seed):
    data = simulate.kernel_mixture(rows, 3, views=6, separation=separation, random_state=seed)
    truth = Truth.of(data)
    starts = {}
    for name, groups in (("regressed", SINGLE), ("grouped", PAIRS)):
        model = KernelMixture(
            3, view_groups=groups, spectral=SpectralOptions(bins=512), random_state=0
        )
        mixture = initialisation_of(model, data)
        densities = densities_of(mixture, truth)
        starts[name] = (
            error_of(truth, densities, slice(3, 6)),
            error_of(truth, densities, slice(0, 3)),
            accuracy(data["label"].to_numpy(), labels_of(mixture, truth.values)),
        )
    (regressed, base, right), (grouped, _, all_right) = starts["regressed"], starts["grouped"]
    assert regressed < 1.1 * grouped
    assert regressed < 0.07
    assert base < 0.07
    assert right > all_right - 0.003
    assert all_right > 0.985


def test_views_left_out__are_told_and_used(small):
    data = simulate.kernel_mixture(4000, 3, views=6, separation=1.5, random_state=1)
    label = data["label"].to_numpy()
    some = KernelMixture(3, view_groups=SINGLE, **small).fit(data)
    assert some.diagnostics_["groups"] == SINGLE
    assert "group_choice" not in some.diagnostics_
    assert some.views_.names == tuple(NAMES)
    every = KernelMixture(3, view_groups=PAIRS, **small).fit(data)
    alone = KernelMixture(3, views={name: [name] for name in NAMES[:3]}, **small).fit(data)
    right = [accuracy(label, model.predict(data).to_numpy()) for model in (some, every, alone)]
    assert abs(right[0] - right[1]) < 0.003
    assert right[0] > right[2] + 0.02


def mixed_rows(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return rows of three single features, a pair and a category, and their labels."""
    rng = np.random.default_rng(seed)
    label = rng.choice(3, size=4000, p=[0.5, 0.3, 0.2])
    code = (rng.uniform(size=4000)[:, None] > np.cumsum(CODES, axis=1)[label]).sum(axis=1)
    return np.column_stack([MEANS[label] + rng.normal(size=(4000, 5)), code]), label


def mixed_model(**parameters) -> KernelMixture:
    return KernelMixture(
        3,
        views=KINDS,
        kernel={"code": "delta"},
        view_groups=[["a"], ["b"], ["c"]],
        **mixture_parameters({"bins": 512, "pilot_rows": 2000, "random_state": 0}, **parameters),
    )


@pytest.mark.parametrize("seed", first_quick(range(3)))
def test_views_left_out__may_be_of_every_kind(seed):
    rows, label = mixed_rows(seed)
    mixture = initialisation_of(mixed_model(), rows)
    pair, code = (
        next(part for part in mixture.embedded if part.view == name) for name in ("pair", "code")
    )
    assert accuracy(label, mixed_model().fit_predict(rows)) > 0.995
    order = np.argsort(-mixture.weights)
    shares = features_of(code.feature_map, np.arange(3.0)) @ code.coefficients[:, order]
    # four standard errors of 400 labelled rows of the pilot sample
    assert_allclose(shares.T, CODES, atol=0.1)
    points = rows[:, [3, 4]]
    density = features_of(pair.feature_map, points) @ pair.coefficients[:, order]
    truth = np.prod(norm.pdf(points[:, None], MEANS[:, 3:]), axis=2)
    assert (density.argmax(axis=1) == truth.argmax(axis=1)).mean() > 0.98


def test_stored_preparation__keeps_the_views_left_out(tmp_path):
    rows, label = mixed_rows(3)
    model = mixed_model(feature_dtype="float64").prepare(rows)
    held = model._rounds.preparation
    assert [other.name for other in held.others] == ["pair", "code"]
    again = unpack(pack(held, STORED_CLASSES), STORED_CLASSES)
    for one, other in zip(held.others, again.others, strict=True):
        assert one.name == other.name
        for left, right in zip(one.cross_moments, other.cross_moments, strict=True):
            assert_array_equal(left, right)
        points = rows[:100, KINDS[one.name]]
        assert_array_equal(
            features_of(one.feature_map, points), features_of(other.feature_map, points)
        )
    loaded = bigtensor.load(model.save(tmp_path / "prepared.zarr"))
    for one in (model, loaded):
        one.solve(one.accumulate(rows))
    assert_array_equal(loaded.weights_, model.weights_)
    assert_array_equal(loaded.predict(rows), model.predict(rows))
    assert accuracy(label, loaded.predict(rows)) > 0.99


def confusing_rows(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return rows where views 0 to 2 confuse components 1 and 2, and the others 0 and 1."""
    rng = np.random.default_rng(seed)
    label = rng.choice(3, size=4000, p=[0.3, 0.3, 0.4])
    low, high = np.array([0.0, 2.0, 2.0]), np.array([0.0, 0.0, 2.0])
    means = np.stack([low, low, low, high, high, high], axis=1)
    return means[label] + rng.normal(size=(4000, 6)), label


def best_accuracy(rows: np.ndarray, label: np.ndarray) -> float:
    """Return what the labels of the true posterior reach on rows of `confusing_rows`."""
    means = np.array([[0, 0, 0, 0, 0, 0], [2, 2, 2, 0, 0, 0], [2, 2, 2, 2, 2, 2]])
    joint = np.log([0.3, 0.3, 0.4]) + norm.logpdf(rows[:, None], means).sum(axis=2)
    return float((joint.argmax(axis=1) == label).mean())


@pytest.mark.parametrize("seed", first_quick(range(5)))
def test_groups__are_chosen_where_neighbours_confuse_the_same_components(seed, small):
    rows, label = confusing_rows(seed)
    chosen = initialisation_of(KernelMixture(3, **small), rows)
    best = best_accuracy(rows, label)
    assert accuracy(label, labels_of(chosen, rows)) > best - 0.01


def test_groups__that_are_chosen_are_told_with_what_else_there_was(small):
    rows, label = confusing_rows(7)
    model = KernelMixture(3, **small).fit(rows)
    choice, groups = model.diagnostics_["group_choice"], model.diagnostics_["groups"]
    assert sorted(name for group in groups for name in group) == COLUMNS
    assert all({*group} & {"x0", "x1", "x2"} for group in groups)
    assert all({*group} & {"x3", "x4", "x5"} for group in groups)
    assert groups == choice["best"]
    assert choice["score"] == choice["best_score"]
    assert choice["best_score"] > CLEARLY_BETTER * choice["neighbouring_score"]
    assert len(choice["picked"]) == 3
    assert accuracy(label, model.predict(rows)) > best_accuracy(rows, label) - 0.01
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        given = KernelMixture(3, view_groups=NEIGHBOURS, max_iter=2, **small).fit(rows)
    assert ConditioningWarning in {warning.category for warning in warned}
    assert given.diagnostics_["groups"] == NEIGHBOURS
    assert "group_choice" not in given.diagnostics_


def test_groups__of_neighbours_stay_where_nothing_is_clearly_better(small):
    data = simulate.kernel_mixture(4000, 2, views=6, symmetric=True, random_state=0)
    model = KernelMixture(2, **small).fit(data)
    choice = model.diagnostics_["group_choice"]
    assert model.diagnostics_["groups"] == choice["neighbouring"]
    assert [len(group) for group in choice["neighbouring"]] == [2, 2, 2]
    assert choice["score"] == choice["neighbouring_score"] <= choice["best_score"]
    assert choice["best_score"] < CLEARLY_BETTER * choice["neighbouring_score"]


def test_groups__of_three_views_are_these(model):
    assert sorted(model.diagnostics_["groups"]) == SINGLE
    assert "group_choice" not in model.diagnostics_


def test_groups__in_another_order_give_the_same_model(small):
    data = simulate.kernel_mixture(4000, 3, views=6, random_state=5)
    first = KernelMixture(3, view_groups=PAIRS, **small).fit(data)
    second = KernelMixture(3, view_groups=[PAIRS[2], PAIRS[0][::-1], PAIRS[1]], **small).fit(data)
    assert_allclose(second.weights_, first.weights_, atol=1e-3)
    assert accuracy(first.predict(data).to_numpy(), second.predict(data).to_numpy()) > 0.999


@pytest.mark.parametrize("seed", first_quick(range(3)))
def test_regression__of_the_sample_gives_the_true_means_of_categories(seed):
    # a view of two categories whose indicators are regressed on the true means of three others
    rng = np.random.default_rng(seed)
    weights = np.array([0.5, 0.3, 0.2])
    label = rng.choice(3, size=20_000, p=weights)
    means = [rng.normal(size=(4, 3)) for _ in range(3)]
    base = [mean[:, label].T + rng.normal(size=(20_000, 4)) for mean in means]
    chance = expit(rng.normal(size=3))
    yes = rng.uniform(size=20_000) < chance[label]
    indicators = np.stack([yes, ~yes], axis=1).astype(float)
    moments = [indicators.T @ part / 20_000 for part in base]
    found = regress_embeddings(means, weights, moments)
    assert_allclose(found, [chance, 1 - chance], atol=0.08)


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        (5, "groups is 5; expected three lists"),
        ("view1", "groups is 'view1'; expected three lists"),
        (NAMES[:3], "groups is .*; expected three lists"),
        ([1, 2, 3], r"groups is \[1, 2, 3\]; .*three lists"),
        (SINGLE[:2], "three lists .*, none empty and no view"),
        ([*SINGLE, ["view4"]], "expected three lists of views"),
        ([["view1"], [], ["view2"]], "none empty and no view twice"),
        ([["view1"], ["view2", "view1"], ["view3"]], "none empty and no view twice"),
        ([["view1", "view1"], ["view2"], ["view3"]], "none empty and no view twice"),
    ],
)
def test_groups__that_make_no_sense_are_refused(data, groups, message):
    with pytest.raises(ParameterError, match=message):
        KernelMixture(3, view_groups=groups).fit(data)


def test_groups__of_unknown_views_are_refused(data):
    with pytest.raises(ViewError, match=r"views CD3, 7; the data have view1, "):
        KernelMixture(3, view_groups=[["CD3"], ["view1", 7], ["view2"]]).fit(data)


def test_groups__leave_no_view_out_where_views_share_components():
    data = simulate.kernel_mixture(500, 2, views=5, symmetric=True)
    model = KernelMixture(2, view_groups=SINGLE, views_share_components=True)
    with pytest.raises(ParameterError, match="to a group; missing: view4, view5"):
        model.fit(data)
