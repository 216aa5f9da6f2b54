"""The laws of parameters: signature, docstring and declaration of every model agree.

The signature with its docstring is the text, and the declaration holds what a value may be and
which option sets it. Nothing else describes a parameter.
"""

import inspect
import re

import pytest

from bigtensor.errors import ParameterError
from bigtensor.models.contract.declarations import Flag, option_type
from bigtensor.models.contract.registry import (
    MODELS,
    declared_parameters,
    model_class,
    parameter_texts,
)

SHARED = {
    "views": None,
    "missing": "raise",
    "weights": "counts",
    "sample_dim": "sample",
    "random_state": None,
}
"""Parameters of every model, with their defaults."""

OTHER_DEFAULTS = {("TensorTrainDensity", "missing"): "marginalise"}

MOST_CHARACTERS = 240
"""Of the help of an option."""


def defaults(name):
    """Return the defaults in the signature of a model, `inspect.Parameter.empty` without one."""
    signature = inspect.signature(model_class(name))
    return {parameter.name: parameter.default for parameter in signature.parameters.values()}


def types(name):
    """Return the types in the docstring of a model: the line of every entry after the colon."""
    docstring = inspect.getdoc(model_class(name))
    section = docstring.partition("Parameters\n-")[2].partition("Attributes\n-")[0]
    return dict(re.findall(r"^(\w+) : (.*)$", section, re.MULTILINE))


@pytest.mark.parametrize("name", MODELS)
def test_signature__has_the_declared_and_the_shared_parameters(name):
    signature = defaults(name)
    assert {key: signature.pop(key) for key in SHARED} == {
        key: OTHER_DEFAULTS.get((name, key), value) for key, value in SHARED.items()
    }
    declared = {parameter.name: parameter for parameter in declared_parameters(name)}
    assert set(signature) == set(declared)
    for key, parameter in declared.items():
        if parameter.required:
            assert signature[key] is inspect.Parameter.empty, key
            with pytest.raises(ParameterError, match=key):
                parameter.check(None)
        else:
            assert (signature[key], type(signature[key])) == (
                *(parameter.default, type(parameter.default)),
            ), key
            parameter.check(parameter.default)


@pytest.mark.parametrize("name", MODELS)
def test_docstring__has_an_entry_of_every_parameter_with_its_default(name):
    signature, entries = defaults(name), types(name)
    assert list(entries) == list(signature) == list(parameter_texts(name))
    for key, default in signature.items():
        shown = f'"{default}"' if isinstance(default, str) else str(default)
        if default is None:
            assert entries[key].endswith(", optional"), key
        elif default is inspect.Parameter.empty:
            assert not re.search("optional|default", entries[key]), key
        else:
            assert entries[key].endswith(f", default {shown}"), key


@pytest.mark.parametrize("name", MODELS)
def test_docstring__names_every_word_that_a_parameter_may_be(name):
    docstring = inspect.getdoc(model_class(name))
    for parameter in declared_parameters(name):
        for word in getattr(parameter.kind, "words", ()):
            assert f'"{word}"' in docstring, (parameter.name, word)


@pytest.mark.parametrize("name", MODELS)
def test_option__reads_the_default_and_has_a_text_that_a_terminal_shows(name):
    texts = parameter_texts(name)
    declared = [parameter for parameter in declared_parameters(name) if parameter.option]
    options = {parameter.name for parameter in declared}
    for parameter in declared:
        if parameter.default is not None and not isinstance(parameter.kind, Flag):
            assert option_type(parameter)(str(parameter.default)) == parameter.default
        text = texts[parameter.name]
        assert re.fullmatch(r"[A-Z].*[^. ]\.", text), f"{parameter.name}: {text}"
        assert len(text) <= MOST_CHARACTERS, f"{parameter.name}: {len(text)} characters"
        named = set(re.findall(r"``(\w+)``", text))
        assert named <= options, f"{parameter.name} names {named - options}, which have no option"
        bare = re.sub(r'``("[\w-]+"|\w+)``', "", text)
        assert not re.search('[`"]|:math:|et al', bare), f"{parameter.name}: {text}"


@pytest.mark.parametrize("parameter", ["weights", "sample_dim"])
def test_shared_parameters__have_one_text(parameter):
    assert len({types(name)[parameter] for name in MODELS}) == 1
    assert len({parameter_texts(name)[parameter] for name in MODELS}) == 1
