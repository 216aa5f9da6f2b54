"""Models of the package: one line each."""

from __future__ import annotations

import re
from importlib import import_module
from typing import Any

from bigtensor.models.contract.declarations import Parameter

MODELS = {
    "KernelMixture": "bigtensor.models.kernel_mixture.estimator",
    "DiscreteMixture": "bigtensor.models.discrete_mixture.estimator",
    "HiddenMarkovModel": "bigtensor.models.hidden_markov.estimator",
    "LinearMixture": "bigtensor.models.linear_mixture.estimator",
    "GaussianMixture": "bigtensor.models.gaussian_mixture.estimator",
    "ICA": "bigtensor.models.sources.ica.estimator",
    "SparseICA": "bigtensor.models.sources.sparse_ica.estimator",
    "KernelICA": "bigtensor.models.sources.kernel_ica.estimator",
    "TopicModel": "bigtensor.models.topic_model.estimator",
    "TensorTrainDensity": "bigtensor.models.tensor_train_density.estimator",
}
"""Class of every model and the module that has it.

Beside it, in the same folder, lies the module ``declared_parameters``.
"""


def model_class(name: str) -> type[Any]:
    """Return the class of a model.

    Parameters
    ----------
    name : str
        One of `MODELS`.
    """
    estimator: type[Any] = getattr(import_module(MODELS[name]), name)
    return estimator


def declared_parameters(name: str) -> tuple[Parameter, ...]:
    """Return the parameters of a model without importing the model.

    Parameters
    ----------
    name : str
        One of `MODELS`.
    """
    folder = MODELS[name].rpartition(".")[0]
    parameters: tuple[Parameter, ...] = import_module(f"{folder}.declared_parameters").PARAMETERS
    return parameters


def memory_parameters(name: str) -> dict[str, tuple[str, ...]]:
    """Return the parameters that a smaller part of the memory asks for, by the part.

    Parameters
    ----------
    name : str
        Of the class of a model; of one that is none of `MODELS`, nothing is known.
    """
    declared = declared_parameters(name) if name in MODELS else ()
    parts = sorted({part for parameter in declared for part in parameter.memory})
    return {part: tuple(p.name for p in declared if part in p.memory) for part in parts}


def command_name(name: str) -> str:
    """Return the name of a model on the command line: ``kernel-mixture`` of ``KernelMixture``.

    The word "model" says nothing there: ``hidden-markov`` of ``HiddenMarkovModel``.
    """
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "-", name).lower().removesuffix("-model")
