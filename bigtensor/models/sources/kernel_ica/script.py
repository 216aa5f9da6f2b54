"""Script of a kernel component analysis: a pilot sample, then sums over features of all rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from bigtensor.array_types import FloatArray
from bigtensor.decomposition.sources.independent_components import PrincipalAxes, unscaled_axes
from bigtensor.features.group_map import GroupMap
from bigtensor.features.kernels.kernel import GaussianKernel, LaplaceKernel
from bigtensor.features.kernels.nystroem import Nystroem, eigenvalue_cut
from bigtensor.features.plain_maps import Standardised
from bigtensor.models.contract.script import Script, Solved, Step
from bigtensor.models.sources.kernel_ica.kernel_features import (
    KernelFeatures,
    Standard,
    sample_correlations,
    sample_features,
)
from bigtensor.models.sources.kernel_ica.rotation import kernel_rotation
from bigtensor.models.sources.kernel_ica.settings import KernelICASettings
from bigtensor.models.sources.kernel_ica.solution import KernelComponents, of_features
from bigtensor.models.sources.kernel_ica.verdict import judged
from bigtensor.models.sources.pilot import Pilot, drawn_pilot
from bigtensor.models.sources.whitened_passes import (
    SampleRotation,
    WhitenedPasses,
    WhitenedSources,
    whitened_sources,
)
from bigtensor.models.sources.whitened_sample import WhitenedSample
from bigtensor.statistics.base import Pass
from bigtensor.statistics.combinators import Together
from bigtensor.statistics.in_memory import sum_in_memory
from bigtensor.statistics.moments.covariances import Covariances, CovariancesResult
from bigtensor.statistics.sources.contrast_sums import ContrastSums, ContrastSumsResult
from bigtensor.statistics.sources.mapped_rows import MappedRows, mapped_in_memory
from bigtensor.statistics.within_reach import Reach, ResultWithin, WithinReach


@dataclass(frozen=True, eq=False)
class KernelICAPreparation:
    """Kernel features, their sources in the pilot sample, and the rows that count.

    Attributes
    ----------
    settings : KernelICASettings
        Resolved parameters of the fit.
    counted : Reach
        The rows that count.
    features : KernelFeatures
        Features of the kernel.
    sample : SampleRotation
        Of these features.
    covariances : (d, q) float64 array
        Of standardised features of the data with the kernel features, in the sample.
    diagnostics : dict
        Rows of the sample, landmarks, rank, ``step`` of the iterations, and for every feature
        whether it is ``varying``.
    """

    settings: KernelICASettings
    counted: Reach
    features: KernelFeatures
    sample: SampleRotation
    covariances: FloatArray
    diagnostics: dict[str, Any]


STORED_CLASSES = (
    *(KernelComponents, KernelICAPreparation, KernelICASettings, KernelFeatures, SampleRotation),
    *(Standard, GroupMap, Nystroem, Standardised, GaussianKernel, LaplaceKernel),
    *(Reach, WithinReach, MappedRows, Together, Covariances, ContrastSums),
)
"""Dataclasses that a saved model, prepared or fitted, is made of."""


def prepare(settings: KernelICASettings) -> Script:
    """Ask for a pilot sample, choose the features of the kernel, and find their sources in it."""
    pilot: Pilot = yield from drawn_pilot(settings)
    yield Step("choosing landmarks")
    features = sample_features(settings, pilot)
    mapped = mapped_in_memory(features.features, pilot.rows)
    q = features.features.n_features
    moments = sum_in_memory(Covariances(((0, q),), np.zeros(q)), mapped)
    axes = _axes(moments, features)
    axes = axes.largest(min(settings.most_components, axes.rank))
    yield Step("finding sources in the sample")
    whitened = WhitenedSample.of_block(mapped, axes, moments.mean, "float64")
    rotation = kernel_rotation(whitened, settings.random_state)
    unmixing = axes.whitening @ rotation.columns
    sample = SampleRotation(moments.mean, unmixing, pilot.independent_share)
    covariances = sample_correlations(pilot, features, mapped)
    diagnostics = {**pilot.diagnostics, **features.diagnostics, "step": rotation.step}
    return KernelICAPreparation(settings, pilot.counted, features, sample, covariances, diagnostics)


def refine(preparation: KernelICAPreparation) -> Script:
    """Ask for fixed-point iterations over all rows, the first of them beside the covariance."""
    settings, features = preparation.settings, preparation.features
    sample, counted = preparation.sample, preparation.counted

    def contrast(
        unmixing: FloatArray,
        mean: FloatArray,
        axes: PrincipalAxes,  # noqa: ARG001
    ) -> Pass[ResultWithin[ContrastSumsResult]]:
        return feature_contrast_pass(features.features, SampleRotation(mean, unmixing), counted)

    def solve(sources: WhitenedSources) -> Solved:
        components = of_features(
            features, sources, preparation.covariances, settings.shape.views, settings.shape.dtype
        )
        return judged(components, settings, {**preparation.diagnostics, **sources.diagnostics})

    passes = WhitenedPasses(
        feature_moments_pass(features.features, sample, counted),
        lambda moments: _axes(moments, features),
        contrast,
        settings.max_iter,
        preparation.diagnostics["step"],
    )
    return solve((yield from whitened_sources(sample, passes, solve)))


def feature_moments_pass(
    features: GroupMap, sample: SampleRotation, counted: Reach
) -> Pass[ResultWithin[dict[str, Any]]]:
    """Return the pass that sums the covariance of features, beside the first iteration."""
    q = features.n_features
    # sums about the mean of all rows of the sample would be nothing but rounding
    together = Together.named(
        covariance=Covariances(((0, q),), np.zeros(q)),
        contrast=ContrastSums(sample.unmixing, sample.mean, features.dtype),
    )
    return Pass("moments", WithinReach(MappedRows(together, features), counted))


def feature_contrast_pass(
    features: GroupMap, sources: SampleRotation, counted: Reach
) -> Pass[ResultWithin[ContrastSumsResult]]:
    """Return the pass of one fixed-point iteration on features."""
    sums = ContrastSums(sources.unmixing, sources.mean, features.dtype)
    return Pass("contrast", WithinReach(MappedRows(sums, features), counted))


def _axes(moments: CovariancesResult, features: KernelFeatures) -> PrincipalAxes:
    """Return the axes along which features vary; all have the unit of the kernel."""
    return unscaled_axes(moments.covariance, eigenvalue_cut(features.features.dtype))
