"""Models of the package: one line each."""

from __future__ import annotations

import ast
import re
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from bigtensor.models.contract.declarations import Parameter, options_classes

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

DEFAULT_MODEL = "KernelMixture"
"""Model that the command line fits unless another is named."""


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


@cache
def parameter_texts(name: str) -> dict[str, str]:
    """Return the first sentence of the docstring's entry of every parameter of a model.

    Fields of options objects follow the parameters of the signature. Docstrings are read from the
    source, because importing a model takes a second.

    Parameters
    ----------
    name : str
        One of `MODELS`.
    """
    folder, _, module = MODELS[name].rpartition(".")
    texts = first_sentences(_docstring(folder, module, name))
    for options in options_classes(declared_parameters(name)):
        home, _, module = options.__module__.rpartition(".")
        texts.update(first_sentences(_docstring(home, module, options.__name__)))
    missing = {parameter.name for parameter in declared_parameters(name)} - texts.keys()
    assert not missing, f"the docstring of {name} has no entry of the parameters {missing}"
    return texts


def _docstring(folder: str, module: str, name: str) -> str:
    """Return the docstring of a class from the source of its module, without importing it."""
    source = Path(import_module(folder).__path__[0], f"{module}.py")
    assert source.is_file(), f"{source} is missing; install bigtensor with its source files"
    for node in ast.parse(source.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ClassDef) and node.name == name:
            return ast.get_docstring(node) or ""
    raise LookupError(f"{source} has no class {name}")


def first_sentences(docstring: str) -> dict[str, str]:
    """Return the first sentence on every parameter that a numpydoc docstring describes."""
    section = re.search(r"(?ms)^Parameters\n-+\n(.*?)(?:\n\n\S|\Z)", docstring)
    entries = re.findall(r"(?m)^(\w+) : .*\n((?: +.*\n?)+)", section[1] if section else "")
    texts = {parameter: " ".join(text.split()) for parameter, text in entries}
    return {parameter: re.split(r"(?<=\.) ", text)[0] for parameter, text in texts.items()}


def command_name(name: str) -> str:
    """Return the name of a model on the command line: ``kernel-mixture`` of ``KernelMixture``.

    The word "model" says nothing there: ``hidden-markov`` of ``HiddenMarkovModel``.
    """
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "-", name).lower().removesuffix("-model")
