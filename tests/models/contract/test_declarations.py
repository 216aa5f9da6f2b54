"""Declared parameters: ranges, words, and what options read."""

import inspect
import re

import numpy as np
import pytest

from bigtensor.decomposition.merging.component_merging import CRITERIA
from bigtensor.errors import ParameterError
from bigtensor.features.kernels.kernel import KERNELS
from bigtensor.features.kernels.landmarks import METHODS
from bigtensor.models.contract.declarations import (
    Choice,
    Option,
    Parameter,
    Positive,
    Whole,
    memory_parameters,
    option_type,
)
from bigtensor.models.contract.registry import (
    MODELS,
    command_name,
    declared_parameters,
    first_sentences,
    model_class,
    parameter_texts,
)
from bigtensor.models.kernel_mixture import declared_parameters as kernel_mixture
from bigtensor.models.kernel_mixture.choices.bandwidth import CHOICES


@pytest.mark.parametrize(
    ("kind", "good", "bad"),
    [
        (Choice(("a", "b")), ["a", "b"], ["c", "", 1, True, np.array("a")]),
        (Whole(2, 9, ("auto",)), [2, 9, np.int32(5), "auto"], [1, 10, 2.0, True, "5", "all", []]),
        (Whole(), [1, 10**30], [0, -1, np.float64(3), None]),
        (Positive(), [0.1, 3, np.float32(2)], [0, -1.0, np.inf, np.nan, True, "1", None]),
        (Positive(1, ("rule",)), [0.5, "rule"], [1, 1.5, "gap"]),
    ],
)
def test_kind__accepts_its_values_alone(kind, good, bad):
    parameter = Parameter("p", good[0], kind)
    for value in good:
        parameter.check(value)
    for value in bad:
        with pytest.raises(ParameterError, match=r"p is .*; expected ") as raised:
            parameter.check(value)
        assert str(raised.value).endswith(kind.expected)


def test_none__is_a_value_of_optional_parameters():
    for parameter in (Parameter("p", None, Whole()), Parameter("p", 3, Whole(), optional=True)):
        parameter.check(None)
    with pytest.raises(ParameterError):
        Parameter("p", 3, Whole()).check(None)


@pytest.mark.parametrize(
    ("kind", "texts"),
    [
        (Whole(words=("auto",)), {"12": 12, "1e6": 10**6, "1_000": 1000, "auto": "auto"}),
        (Positive(words=("gap",)), {"0.5": 0.5, "gap": "gap", "none": None}),
        (Choice(("a", "b")), {"b": "b"}),
    ],
)
def test_option__reads_what_the_kind_accepts(kind, texts):
    read = option_type(Parameter("p", "a", kind, Option(("--p",), none="none")))
    for text, value in texts.items():
        assert read(text) == value
        assert type(read(text)) is type(value)
    for text in ("0", "-1", "nan", "inf", "", "some"):
        with pytest.raises(ValueError, match=f"{re.escape(text)} is not .*, or none"):
            read(text)


def test_words__are_those_of_the_rooms_that_use_them():
    assert kernel_mixture.LANDMARKS == METHODS
    assert set(kernel_mixture.MERGING) == set(CRITERIA)
    assert ("auto", *CHOICES) == kernel_mixture.BANDWIDTHS
    (kernel,) = (one for one in kernel_mixture.PARAMETERS if one.name == "kernel")
    assert kernel.option.kind.words == KERNELS


def test_command_names__are_words_with_hyphens():
    assert command_name("KernelMixture") == "kernel-mixture"
    assert command_name("HiddenMarkovModel") == "hidden-markov"
    assert command_name("ICA") == "ica"
    assert command_name("SparseICA") == "sparse-ica"


@pytest.mark.parametrize("name", MODELS)
def test_every_model__tells_what_makes_its_states_smaller(name):
    found = memory_parameters(declared_parameters(name))
    assert set(found) <= {"states", "workspaces", "driver"}
    assert found["states"]


def test_docstring_without_an_entry__is_named(monkeypatch):
    monkeypatch.setattr("bigtensor.models.contract.registry.first_sentences", lambda _: {})
    with pytest.raises(AssertionError, match="ICA has no entry"):
        parameter_texts.__wrapped__("ICA")


def test_first_sentences__of_all_entries_of_the_section():
    text = (
        "A model.\n\nParameters\n----------\na : int, default 3\n    Rows, at most\n"
        "    1.5 times ``b``. More.\nb : float\n    Ways.\n\n    - one : all\n\n    End.\n"
        "c : str\n    Name\n\nAttributes\n----------\nd_ : int\n    Other."
    )
    assert first_sentences(text) == {
        "a": "Rows, at most 1.5 times ``b``.",
        "b": "Ways.",
        "c": "Name",
    }
    assert first_sentences("A model.") == {}


OWN_WORDS = {"bandwidth": "bandwidth", "landmarks": "n_landmarks", "grids": "bins"}
"""Words for parts of kernel models, and the parameter of the models that have them."""


@pytest.mark.parametrize("name", MODELS)
def test_methods__documentation_names_only_parts_that_the_model_has(name):
    model = model_class(name)
    parameters = {parameter.name for parameter in declared_parameters(name)}
    for method in ("fit", "prepare", "accumulate", "solve", "partial_fit"):
        text = inspect.getdoc(getattr(model, method)).lower()
        named = {word for word in OWN_WORDS if re.search(rf"\b{word}", text)}
        assert all(OWN_WORDS[word] in parameters for word in named), (method, named)


@pytest.mark.parametrize("name", MODELS)
def test_fit__documentation_names_no_type_that_the_model_refuses(name):
    model = model_class(name)
    if "measured" not in model.takes.kinds:
        assert "float32" not in inspect.getdoc(model.fit)
