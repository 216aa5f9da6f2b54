"""The laws of parameters: signature, docstring and declaration of every model agree.

Options objects follow the same laws, with their fields in place of a signature.
The signature with its docstring is the text, and the declaration holds what a value may be and
which option sets it. Nothing else describes a parameter.
"""

import inspect
import re
from dataclasses import FrozenInstanceError

import pytest

import bigtensor
from bigtensor.errors import ParameterError
from bigtensor.models.contract.declarations import Flag, Options, option_type, options_classes
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


OPTIONS = sorted(
    {options for name in MODELS for options in options_classes(declared_parameters(name))},
    key=lambda options: options.__name__,
)
"""Classes of options objects."""


def defaults(described):
    """Return the defaults in the signature of a class, `inspect.Parameter.empty` without one."""
    signature = inspect.signature(described)
    return {parameter.name: parameter.default for parameter in signature.parameters.values()}


def types(described):
    """Return the types in the docstring of a class: the line of every entry after the colon."""
    docstring = inspect.getdoc(described)
    section = re.split(r"\n\n(?=\S)", docstring.partition("Parameters\n-")[2])[0]
    return dict(re.findall(r"^(\w+) : (.*)$", section, re.MULTILINE))


@pytest.mark.parametrize("name", MODELS)
def test_signature__has_the_declared_and_the_shared_parameters(name):
    signature = defaults(model_class(name))
    declared = {parameter.name: parameter for parameter in declared_parameters(name)}
    for options in options_classes(declared.values()):
        assert signature.pop(options.parameter) is None
        fields = [key for key in declared if declared[key].within is options]
        assert sorted(fields) == sorted(defaults(options))
        signature.update(defaults(options))
    assert {key: signature.pop(key) for key in SHARED} == {
        key: OTHER_DEFAULTS.get((name, key), value) for key, value in SHARED.items()
    }
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


@pytest.mark.parametrize("options", OPTIONS)
def test_options__are_frozen_public_and_given_by_keyword(options):
    assert issubclass(options, Options)
    assert getattr(bigtensor, options.__name__) is options
    kinds = {parameter.kind for parameter in inspect.signature(options).parameters.values()}
    assert kinds == {inspect.Parameter.KEYWORD_ONLY}
    with pytest.raises(FrozenInstanceError):
        setattr(options(), next(iter(defaults(options))), None)


@pytest.mark.parametrize("name", MODELS)
def test_texts__are_of_the_signature_and_of_the_fields_of_options(name):
    fields = [
        field for options in options_classes(declared_parameters(name)) for field in types(options)
    ]
    assert list(parameter_texts(name)) == [*types(model_class(name)), *fields]


@pytest.mark.parametrize("described", [*map(model_class, MODELS), *OPTIONS])
def test_docstring__has_an_entry_of_every_parameter_with_its_default(described):
    signature, entries = defaults(described), types(described)
    assert list(entries) == list(signature)
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
    for parameter in declared_parameters(name):
        docstring = inspect.getdoc(parameter.within or model_class(name))
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
        help_text = f"the help of {parameter.name}, its first sentence in the docstring,"
        assert re.fullmatch(r"[A-Z].*[^. ]\.", text), (
            f"{help_text} is not a sentence from a capital letter to one full stop: {text}"
        )
        assert len(text) <= MOST_CHARACTERS, (
            f"{help_text} has {len(text)} characters; the most are {MOST_CHARACTERS}: {text}"
        )
        named = set(re.findall(r"``(\w+)``", text))
        assert named <= options, (
            f"{help_text} has {named - options} in double backticks, which are for parameters with "
            f"an option: {text}"
        )
        bare = re.sub(r'``("[\w-]+"|\w+)``', "", text)
        assert not re.search('[`"]|:math:|et al', bare), (
            f"{help_text} has markup that a terminal does not show; quotes and backticks are for "
            f'``parameters`` and ``"words"`` alone, without :math: and et al.: {text}'
        )


@pytest.mark.parametrize("parameter", ["weights", "sample_dim"])
def test_shared_parameters__have_one_text(parameter):
    assert len({types(model_class(name))[parameter] for name in MODELS}) == 1
    assert len({parameter_texts(name)[parameter] for name in MODELS}) == 1
