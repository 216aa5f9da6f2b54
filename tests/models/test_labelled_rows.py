"""Labels of some rows: `classes_` is of their kind, and predictions are positions in it."""

import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
import xarray as xr
from numpy.typing import NDArray
from sklearn.datasets import load_wine
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

import bigtensor
from bigtensor import (
    DiscreteMixture,
    GaussianMixture,
    HiddenMarkovModel,
    KernelMixture,
    LinearMixture,
)
from bigtensor.errors import ConditioningWarning, LabelWarning

MODELS = [
    GaussianMixture(3, random_state=0),
    GaussianMixture(3, covariance_type="tied", random_state=0),
    LinearMixture(3, views={"a": [0, 1], "b": [2, 3], "c": [4, 5]}, random_state=0),
]
"""One of every class that holds the labels of a fit."""


def drawn(seed: int = 0) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """Draw rows of three groups far apart."""
    rng = np.random.default_rng(seed)
    group = rng.integers(3, size=600)
    return (9 * rng.normal(size=(3, 6)))[group] + rng.normal(size=(600, 6)), group


@pytest.mark.parametrize("model", MODELS, ids=["own", "tied", "linear"])
@pytest.mark.parametrize(
    ("labels", "unlabelled", "kind"),
    [((9, 10, 100), -1, "i"), ((0.5, 1.0, 2.0), np.nan, "f"), (("9", "10", "100"), "", "O")],
    ids=["integers", "floats", "names"],
)
@pytest.mark.quick_cases("floats-tied", "names-own", "integers-linear")
def test_classes__are_of_the_kind_of_the_labels(
    model: GaussianMixture | LinearMixture,
    labels: tuple[object, ...],
    unlabelled: object,
    kind: str,
    tmp_path: Path,
) -> None:
    rows, group = drawn()
    y = np.where(np.arange(600) < 60, np.array(labels)[group], unlabelled)
    fitted = model.fit(rows, y)
    assert fitted.classes_.dtype.kind == kind
    assert sorted(fitted.classes_.tolist(), key=str) == sorted(labels, key=str)
    assert np.mean(fitted.classes_[fitted.predict(rows)] == np.array(labels)[group]) > 0.98
    # names of populations are texts
    assert fitted.population_names_.tolist() == [str(label) for label in fitted.classes_]
    again = bigtensor.load(fitted.save(tmp_path / "model.zarr"))
    assert again.classes_.dtype == fitted.classes_.dtype
    assert again.classes_.tolist() == fitted.classes_.tolist()


def test_saved_model__of_an_earlier_version_has_labels_as_texts(tmp_path: Path) -> None:
    rows, group = drawn()
    model = GaussianMixture(3, random_state=0).fit(rows, np.where(np.arange(600) < 60, group, -1))
    model.solution_ = replace(model.solution_, names=("0", "1", "2"))
    again = bigtensor.load(model.save(tmp_path / "model.zarr"))
    assert again.classes_.tolist() == ["0", "1", "2"]
    assert again.population_names_.tolist() == ["0", "1", "2"]


def test_lost_label__is_named_by_a_warning() -> None:
    """Two labels of one group leave one component."""
    rng = np.random.default_rng(0)
    group = rng.integers(3, size=600)
    tables = {v: (3 * rng.normal(size=(3, 3)))[group] + rng.normal(size=(600, 3)) for v in "abc"}
    y = np.full(600, -1)
    for number in range(3):
        y[np.flatnonzero(group == number)[:3]] = 10 * number
    y[np.flatnonzero(group == 0)[5:8]] = 5
    with (
        pytest.warns(ConditioningWarning, match="3 of the 4 components"),
        pytest.warns(ConditioningWarning, match=r"label 0\b.*classes_\["),
    ):
        # EM iterations would let means of both labels compete
        model = LinearMixture(4, max_iter=0, random_state=0).fit(tables, y)
    assert model.classes_.tolist() == [5, 10, 20]
    assert np.mean(model.classes_[model.predict(tables)] == np.array([5, 10, 20])[group]) > 0.98


@pytest.mark.parametrize("covariance_type", ["full", "diag"])
def test_labels__of_components_that_iterations_exchange(covariance_type: str) -> None:
    rows, cultivar = load_wine(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(rows))[::10]
    y = np.full(len(rows), -1)
    y[order] = cultivar[order]
    model = GaussianMixture(3, covariance_type=covariance_type, random_state=0).fit(rows, y)
    assert np.mean(model.classes_[model.predict(rows)] == cultivar) > 0.9


