"""Components before and after the passes over all rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from bigtensor.decomposition.sample_tensors.terms import Terms
from bigtensor.models.gaussian.fitted_components import GaussianComponents
from bigtensor.models.linear_mixture.settings import LinearSettings
from bigtensor.models.moment_tensors.sample_tensor import Refined, SampleTensor
from bigtensor.statistics.gaussian.label_means import LabelMeansResult


@dataclass(frozen=True, eq=False)
class LinearPreparation:
    """Everything that is fixed before the passes over all rows.

    Attributes
    ----------
    settings : LinearSettings
        Resolved parameters of the fit.
    tensor : SampleTensor
        Third moment of rows, in the units of the sample.
    terms : Terms
        Components of the pilot sample, or columns to start from where the method searches later.
    pilot : dict
        Rows of the sample; after a search in it also its rounds and the weight that it leaves.
    clusters : GaussianComponents, optional
        Components of clusters of the rows of the sample or of labelled rows, if EM iterations set
        out from them and not from the terms.
    label_means : LabelMeansResult, optional
        Means of labelled rows; None without labels.
    diagnostics : dict
        Diagnostics of the preparation.
    """

    settings: LinearSettings
    tensor: SampleTensor
    terms: Terms
    pilot: dict[str, Any]
    clusters: GaussianComponents | None = None
    label_means: LabelMeansResult | None = None
    diagnostics: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Located:
    """Terms of the moment of all rows.

    Attributes
    ----------
    refined : Refined
        With the covariances of all rows, ``total``, in its ``first``.
    search : dict
        ``initialisation``, ``rounds``, ``components_seen`` and ``left_weight`` of a search in all
        rows.
    """

    refined: Refined
    search: dict[str, Any]
