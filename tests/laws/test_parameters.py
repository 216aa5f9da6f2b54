"""The laws of parameters: signature, docstring and declaration of every model agree.

Options objects follow the same laws, with their fields in place of a signature.
The signature with its docstring is the text, and the declaration holds what a value may be and
which option sets it. Nothing else describes a parameter.
"""

import ast
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
from tests.laws.package_files import FILES, PACKAGE, tree_of

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


def require_entry(described, key, entry, default):
    """Raise an AssertionError unless the entry of a parameter in the docstring ends as it has to.

    The default is written as Python shows it, and strings are in double quotes.
    """
    shown = f'"{default}"' if isinstance(default, str) else str(default)
    ending = ", optional" if default is None else f", default {shown}"
    rule, holds = f"has to end with {ending!r}", entry.endswith(ending)
    if default is inspect.Parameter.empty:
        rule = "must name no default, because the parameter is required"
        holds = not re.search("optional|default", entry)
    assert holds, f"the entry {f'{key} : {entry}'!r} in the docstring of {described} {rule}"


def require_one_text(parameter, what, texts):
    """Raise an AssertionError unless the text of a shared parameter is the same for all models."""
    models = {}
    for name, text in texts.items():
        models.setdefault(text, []).append(name)
    lines = "\n".join(f"{', '.join(names)}: {text}" for text, names in models.items())
    assert len(models) == 1, (
        f"the {what} of the shared parameter {parameter} in the docstring differs between models; "
        f"copy it from another model:\n{lines}"
    )


@pytest.mark.parametrize("name", MODELS)
def test_signature__has_the_declared_and_the_shared_parameters(name):
    signature = defaults(model_class(name))
    declared = {parameter.name: parameter for parameter in declared_parameters(name)}
    for options in options_classes(declared.values()):
        assert signature.pop(options.parameter) is None
        fields = [key for key in declared if declared[key].within is options]
        assert sorted(fields) == sorted(defaults(options))
        signature.update(defaults(options))
    own = {key: signature.pop(key, inspect.Parameter.empty) for key in SHARED}
    shared = {key: OTHER_DEFAULTS.get((name, key), value) for key, value in SHARED.items()}
    assert own == shared, f"shared parameters of {name} are {own}, expected {shared}"
    assert set(signature) == set(declared), (
        f"{name} has the parameters {sorted(signature)} and declares {sorted(declared)}"
    )
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


def names_read(path):
    """Return attributes that a file reads, and words of tuples, whose attributes a loop reads."""
    names = set()
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
            names.add(node.attr)
        words = getattr(node, "value" if isinstance(node, ast.Assign) else "iter", None)
        if isinstance(words, ast.Tuple):
            names |= {word.value for word in words.elts if isinstance(word, ast.Constant)}
    return names


@pytest.mark.parametrize("name", MODELS)
def test_parameters__are_read_in_the_folder_of_the_model(name):
    folder = PACKAGE / "models" / MODELS[name].split(".")[2]
    files = [file for file in FILES if file.is_relative_to(folder)]
    read = set().union(
        *(names_read(file) for file in files if file.name != "declared_parameters.py")
    )
    unread = {parameter.name for parameter in declared_parameters(name)} - read
    assert not unread, f"no file of {folder} reads {unread}, so that these parameters do nothing"


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
    assert list(entries) == list(signature), (
        f"the docstring of {described.__name__} has entries of {list(entries)}, and its signature "
        f"the parameters {list(signature)}: both need the same ones in the same order"
    )
    for key, default in signature.items():
        require_entry(described.__name__, key, entries[key], default)


@pytest.mark.parametrize(
    ("entry", "default", "ending"),
    [
        ("float", 1e-6, ", default 1e-06"),
        ("{1}", "auto", ', default "auto"'),
        ("int", None, ", optional"),
        ("int, default 2", inspect.Parameter.empty, "because the parameter is required"),
    ],
)
def test_wrong_entry__is_named_with_the_rule(entry, default, ending):
    with pytest.raises(AssertionError) as error:
        require_entry("Model", "tol", entry, default)
    text = str(error.value)
    assert "docstring of Model" in text
    assert f"tol : {entry}" in text
    assert ending in text
    if default is not inspect.Parameter.empty:
        require_entry("Model", "tol", entry + ending, default)


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


@pytest.mark.parametrize(
    "key", sorted({one.name for name in MODELS for one in declared_parameters(name)})
)
def test_parameter__has_one_option_name_in_all_models(key):
    declared = [(name, one) for name in MODELS for one in declared_parameters(name)]
    names = {name: one.option and one.option.names for name, one in declared if one.name == key}
    assert len({*names.values()}) == 1, f"declared_parameters.py of these models differ: {names}"


@pytest.mark.parametrize("parameter", ["weights", "sample_dim"])
def test_shared_parameters__have_one_text(parameter):
    of_models = {name: types(model_class(name))[parameter] for name in MODELS}
    require_one_text(parameter, "type", of_models)
    sentences = {name: parameter_texts(name)[parameter] for name in MODELS}
    require_one_text(parameter, "first sentence", sentences)


def test_other_text__of_a_shared_parameter_is_named_with_its_model():
    with pytest.raises(AssertionError, match="weights in the docstring") as error:
        require_one_text("weights", "type", {"ICA": "str", "TopicModel": "int", "KernelICA": "str"})
    for line in ("ICA, KernelICA: str", "TopicModel: int"):
        assert line in str(error.value)
