"""Description of fitted sources of a kernel: how they were found."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np

from bigtensor.array_types import FloatArray
from bigtensor.models.sources.description import (
    DescribedSources,
    SourceDescription,
    largest_kurtosis,
)
from bigtensor.models.sources.kernel_ica.solution import KernelComponents
from bigtensor.models.words.description import Line
from bigtensor.models.words.faults import verdict_words


class DescribedKernelSources(DescribedSources, Protocol):
    """Attributes of a model of sources of a kernel that its description uses."""

    landmarks_: FloatArray | None
    bandwidth_: float
    explained_variance_ratio_: FloatArray

    @property
    def solution_(self) -> KernelComponents:
        """Result of the fit."""


class KernelDescription(SourceDescription[DescribedKernelSources]):
    """Facts and words on sources of a kernel."""

    variance_words = (
        "The variance is the share that a source explains of the variance in the feature space of "
        "the kernel."
    )

    def outcome(self, model: DescribedKernelSources) -> list[Line]:
        """Return how a fit ended, as names and words."""
        diagnostics = model.diagnostics_
        return [
            (
                "explained",
                f"{100 * diagnostics['explained']:.1f} % of the variance in the feature space",
            ),
            ("kurtosis", largest_kurtosis(model)),
            ("verdict", verdict_words(diagnostics["verdict"])),
        ]

    def facts(self, model: DescribedKernelSources) -> dict[str, Any]:
        """Return facts as JSON holds them."""
        facts = super().facts(model)
        if model.__sklearn_is_fitted__():
            facts["explained_variance_ratio"] = model.explained_variance_ratio_.tolist()
            facts["bandwidth"] = model.bandwidth_
        return facts

    def variance_shares(self, model: DescribedKernelSources) -> FloatArray:
        """Return the share of the variance in the feature space that every source explains."""
        return np.asarray(model.explained_variance_ratio_)

    def method_in_words(self, model: DescribedKernelSources) -> Iterator[str]:
        """Return sentences on how a model was fitted."""
        diagnostics = model.diagnostics_
        passes = len(diagnostics["turns"])
        if model.landmarks_ is None:
            yield "The features of the linear kernel are the standardised features of the data."
        else:
            yield (
                f"The features of the {model.solution_.kernel} kernel of bandwidth "
                f"{model.bandwidth_:.3g} standard deviations were approximated from "
                f"{diagnostics['landmarks']:,} landmarks; a share of "
                f"{diagnostics['trace_error']:.2g} of the kernel's trace is left out."
            )
        yield (
            f"Their {diagnostics['n_components']} largest principal components were rotated to "
            f"independent sources, first in {diagnostics['pilot_rows']:,} rows, then by {passes} "
            f"fixed-point iteration{'s' * (passes > 1)} over all rows, with the contrast log cosh."
        )
