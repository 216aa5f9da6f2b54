"""The mixture is the same for any order of rows, views and symbols, any chunks and any sources."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

import bigtensor
from bigtensor import DiscreteMixture, simulate
from bigtensor.data.rows.block import Block
from bigtensor.data.simulate import write_discrete_mixture
from bigtensor.errors import MissingValueWarning
from bigtensor.models.discrete_mixture.choice import _thinned
from bigtensor.testing import small_data
from bigtensor.testing.category_laws import recoded
from tests.parameters import first_quick

K, ROWS = 3, 3000
PLAIN = {"ridge": None}
"""Without held-out rows, which random numbers and the weights of distinct rows choose."""

NAMES = ("view1", "view2", "view3")


@pytest.fixture(scope="module")
def rows() -> xr.DataArray:
    """Rows of three views with six categories."""
    return coded(simulate.discrete_mixture(ROWS, K, n_categories=6, random_state=3)["X"])


@pytest.fixture(scope="module")
def fitted(rows: xr.DataArray) -> DiscreteMixture:
    """The mixture of all rows."""
    return DiscreteMixture(K, **PLAIN).fit(rows)


def coded(X: xr.DataArray) -> xr.DataArray:
    """Return rows with the names of all categories."""
    return X.assign_attrs(categories={name: tuple("abcdef") for name in X["feature"].to_numpy()})


def tables(model: DiscreteMixture) -> np.ndarray:
    """Return the probabilities of all views, in one order of views and symbols."""
    return np.stack(
        [
            model.component_probabilities_[name].sel(category=list("abcdef")).to_numpy()
            for name in NAMES
        ]
    )


def assert_same(found: DiscreteMixture, expected: DiscreteMixture, atol: float = 1e-10) -> None:
    """Compare all parameters."""
    np.testing.assert_allclose(found.weights_, expected.weights_, atol=atol, rtol=0)
    np.testing.assert_allclose(tables(found), tables(expected), atol=atol, rtol=0)


@pytest.mark.parametrize("ridge", [None, "cross-validation"])
def test_order_of_rows__does_not_matter(rows: xr.DataArray, ridge: str | None) -> None:
    order = np.random.default_rng(0).permutation(ROWS)
    expected = DiscreteMixture(K, ridge=ridge).fit(rows)
    found = DiscreteMixture(K, ridge=ridge).fit(rows.isel(sample=order))
    assert_same(found, expected, 0.0)
    answers = expected.predict_proba(rows)[order]
    np.testing.assert_array_equal(found.predict_proba(rows.isel(sample=order)), answers)


def test_order_of_symbols__does_not_matter(rows: xr.DataArray, fitted: DiscreteMixture) -> None:
    rng = np.random.default_rng(1)
    turned, categories = rows.copy(), {}
    for view, name in enumerate(NAMES):
        order = rng.permutation(6)
        # symbol order[j] gets the code j
        turned[:, view] = np.argsort(order)[rows[:, view]]
        categories[name] = tuple(np.array(list("abcdef"))[order])
    turned.attrs["categories"] = categories
    found = DiscreteMixture(K, **PLAIN).fit(turned)
    assert found.categories_ == categories
    assert_same(found, fitted, 1e-8)
    # codes are found by the names of their symbols
    np.testing.assert_array_equal(fitted.predict_proba(turned), fitted.predict_proba(rows))


def test_order_of_symbols__does_not_matter_in_sketches() -> None:
    """Passes in rounds sketch the pair tables of many symbols with random numbers."""
    names = [f"symbol{number}" for number in range(300)]
    X = simulate.discrete_mixture(ROWS, K, n_categories=300, concentration=0.05, random_state=3)[
        "X"
    ]
    X = X.astype(np.int32).assign_attrs(categories=dict.fromkeys(NAMES, names))
    # without weights, rare symbols are equally frequent
    weight = np.random.default_rng(0).uniform(0.5, 2.0, ROWS)

    def answers(rows: xr.DataArray) -> np.ndarray:
        model = DiscreteMixture(K, ridge=None, random_state=0)
        model = model.prepare(rows, sample_weight=weight)
        passes = []
        while model.next_pass is not None and model.next_pass != "posterior":
            passes.append(model.next_pass)
            model = model.solve(model.accumulate(rows, sample_weight=weight))
        assert passes == ["sketches", "power", "power", "moments"]
        return model.predict_proba(rows).to_numpy()

    turned = recoded(X, lambda count: np.random.default_rng(count).permutation(count))
    np.testing.assert_allclose(answers(turned), answers(X), atol=1e-6)


@pytest.mark.parametrize("views", [NAMES, [f"view{number}" for number in range(12)]])
@pytest.mark.parametrize("weights", ["counts", "relative"])
@pytest.mark.quick_cases("counts-views0", "relative-views0")
def test_order_of_rows_and_symbols__does_not_matter_with_weights(
    views: Sequence[str], weights: str
) -> None:
    """Weights are no whole numbers, and held-out rows choose the ridge."""
    rng = np.random.default_rng(4)
    component = rng.integers(0, 2, 1000)[:, None]
    drawn = rng.integers(0, 6, (1000, len(views)))
    codes = np.where(rng.random(drawn.shape) < 0.4, 5 * component, drawn)
    turned = np.array([4, 0, 5, 1, 3, 2])
    weight, order = rng.choice([0.1, 0.7, 2.2], 1000), rng.permutation(1000)
    model = DiscreteMixture(2, weights=weights, n_starts=2, random_state=0)
    expected = model.fit(codes, sample_weight=weight).predict_proba(codes)
    others = turned[codes][order]
    actual = model.fit(others, sample_weight=weight[order]).predict_proba(others)
    np.testing.assert_allclose(actual, expected[order], atol=1e-6)


def test_held_out_weight__does_not_see_rounding_of_sums() -> None:
    exact, below = (np.asarray([total] * 500) for total in (3.0, np.nextafter(3.0, 0)))
    held = [
        _thinned(
            Block(np.zeros((500, 1), np.int32), {"a": slice(0, 1)}, 0, 500, weight),
            np.random.default_rng(0),
        )
        for weight in (exact, below)
    ]
    np.testing.assert_allclose(*held, atol=1e-12)


def test_order_of_views__does_not_matter(rows: xr.DataArray, fitted: DiscreteMixture) -> None:
    turned = rows.isel(feature=[2, 0, 1])
    found = DiscreteMixture(K, **PLAIN).fit(turned)
    assert list(found.component_probabilities_) == ["view3", "view1", "view2"]
    assert_same(found, fitted)
    assert found.score(turned) == pytest.approx(fitted.score(rows), abs=1e-12)


def test_every_row_twice__is_the_same_mixture(rows: xr.DataArray, fitted: DiscreteMixture) -> None:
    twice = coded(xr.concat([rows, rows], "sample"))
    found = DiscreteMixture(K, **PLAIN).fit(twice)
    assert_same(found, fitted)
    assert found.score(twice) == pytest.approx(fitted.score(rows), abs=1e-10)


@pytest.mark.parametrize("ridge", [None, "cross-validation"])
def test_weights_of_two__are_rows_that_occur_twice(rows: xr.DataArray, ridge: str | None) -> None:
    again = rows.isel(sample=slice(0, None, 3))
    weight = np.where(np.arange(ROWS) % 3 == 0, 2.0, 1.0)
    weighted = DiscreteMixture(K, ridge=ridge).fit(rows, sample_weight=weight)
    repeated = DiscreteMixture(K, ridge=ridge).fit(coded(xr.concat([rows, again], "sample")))
    assert_same(weighted, repeated, 0.0)
    assert weighted.diagnostics_["ridge"] == repeated.diagnostics_["ridge"]


@pytest.fixture(scope="module")
def answers() -> xr.DataArray:
    """Answers to 14 questions, whose joint table is too large to count rows in."""
    rng = np.random.default_rng(1)
    often = rng.dirichlet(np.ones(3), (3, 14))
    label = rng.integers(3, size=150)
    values = (rng.random((150, 14, 1)) > often[label].cumsum(axis=2)[..., :2]).sum(axis=2)
    # copies of rows, as in a survey of few questions
    values[100:] = values[:50]
    names = [f"question {number}" for number in range(14)]
    categories = dict.fromkeys(names, ("no", "maybe", "yes"))
    return xr.DataArray(
        values, {"feature": names}, ("sample", "feature"), attrs={"categories": categories}
    )


@pytest.mark.slow  # weights of two without choices are quick
def test_held_rows__that_occur_twice_are_weights_of_two(answers: xr.DataArray) -> None:
    weight = np.where(np.arange(len(answers)) % 3, 1, 2)
    answers = answers[:, :5]
    heavy = DiscreteMixture(n_starts=2).fit(answers, sample_weight=weight.astype(float))
    twice = DiscreteMixture(n_starts=2).fit(answers[np.repeat(np.arange(len(answers)), weight)])
    assert twice.diagnostics_["distinct_rows"] == heavy.diagnostics_["distinct_rows"]
    np.testing.assert_array_equal(twice.predict_proba(answers), heavy.predict_proba(answers))


@pytest.mark.parametrize("views", first_quick([4, 3, 14]))
@pytest.mark.slow  # a law on every model
def test_constant_view_and_unused_categories__change_no_bit(
    answers: xr.DataArray, views: int
) -> None:
    few = answers[:, :views]
    names = {**few.attrs["categories"], "constant": ("only",)}
    constant = few[:, :1].copy(data=np.zeros((len(few), 1), few.dtype))
    wide = xr.concat([few, constant.assign_coords(feature=["constant"])], "feature")
    wide = wide.assign_attrs(categories={name: (*own, "never") for name, own in names.items()})
    expected, model = DiscreteMixture(n_starts=3).fit(few), DiscreteMixture(n_starts=3).fit(wide)
    np.testing.assert_array_equal(model.predict_proba(wide), expected.predict_proba(few))
    np.testing.assert_array_equal(model.score_samples(wide), expected.score_samples(few))
    assert model.free_parameters() == expected.free_parameters()


def test_category_without_a_row__is_ignored_in_answers(answers: xr.DataArray) -> None:
    unused = {name: (*own, "never") for name, own in answers.attrs["categories"].items()}
    data = answers.assign_attrs(categories=unused)
    model = DiscreteMixture(2, missing="marginalise").fit(data)
    never, missing = data[:5].copy(), data[:5].copy()
    never[:, 0], missing[:, 0] = 3, -1
    with pytest.warns(MissingValueWarning, match="'never' of 'question 0'; these"):
        scores = model.score_samples(never)
    np.testing.assert_array_equal(scores, model.score_samples(missing))
    assert not model.component_probabilities_["question 0"].sel(category="never").any()


def test_rows_without_weight__are_not_there(rows: xr.DataArray) -> None:
    weight = (np.arange(ROWS) < 2000).astype(float)
    found = DiscreteMixture(K).fit(rows, sample_weight=weight)
    assert_same(found, DiscreteMixture(K).fit(rows.isel(sample=slice(2000))), 0.0)


def as_sources(rows: xr.DataArray) -> Any:
    """Return rows in three sources of unequal lengths."""
    return [rows.isel(sample=slice(*edge)) for edge in ((0, 700), (700, 2999), (2999, ROWS))]


def as_chunks(rows: xr.DataArray) -> Any:
    """Return rows in dask chunks that fit nothing else."""
    return rows.chunk(sample=(1, 1234, 1700, 65))


def as_one_chunk(rows: xr.DataArray) -> Any:
    """Return rows in one dask chunk."""
    return rows.chunk(sample=ROWS)


@pytest.mark.parametrize("cut", [as_sources, as_chunks, as_one_chunk])
@pytest.mark.quick_cases("as_chunks")
def test_chunks_and_sources__do_not_matter(
    rows: xr.DataArray, cut: Callable[[xr.DataArray], Any]
) -> None:
    model = DiscreteMixture(K).fit(cut(rows))
    expected = DiscreteMixture(K).fit(rows)
    assert_same(model, expected, 0.0)
    lazy = model.predict_proba(as_chunks(rows))
    assert lazy.chunks is not None
    np.testing.assert_array_equal(lazy, expected.predict_proba(rows))


def test_store__has_the_mixture_and_the_answers_of_its_rows(tmp_path: Path) -> None:
    store = tmp_path / "rows.zarr"
    write_discrete_mixture(store, ROWS, K, n_categories=6, random_state=3)
    data = simulate.discrete_mixture(ROWS, K, n_categories=6, random_state=3)
    found, expected = DiscreteMixture(K).fit(store), DiscreteMixture(K).fit(data)
    np.testing.assert_array_equal(found.weights_, expected.weights_)
    np.testing.assert_array_equal(found.predict(store), expected.predict(data))


def test_large_alphabet__is_read_in_any_chunks() -> None:
    """Sketches and posterior passes add in another order, which only rounding tells."""
    data = simulate.discrete_mixture(
        230_000, 2, n_categories=260, concentration=0.2, random_state=5
    )["X"]
    expected = DiscreteMixture(2, max_iter=2, ridge=0.5).fit(data)
    assert [entry["name"] for entry in expected.diagnostics_["passes"]][-1] == "posterior"
    found = DiscreteMixture(2, max_iter=2, ridge=0.5).fit(data.chunk(sample=70_001))
    np.testing.assert_allclose(found.weights_, expected.weights_, atol=1e-6)
    for name, table in expected.component_probabilities_.items():
        np.testing.assert_allclose(found.component_probabilities_[name], table, atol=1e-6)


def test_answers__follow_the_rows_and_outlive_the_process(
    rows: xr.DataArray, fitted: DiscreteMixture, tmp_path: Path
) -> None:
    loaded = bigtensor.load(fitted.save(tmp_path / "model.zarr"))
    order = np.random.default_rng(2).permutation(ROWS)
    for answer in ("predict", "predict_proba", "score_samples"):
        whole = np.asarray(getattr(fitted, answer)(rows))
        np.testing.assert_array_equal(getattr(loaded, answer)(rows), whole)
        np.testing.assert_array_equal(getattr(fitted, answer)(rows[order]), whole[order])
        # a row is answered by itself
        np.testing.assert_array_equal(getattr(fitted, answer)(rows[41:42]), whole[41:42])
    assert_same(loaded, fitted, 0.0)


def test_view_without_an_entry__has_equally_probable_categories():
    codes = small_data("codes", 300).to_numpy()
    wider = np.insert(codes, 1, -1, axis=1)
    views = {f"x{j}": ["low", "middle", "high"] for j in range(5)}
    rows = xr.DataArray(wider, {"feature": list(views)}, ("sample", "feature"), "X")
    rows = rows.assign_attrs(categories=views)
    model = DiscreteMixture(2, missing="marginalise", random_state=0).fit(rows)
    assert np.allclose(model.component_probabilities_["x1"], 1 / 3)
    drawn, _ = model.sample(3_000, random_state=0)
    assert np.bincount(drawn[:, 1], minlength=3) / 3_000 == pytest.approx(1 / 3, abs=0.04)
    complete = DiscreteMixture(2, random_state=0).fit(codes)
    assert model.free_parameters() == complete.free_parameters()
    assert np.array_equal(model.weights_, complete.weights_)
