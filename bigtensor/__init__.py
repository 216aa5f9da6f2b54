"""Latent variable models by spectral and tensor methods, on data that does not fit in memory.

The public names are handed on lazily: importing one part of the package never imports the rest.
"""

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

from bigtensor._version import __version__
from bigtensor.models.contract.registry import MODELS

_HOMES = {
    "CustomKernel": "bigtensor.features.kernels.custom_kernel",
    "KernelExpansion": "bigtensor.models.kernel_mixture.view_functions",
    "Samples": "bigtensor.data.rows.samples",
    "SpectralOptions": "bigtensor.models.kernel_mixture.options",
    "Statistics": "bigtensor.models.contract.statistics_file",
    "TensorTrainOptions": "bigtensor.models.tensor_train_density.options",
    "TripleHistogramClassifier": "bigtensor.models.triple_histogram_classifier.estimator",
    "Views": "bigtensor.data.rows.views",
    "annotate": "bigtensor.annotation",
    "check_target": "bigtensor.data.stores.outputs",
    "differential_abundance": "bigtensor.abundance.differential",
    "from_anndata": "bigtensor.annotation",
    "load": "bigtensor.models.contract.model_files",
    "merge": "bigtensor.models.contract.statistics_file",
    "open_samples": "bigtensor.data.opening",
    "set_progress": "bigtensor.engine.progress.automatic",
    "simulate": "bigtensor.data.simulate",
    "testing": "bigtensor.testing",
    **MODELS,
}

__all__ = ["__version__", *_HOMES]


if TYPE_CHECKING:
    # type checkers do not follow names that are imported on first use
    from bigtensor import testing as testing
    from bigtensor.abundance.differential import differential_abundance as differential_abundance
    from bigtensor.annotation import annotate as annotate
    from bigtensor.annotation import from_anndata as from_anndata
    from bigtensor.data import simulate as simulate
    from bigtensor.data.opening import open_samples as open_samples
    from bigtensor.data.rows.samples import Samples as Samples
    from bigtensor.data.rows.views import Views as Views
    from bigtensor.data.stores.outputs import check_target as check_target
    from bigtensor.engine.progress.automatic import set_progress as set_progress
    from bigtensor.features.kernels.custom_kernel import CustomKernel as CustomKernel
    from bigtensor.models.contract.model_files import load as load
    from bigtensor.models.contract.statistics_file import Statistics as Statistics
    from bigtensor.models.contract.statistics_file import merge as merge
    from bigtensor.models.discrete_mixture.estimator import DiscreteMixture as DiscreteMixture
    from bigtensor.models.gaussian_mixture.estimator import GaussianMixture as GaussianMixture
    from bigtensor.models.hidden_markov.estimator import HiddenMarkovModel as HiddenMarkovModel
    from bigtensor.models.kernel_mixture.estimator import KernelMixture as KernelMixture
    from bigtensor.models.kernel_mixture.options import SpectralOptions as SpectralOptions
    from bigtensor.models.kernel_mixture.view_functions import KernelExpansion as KernelExpansion
    from bigtensor.models.linear_mixture.estimator import LinearMixture as LinearMixture
    from bigtensor.models.sources.ica.estimator import ICA as ICA
    from bigtensor.models.sources.kernel_ica.estimator import KernelICA as KernelICA
    from bigtensor.models.sources.sparse_ica.estimator import SparseICA as SparseICA
    from bigtensor.models.tensor_train_density.estimator import (
        TensorTrainDensity as TensorTrainDensity,
    )
    from bigtensor.models.tensor_train_density.options import (
        TensorTrainOptions as TensorTrainOptions,
    )
    from bigtensor.models.topic_model.estimator import TopicModel as TopicModel
    from bigtensor.models.triple_histogram_classifier.estimator import (
        TripleHistogramClassifier as TripleHistogramClassifier,
    )

else:

    def __getattr__(name: str) -> Any:
        """Import a public name from its home on first use."""
        if name not in _HOMES:
            # with both, Python suggests the name that comes nearest
            raise AttributeError(
                f"module 'bigtensor' has no attribute {name!r}",
                name=name,
                obj=sys.modules[__name__],
            )
        module = import_module(_HOMES[name])
        return module if _HOMES[name].endswith(f".{name}") else getattr(module, name)


def __dir__() -> list[str]:
    return sorted(__all__)