CODES = np.random.default_rng(0).integers(0, 3, (60, 4)).astype(np.int32)
GROUP = np.random.default_rng(1).integers(0, 3, 60)
"""Labels of all rows; they have nothing to do with the codes."""

UNLABELLED = np.arange(60) % 3 > 0


@pytest.mark.parametrize(
    "y",
    [
        np.where(UNLABELLED, -1, GROUP),
        np.where(UNLABELLED, np.nan, GROUP),
        np.where(UNLABELLED, "", np.array(["low", "mid", "high"])[GROUP]),
        pd.Series(np.where(UNLABELLED, None, GROUP.astype(object))),
        pd.array(np.where(UNLABELLED, -1, GROUP), "Int64"),
        pd.Series(np.where(UNLABELLED, "", "word")).replace("", None).astype("string"),
        np.where(UNLABELLED, -1, GROUP).astype(object).tolist(),
        np.where(UNLABELLED, None, "word").tolist(),
    ],
    ids=["-1", "NaN", "empty", "None", "Int64", "NA", "list", "list of names"],
)
def test_labels_of_some_rows__for_a_model_without_labels_are_a_warning(y: object) -> None:
    model = DiscreteMixture(1, ridge=None, random_state=0)
    with pytest.warns(LabelWarning, match=r"20 of 60 .*DiscreteMixture.* out y"):
        model.fit(CODES, y)


@pytest.mark.parametrize(
    "model",
    [
        KernelMixture(1, random_state=0),
        HiddenMarkovModel(2, emissions="gaussian", max_iter=1, random_state=0),
    ],
    ids=["kernel", "hidden Markov"],
)
def test_labels_of_some_rows__are_a_warning_of_every_mixture(model: KernelMixture) -> None:
    rows = np.random.default_rng(2).normal(size=(60, 3))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(rows, np.where(UNLABELLED, -1, GROUP))
    assert [type(model).__name__ in str(one.message) for one in caught].count(True) == 1
    assert sum(one.category is LabelWarning for one in caught) == 1


@pytest.mark.parametrize(
    "y",
    [
        lambda: None,
        lambda: GROUP,
        lambda: GROUP - 1,
        lambda: 2 * (GROUP > 1) - 1,
        lambda: np.where(GROUP > 1, "", "word").astype("U1") + "x",
        lambda: 10.0 * (GROUP - 2),
        lambda: np.stack([GROUP, -GROUP], 1),
        lambda: np.where(GROUP > 0, "word", ""),
        lambda: np.where(GROUP > 0, 0.5, np.nan),
        lambda: np.where(GROUP > 0, "word", None),
        lambda: np.where(np.arange(60) % 2 > 0, "word", "").tolist(),
        lambda: [[1], [2, 3]] * 30,
        lambda: pd.Series([np.arange(2), np.arange(3)] * 30),
        lambda: np.zeros(60, "datetime64[s]"),
    ],
    ids=[
        *("none", "classes", "with -1", "-1 and 1", "names", "regression", "two outputs"),
        *("some empty", "some NaN", "some None", "half", "ragged", "arrays", "dates"),
    ],
)
def test_labels_of_all_rows__are_no_warning(y: Callable[[], object]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", LabelWarning)
        DiscreteMixture(1, ridge=None, random_state=0).fit(CODES, y())


@pytest.mark.parametrize("kind", ["array", "series", "xarray"])
def test_lazy_labels__are_not_computed_for_a_warning(kind: str) -> None:
    def refuse(block: object) -> object:
        raise AssertionError("labels were computed")

    lazy = da.ones(60, chunks=20, dtype=int).map_blocks(refuse, dtype=int)
    if kind == "series":
        lazy = dd.from_dask_array(lazy)
    y = xr.DataArray(lazy, dims="sample") if kind == "xarray" else lazy
    DiscreteMixture(1, ridge=None, random_state=0).fit(CODES, y)


def test_pipeline__passes_labels_of_all_rows_without_a_warning() -> None:
    mixture = DiscreteMixture(1, ridge=None, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cross_val_score(mixture, CODES, GROUP - 1, cv=2)
        make_pipeline("passthrough", mixture).fit(CODES, GROUP - 1)
