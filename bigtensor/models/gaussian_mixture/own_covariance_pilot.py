"""Components with a covariance each, found in a pilot sample from several clusterings."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cholesky, solve_triangular
from sklearn.metrics import pairwise_distances_argmin

from bigtensor.array_types import FloatArray
from bigtensor.data.rows.block import Block
from bigtensor.decomposition.gaussian.own_covariance_m_step import m_step
from bigtensor.decomposition.gaussian.shared_covariance_m_step import TotalMoments
from bigtensor.features.clustering import kmeans
from bigtensor.models.contract.script import Step, in_memory
from bigtensor.models.gaussian.fitted_components import GaussianComponents
from bigtensor.models.gaussian_mixture.competition import (
    FIRST_ITERATIONS,
    GO_ON,
    SAMPLE_ITERATIONS,
    SAMPLE_TOLERANCE,
)
from bigtensor.models.gaussian_mixture.own_covariance_components import OwnCovarianceComponents
from bigtensor.models.gaussian_mixture.own_covariance_iterations import (
    own_covariance_iterations,
)
from bigtensor.models.gaussian_mixture.own_covariance_ridge import (
    CANDIDATES,
    ENOUGH_ROWS_A_PARAMETER,
    FOLDS,
    validated_ridge,
)
from bigtensor.models.gaussian_mixture.sample_rows import SampleRows
from bigtensor.models.gaussian_mixture.settings import GaussianSettings
from bigtensor.statistics.base import Workspace
from bigtensor.statistics.gaussian.own_covariance_densities import Frame
from bigtensor.statistics.gaussian.own_covariance_sums import OwnCovarianceSums
from bigtensor.statistics.gaussian.quadratic_features import QuadraticFeatures
from bigtensor.statistics.in_memory import sum_in_memory
from bigtensor.statistics.within_reach import Reach

_ROWS_AT_ONCE = 4096
"""Rows whose features of order two are in memory at once."""

_LEAST_WEIGHT = 1e-6
"""Smallest weight of a component before the first EM iteration."""

_RIDGE = 1e-6
"""Variance that standardised features have at least in the frame, so that it can be inverted."""


@dataclass(frozen=True, eq=False)
class PilotEnd:
    """Components after EM iterations in the sample.

    Attributes
    ----------
    name : str
        Name of the initialisation.
    components : OwnCovarianceComponents
        The mixture.
    log_likelihood : float
        Mean of a row of the sample, in nats.
    """

    name: str
    components: OwnCovarianceComponents
    log_likelihood: float


def regularisation_of(total: TotalMoments, reg_covar: float) -> FloatArray:
    """Return what is added to the variances of the features, in the units of the data: ``(d,)``."""
    return reg_covar * _variances(total)


def frame_of(total: TotalMoments, covariance_type: str) -> Frame:
    """Return coordinates in which the rows have mean zero and variance one.

    Parameters
    ----------
    total : TotalMoments
        Mean and covariance of the rows.
    covariance_type : {"full", "diag", "spherical"}
        Full covariances stay what they are under any linear map, and others under fewer.
    """
    variances = _variances(total)
    if covariance_type == "spherical":
        return Frame(total.mean, np.full(len(variances), variances.mean() ** -0.5))
    if covariance_type == "diag":
        return Frame(total.mean, variances**-0.5)
    scales = np.sqrt(variances)
    correlation = total.covariance / np.outer(scales, scales) + _RIDGE * np.eye(len(scales))
    root = cholesky(correlation, lower=True)
    whitening = solve_triangular(root, np.eye(len(root)), lower=True).T
    return Frame(total.mean, whitening / scales[:, None])


def _variances(total: TotalMoments) -> FloatArray:
    """Return the variances of the features; one for a constant feature."""
    return np.where(total.variances > 0, total.variances, 1.0)


def pilot_components(
    sample: SampleRows,
    reach: Reach,
    settings: GaussianSettings,
    labelled: GaussianComponents | None = None,
) -> Generator[Step, None, tuple[OwnCovarianceComponents, dict[str, Any]]]:
    """Return the components of the best initialisation, and the facts of the competition.

    Parameters
    ----------
    sample : SampleRows
        Rows of the pilot sample.
    reach : Reach
        The rows that count.
    settings : GaussianSettings
        Resolved parameters of the fit.
    labelled : GaussianComponents, optional
        Components of labelled rows, in place of clusters.
    """
    block, total = sample.block, sample.total
    frame = frame_of(total, settings.covariance_type)
    least = settings.reg_covar or CANDIDATES[0]
    ridge = regularisation_of(total, least)
    ends: list[PilotEnd] = []
    if labelled is not None:
        yield Step("EM iterations in the sample from labels")
        initial = _with_shared(labelled, frame, settings)
        ends = [_improved(PilotEnd("labels", initial, -np.inf), block, ridge, reach)]
    elif settings.initial is not None and settings.initial.means is not None:
        yield Step("EM iterations in the sample from the means given")
        nearest = _nearest_to(settings.initial.means, sample, frame, least, settings)
        first = PilotEnd("given", settings.initial.in_place_of(nearest), -np.inf)
        ends = [_improved(first, block, ridge, reach)]
        if settings.initial.is_complete:
            # iterations in the sample would lose what another fit found in all rows
            ends = [replace(first, log_likelihood=ends[0].log_likelihood)]
    else:
        yield Step("EM iterations in the sample from clusters")
        for number in range(settings.n_init):
            start = _clustered(sample, frame, least, settings, number)
            first = PilotEnd(f"clusters {number + 1}", start, -np.inf)
            ends.append(_improved(first, block, ridge, reach, FIRST_ITERATIONS))
        ends.sort(key=lambda end: -end.log_likelihood)
        ends[:GO_ON] = [_improved(end, block, ridge, reach) for end in ends[:GO_ON]]
    best = max(ends[:GO_ON], key=lambda end: end.log_likelihood)
    facts: dict[str, Any] = {
        "initialisation": best.name,
        "log_likelihood": {end.name: end.log_likelihood for end in ends},
    }
    chosen = least
    if settings.reg_covar is None and best.name != "given" and settings.covariance_type == "full":
        yield Step("choosing the regularisation")
        chosen, compared = _validated(best.components, sample, total, reach, settings)
        facts["held_out_by_reg_covar"] = compared
    facts["reg_covar"] = chosen
    if chosen == least:
        return best.components, facts
    # covariances that are free to shrink end elsewhere than those that are not
    labels = _labels(best.components, block)
    rows = frame.of_rows(sample.complete.astype(np.float64))
    start = _of_labels(rows, labels, block.weight, frame, chosen, settings)
    ridge = regularisation_of(total, chosen)
    names = best.components.names
    end = _improved(PilotEnd(best.name, start, -np.inf), block, ridge, reach)
    return replace(end.components, names=names), facts


def _validated(
    components: OwnCovarianceComponents,
    sample: SampleRows,
    total: TotalMoments,
    reach: Reach,
    settings: GaussianSettings,
) -> tuple[float, dict[str, float]]:
    """Return the regularisation that held-out rows prefer."""
    block, frame = sample.block, components.frame
    labels = _labels(components, block)
    rows = frame.of_rows(sample.complete.astype(np.float64))

    def held_out(train: NDArray[np.bool_], reg_covar: float) -> float:
        inside = sample.part(train).block
        start = _of_labels(rows[train], labels[train], inside.weight, frame, reg_covar, settings)
        ridge = regularisation_of(total, reg_covar)
        end = _improved(PilotEnd("", start, -np.inf), inside, ridge, reach, FIRST_ITERATIONS)
        statistic = OwnCovarianceSums(end.components.mixture())
        sums = sum_in_memory(statistic, sample.part(~train).block)
        return float(sums.log_likelihood / max(sums.weight, np.finfo(np.float64).tiny))

    numbers = components.n_components * components.mixture().features.width
    if settings.shape.all_rows > ENOUGH_ROWS_A_PARAMETER * numbers or block.rows < 2 * FOLDS:
        return CANDIDATES[0], {}
    return validated_ridge(block.rows, settings.random_state, held_out)


def _labels(components: OwnCovarianceComponents, block: Block) -> NDArray[np.intp]:
    """Return the most probable component of every row."""
    mixture = components.mixture()
    joint = np.empty((block.rows, mixture.n_components))
    mixture.log_joint(block.without_halo(), joint, Workspace())
    return np.asarray(joint.argmax(axis=1))


def _improved(
    end: PilotEnd,
    block: Block,
    ridge: FloatArray,
    reach: Reach,
    iterations: int = SAMPLE_ITERATIONS,
) -> PilotEnd:
    """Return the components after further EM iterations."""
    script = own_covariance_iterations(
        end.components, ridge, reach, max_iter=iterations, tolerance=SAMPLE_TOLERANCE
    )
    ended = in_memory(script, block)
    return PilotEnd(end.name, ended.state.components, ended.measures[-1])


def _clustered(
    sample: SampleRows, frame: Frame, reg_covar: float, settings: GaussianSettings, number: int
) -> OwnCovarianceComponents:
    """Return components of clusters of the rows."""
    rows, weight = frame.of_rows(sample.complete.astype(np.float64)), sample.block.weight
    # clusters of whitened rows split along features that hardly vary within groups
    standard = rows if frame.scaling.ndim == 1 else _standardised(sample.complete)
    clusters = kmeans(
        standard,
        settings.n_components,
        settings.random_state + number,
        weight=weight,
        n_starts=1,
    )
    start = _of_labels(rows, clusters.labels, weight, frame, reg_covar, settings)
    return start if settings.initial is None else settings.initial.in_place_of(start)


def _nearest_to(
    means: FloatArray,
    sample: SampleRows,
    frame: Frame,
    reg_covar: float,
    settings: GaussianSettings,
) -> OwnCovarianceComponents:
    """Return components of the rows that are nearest to each mean, in standardised features."""
    values, weight = sample.complete.astype(np.float64), sample.block.weight
    spread = values.std(axis=0)
    units = np.where(spread > 0, spread, 1.0)
    labels = pairwise_distances_argmin(values / units, means / units)
    return _of_labels(frame.of_rows(values), labels, weight, frame, reg_covar, settings)


def _standardised(values: NDArray[np.floating]) -> FloatArray:
    """Return rows of mean zero and variance one in every feature."""
    rows = values.astype(np.float64)
    spread = rows.std(axis=0)
    return np.asarray((rows - rows.mean(axis=0)) / np.where(spread > 0, spread, 1.0))


def _of_labels(
    rows: FloatArray,
    labels: NDArray[np.integer],
    weight: FloatArray | None,
    frame: Frame,
    reg_covar: float,
    settings: GaussianSettings,
) -> OwnCovarianceComponents:
    """Return components of labelled rows. One of few rows has the mean covariance of all."""
    k, d = settings.n_components, rows.shape[1]
    weight = np.ones(len(rows)) if weight is None else weight[: len(rows)]
    features = QuadraticFeatures(settings.covariance_type, d)
    totals = np.zeros((features.width, k))
    for start in range(0, len(rows), _ROWS_AT_ONCE):
        part = slice(start, min(start + _ROWS_AT_ONCE, len(rows)))
        quadratic = np.empty((features.width, part.stop - start))
        features.entries_of(quadratic)[:] = rows[part].T
        features.fill(quadratic)
        shares = np.zeros((part.stop - start, k))
        shares[np.arange(len(shares)), labels[part]] = weight[part]
        totals += quadratic @ shares
    counts = totals[-1]
    unit = {"full": np.eye(d), "diag": np.ones(d), "spherical": np.ones(())}
    step = m_step(
        counts,
        totals[features.n_quadratic : -1].T,
        features.second_moments(totals),
        reg_covar * unit[settings.covariance_type],
    )
    few = counts < d + 1
    pooled = np.tensordot(step.weights, step.covariances, axes=1)
    covariances = step.covariances.copy()
    covariances[few] = pooled
    means = step.means.copy()
    # an empty cluster starts from a row
    empty = np.flatnonzero(counts == 0)
    means[empty] = rows[np.arange(empty.size) % len(rows)]
    weights = np.maximum(counts, _LEAST_WEIGHT * counts.sum())
    return OwnCovarianceComponents(
        weights / weights.sum(),
        frame.to_data(means),
        frame.covariances_to_data(covariances),
        frame,
        settings.shape.views,
        settings.shape.dtype,
    )


def _with_shared(
    components: GaussianComponents, frame: Frame, settings: GaussianSettings
) -> OwnCovarianceComponents:
    """Return components that begin with one covariance for all."""
    k, d = components.means.shape
    shared = components.covariance
    whole = np.diag(shared) if shared.ndim == 1 else shared
    covariances = {
        "full": np.repeat(whole[None], k, axis=0),
        "diag": np.repeat(np.diag(whole)[None], k, axis=0),
        "spherical": np.full(k, np.trace(whole) / d),
    }[settings.covariance_type]
    return OwnCovarianceComponents(
        components.weights,
        components.means,
        covariances,
        frame,
        components.views,
        components.dtype,
        components.names,
    )
