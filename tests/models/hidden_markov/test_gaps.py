"""Measured rows with missing entries: marginal densities, against sums over all paths."""

from __future__ import annotations

import itertools
import warnings
from pathlib import Path

import dask.array as da
import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from bigtensor import GaussianMixture, HiddenMarkovModel, merge
from bigtensor.errors import DataError, MissingValueError, ParameterError
from bigtensor.report.html import write_report

KINDS = [("gaussian", "full"), ("gaussian", "diag"), ("poisson", "full")]
MEANS = np.array([[2.0, 6.0], [5.0, 3.0]])


def drawn(
    kind: str, rows: int = 2000, seed: int = 5, share: float = 0.3
) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """Draw rows of two states that stay, a share of whose entries is missing."""
    rng = np.random.default_rng(seed)
    states = np.cumsum(rng.random(rows) < 0.1) % 2
    noise = rng.normal(size=(rows, 2)) @ [[1.0, 0.6], [0.0, 0.8]]
    values = rng.poisson(MEANS[states]) if kind == "poisson" else MEANS[states] + noise
    values = values.astype(np.float64)
    values[rng.random(values.shape) < share] = np.nan
    values[40:50] = np.nan
    return values, states


def fitted(kind: str, covariance_type: str, values: NDArray[np.float64]) -> HiddenMarkovModel:
    """Fit two states to rows with missing entries."""
    parameters = {"covariance_type": covariance_type} if kind == "gaussian" else {}
    model = HiddenMarkovModel(
        2, emissions=kind, missing="marginalise", random_state=0, **parameters
    )
    return model.fit(values)


def log_emissions(model: HiddenMarkovModel, row: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the log density of the entries that a row has, in every state."""
    has = ~np.isnan(row)
    means = model.means_.values[:, has]
    if not has.any():
        return np.zeros(len(means))
    if model.emissions == "poisson":
        return stats.poisson.logpmf(row[has], means).sum(axis=1)
    covariances = [np.diag(c) if c.ndim == 1 else c for c in model.covariances_.values]
    return np.array(
        [
            stats.multivariate_normal.logpdf(row[has], mean, covariance[np.ix_(has, has)])
            for mean, covariance in zip(means, covariances, strict=True)
        ]
    )


@pytest.mark.parametrize(("kind", "covariance_type"), KINDS)
def test_score__is_a_sum_over_paths_of_marginal_densities(kind: str, covariance_type: str) -> None:
    values, _ = drawn(kind)
    model = fitted(kind, covariance_type, values)
    rows = values[43:54]
    logs = np.array([log_emissions(model, row) for row in rows])
    total = 0.0
    for path in itertools.product(range(2), repeat=len(rows)):
        moves = model.transition_.values[path[:-1], path[1:]].prod()
        total += model.initial_[path[0]] * moves * np.exp(logs[np.arange(len(rows)), path].sum())
    np.testing.assert_allclose(model.score_samples(rows)[0], np.log(total), rtol=1e-9)


@pytest.mark.quick_cases("gaussian-diag")
@pytest.mark.parametrize(("kind", "covariance_type"), KINDS)
def test_estimates__are_nearer_than_those_of_complete_rows(kind: str, covariance_type: str) -> None:
    errors = []
    for seed in range(3):
        values, states = drawn(kind, 1000, seed, 0.5)
        with_gaps = fitted(kind, covariance_type, values)
        parameters = with_gaps.get_params() | {"missing": "omit"}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the rows left out, and of the few that are left
            omitted = HiddenMarkovModel(**parameters).fit(values)
        means = (np.sort(model.means_.values, axis=0) for model in (with_gaps, omitted))
        errors.append([np.abs(of_model - np.sort(MEANS, axis=0)).mean() for of_model in means])
        same = np.mean(with_gaps.predict(values) == states)
        assert max(same, 1 - same) > 0.8
    of_gaps, of_complete_rows = np.mean(errors, axis=0)
    assert of_gaps < min(0.12, of_complete_rows)


def test_every_row_with_a_gap__still_fits() -> None:
    values, states = drawn("gaussian")
    values[np.arange(len(values)), np.arange(len(values)) % 2] = np.nan
    model = fitted("gaussian", "diag", values)
    same = np.mean(model.predict(values) == states)
    assert max(same, 1 - same) > 0.9


def test_a_feature_without_entries__is_an_error() -> None:
    values, _ = drawn("gaussian", 200)
    values[:, 1] = np.nan
    with pytest.raises(DataError, match="begin with data"):
        fitted("gaussian", "full", values)


def test_a_report__shows_rows_with_gaps(tmp_path: Path) -> None:
    values, _ = drawn("gaussian", 400)
    model = fitted("gaussian", "full", values)
    write_report(model, tmp_path / "report.html", data=values)
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert all(f">{mean:.4g}<" in text for mean in model.means_.values.ravel())


def test_kernel_densities__refuse_gaps_after_the_fit_too() -> None:
    values, _ = drawn("gaussian", 600)
    complete = np.where(np.isnan(values), 5.0, values)
    model = HiddenMarkovModel(2, emissions="kernel", random_state=0).fit(complete)
    model.set_params(missing="marginalise")
    with pytest.raises(ParameterError, match="missing='omit'"):
        model.predict(values)


@pytest.mark.parametrize(
    ("model", "offered"),
    [
        (HiddenMarkovModel(2, emissions="kernel"), False),
        (HiddenMarkovModel(2, emissions="poisson"), True),
        (GaussianMixture(2, covariance_type="tied"), False),
    ],
)
def test_error_of_a_gap__offers_what_the_model_takes(
    model: HiddenMarkovModel | GaussianMixture, offered: bool
) -> None:
    values = np.round(np.abs(drawn("gaussian", 600)[0]))
    with pytest.raises(MissingValueError, match="missing='omit'") as raised:
        model.fit(values)
    assert ("marginalise" in str(raised.value)) == offered


@pytest.mark.parametrize(("share", "told"), [(0.3, True), (0.0, False)])
def test_number_of_states_of_rows_with_gaps__is_noted(share: float, told: bool) -> None:
    values, _ = drawn("gaussian", 1000, share=share)
    values[40:50] = values[50:60]
    model = HiddenMarkovModel(
        "auto", emissions="gaussian", missing="marginalise", random_state=0, max_iter=0
    )
    sentences = " ".join(map(str, model.fit(values).diagnostics_["verdict"]["sentences"]))
    assert ("have missing values" in sentences) == told


@pytest.mark.parametrize("chunk", [100, 333])
def test_chunks__do_not_change_a_fit_with_gaps(chunk: int) -> None:
    values, _ = drawn("gaussian", 1000)
    whole, parts = (
        fitted("gaussian", "full", rows) for rows in (values, da.from_array(values, (chunk, -1)))
    )
    np.testing.assert_array_equal(whole.means_.values, np.asarray(parts.means_))
    np.testing.assert_array_equal(whole.predict(values), parts.predict(values))


@pytest.mark.parametrize("emissions", ["gaussian", "poisson"])
def test_rounds__with_gaps_fit_the_model_of_all_rows(emissions: str) -> None:
    values, _ = drawn(emissions, 1200)
    model = HiddenMarkovModel(
        2, emissions=emissions, missing="marginalise", refine="triples", random_state=0
    )
    prepared = model.prepare(values, rows=1200)
    sites = [prepared.accumulate(rows) for rows in (values[:500], values[500:])]
    solved = prepared.solve(merge(sites))
    # the pair of rows at the cut is missing
    np.testing.assert_allclose(solved.means_.values, model.fit(values).means_.values, rtol=0.05)
    assert (solved.predict(values) >= 0).all()
