"""Latent variable models by spectral and tensor methods, on data that does not fit in memory.

The public names are handed on lazily: importing one room of the package never imports the rest.
"""

import sys
from importlib import import_module
from typing import Any

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


def __getattr__(name: str) -> Any:
    """Import a public name from its home on first use."""
    if name not in _HOMES:
        # with both, Python suggests the name that comes nearest
        raise AttributeError(
            f"module 'bigtensor' has no attribute {name!r}", name=name, obj=sys.modules[__name__]
        )
    module = import_module(_HOMES[name])
    return module if _HOMES[name].endswith(f".{name}") else getattr(module, name)


def __dir__() -> list[str]:
    return sorted(__all__)
