"""From the sums of a posterior pass to weights and densities, and the two starts."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bigtensor.decomposition.regression import regress_embeddings
from bigtensor.decomposition.solution import MultiviewMixture
from bigtensor.features.maps import FeatureMap
from bigtensor.models.kernel_mixture.embedded_view import (
    DENSITY_FLOOR,
    EmbeddedView,
    density_floor,
    features_of,
)
from bigtensor.models.kernel_mixture.histogram_densities import smooth_histograms
from bigtensor.models.kernel_mixture.preparation import Preparation
from bigtensor.models.kernel_mixture.solution import KernelSolution
from bigtensor.statistics.densities import EmbeddedDensities, MixtureDensities
from bigtensor.statistics.posterior_sums import PosteriorSumsResult
from bigtensor.statistics.row_sample import Sample

FloatArray = NDArray[np.float64]

SPECTRAL_FLOOR = 1e-4
"""Spectral densities may be negative: they are cut at this part of their maximum."""

LEAST_WEIGHT = 1e-3
"""Floor of a mixing weight, relative to equal weights."""


def refined(sums: PosteriorSumsResult, preparation: Preparation) -> KernelSolution:
    """Re-estimate weights and densities from the sums of a posterior pass.

    One-dimensional views get a histogram smoothed with the width of each component, wider ones the
    weighted mean of their kernel features, divided by its mass (Song et al. 2014, sec. 3).
    """
    weights = floored_weights(sums.mass)
    k = len(weights)
    grids, broad = preparation.grids, preparation.posterior_widths
    histograms = (
        sums.histograms if sums.histograms is not None else np.zeros((0, grids.bins + 1, k))
    )
    embeddings, mass = sums.embeddings, sums.mass
    if preparation.shared:
        histograms = _in_every_view(histograms)
        if embeddings:
            total = np.sum(list(embeddings.values()), axis=0)
            embeddings, mass = dict.fromkeys(embeddings, total), mass * len(embeddings)
    densities, bandwidths = smooth_histograms(histograms, grids.step)
    return KernelSolution(
        weights=weights,
        views=preparation.views,
        grids=grids,
        histograms=histograms,
        densities=densities,
        bandwidths=bandwidths,
        posterior_densities=densities
        if broad is None
        else smooth_histograms(histograms, grids.step, broad)[0],
        embedded=tuple(
            _embedded_view(name, feature_map, embeddings[name], mass, preparation)
            for name, feature_map in preparation.embedded_maps.items()
        ),
    )


def _in_every_view(histograms: FloatArray) -> FloatArray:
    """Give every view the counts of all views, which have the same components."""
    return np.repeat(histograms.sum(axis=0, keepdims=True), len(histograms), axis=0)


def spectral_start(spectral: MultiviewMixture, preparation: Preparation) -> MixtureDensities:
    """Return the mixture of the spectral densities, each group of views as one density."""
    assert preparation.groups is not None
    parts = [
        (name, feature_map, embedding)
        for group, embedding in zip(preparation.groups, spectral.embeddings, strict=True)
        for name, feature_map in zip(group.views, group.maps, strict=True)
    ]
    parts += [
        (
            other.name,
            other.feature_map,
            regress_embeddings(spectral.embeddings, spectral.weights, other.cross_moments),
        )
        for other in preparation.others
    ]
    embedded, tables = [], []
    for name, feature_map, embedding in parts:
        mass = feature_map.mass @ embedding
        coefficients = embedding / np.where(np.abs(mass) < 1e-3, 1.0, mass)
        columns = preparation.slices[name]
        if columns.start in preparation.grids.columns:
            index = preparation.grids.columns.index(columns.start)
            points = preparation.grids.points(index)[:, None]
            density = features_of(feature_map, points) @ coefficients / feature_map.volume
            tables.append((index, density))
        else:
            floor = density_floor(feature_map, coefficients, SPECTRAL_FLOOR)
            embedded.append(EmbeddedDensities(name, feature_map, coefficients, floor))
    ordered = [density for _, density in sorted(tables, key=lambda entry: entry[0])]
    table = preparation.grids.tabulate(np.stack(ordered), SPECTRAL_FLOOR) if ordered else None
    return MixtureDensities(floored_weights(spectral.weights), table, tuple(embedded))


def clustered_start(sample: Sample, preparation: Preparation) -> KernelSolution:
    """Return what the k-means clusters of the pilot sample make."""
    k = preparation.n_components
    hard = np.zeros((len(sample.values), k))
    hard[np.arange(len(hard)), preparation.assignment] = (
        1.0 if sample.weight is None else sample.weight
    )
    sums = PosteriorSumsResult(
        mass=hard.sum(axis=0),
        histograms=preparation.grids.histograms(sample.values, hard)
        if preparation.grids.columns
        else None,
        embeddings={
            name: features_of(feature_map, sample.values[:, preparation.slices[name]]).T @ hard
            for name, feature_map in preparation.embedded_maps.items()
        },
        log_likelihood=0.0,
        weight=float(hard.sum()),
        rows=len(hard),
    )
    return refined(sums, preparation)


def _embedded_view(
    name: str,
    feature_map: FeatureMap,
    embedding: FloatArray,
    mass: FloatArray,
    preparation: Preparation,
) -> EmbeddedView:
    """Return the density of a wider view from the sums of its features."""
    mean = embedding / np.maximum(mass, np.finfo(np.float64).tiny)
    integral = feature_map.mass @ mean
    coefficients = mean / np.where(np.abs(integral) < 1e-3, 1.0, integral)
    floor = density_floor(feature_map, coefficients, DENSITY_FLOOR)
    rows = np.empty((0, feature_map.n_inputs))
    return EmbeddedView(name, preparation.slices[name], feature_map, coefficients, floor, rows)


def floored_weights(mass: FloatArray) -> FloatArray:
    """Return positive weights that sum to one."""
    weights = mass / mass.sum()
    weights = np.maximum(weights, LEAST_WEIGHT / len(weights))
    return np.asarray(weights / weights.sum())
