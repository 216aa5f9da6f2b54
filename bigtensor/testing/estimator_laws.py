"""Laws of models as estimators: parameters, unfitted models, and what a fit sets."""

from __future__ import annotations

import copy
import inspect
import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from bigtensor.data.values.kinds import Kind
from bigtensor.errors import BigtensorError, DataError, ParameterError, StatisticsError
from bigtensor.models.contract.declarations import Flag, Parameter, options_classes
from bigtensor.models.contract.estimator import Estimator
from bigtensor.models.contract.parameters import SHARED_PARAMETERS
from bigtensor.testing.cases import ModelCase
from bigtensor.testing.comparison import expected_error, require, require_same
from bigtensor.testing.model_runs import (
    contents,
    fitted_arrays,
    model_law,
    temporary_folder,
    values_of,
)
from bigtensor.testing.small_data import small_data

_WHOLE = 100.0
"""Factor of measured values before they are rounded to whole numbers."""

KINDS: tuple[Kind, ...] = ("measured", "codes", "counts")

HUGE = 2**40
"""Number of components for which one number each takes eight terabytes."""


@model_law
def the_constructor_stores_parameters_only(case: ModelCase) -> None:
    """Assert that parameters are stored as they are, and a clone has them too."""
    model = case.make()
    names = [*model.get_params(deep=False)]
    set_ = sorted(name for name in vars(model) if name not in names and name.endswith("_"))
    require(not set_, f"attributes {set_} are set before the fit")
    parameters = {name: object() for name in names}
    stored = type(model)(**parameters)
    for name, value in parameters.items():
        actual = getattr(stored, name)
        require(
            actual is value, f"{name} is {actual!r} and not the object that was given, {value!r}"
        )
    actual, expected = repr(clone(model).get_params()), repr(model.get_params())
    require(actual == expected, f"a clone has the parameters {actual}, expected {expected}")


@model_law
def the_signature_has_the_declared_parameters(case: ModelCase) -> None:
    """Assert that the constructor has the parameters of ``declares``, with the same defaults.

    Only declared values are checked before a fit and offered by the command line.
    """
    model = case.make()
    declared = {parameter.name: parameter for parameter in model.declares}
    signature = dict(inspect.signature(type(model)).parameters)
    for options in options_classes(model.declares):
        require(
            options.parameter in signature,
            f"the constructor lacks {options.parameter}, which takes {options.__name__}",
        )
        del signature[options.parameter]
        signature |= inspect.signature(options).parameters
    undeclared = sorted({*signature} - {*declared, *SHARED_PARAMETERS})
    require(
        not undeclared,
        f"the constructor has {undeclared}, not declared; add a Parameter for each to declares",
    )
    missing = sorted({*declared} - {*signature})
    require(not missing, f"declares has {missing}, which the constructor does not take")
    for name, parameter in declared.items():
        expected = inspect.Parameter.empty if parameter.required else parameter.default
        actual = signature[name].default
        require(
            actual is expected or (type(actual), actual) == (type(expected), expected),
            f"the default of {name} is {actual!r} in the constructor and {expected!r} in declares",
        )


@model_law
def an_unfitted_model_is_shown(case: ModelCase) -> None:
    """Assert that ``repr`` and the notebook's summary need no fit."""
    model = case.make()
    name = type(model).__name__
    require(name in repr(model), f"repr is {model!r}")
    require(name in model._repr_html_(), "the notebook's summary does not name the model")


@model_law
def an_unfitted_model_answers_nothing(case: ModelCase) -> None:
    """Assert that answers raise NotFittedError before a fit, and rounds raise StatisticsError."""
    model = case.make()
    for name in case.methods:
        with expected_error(NotFittedError, f"{name} before fit"):
            getattr(model, name)(case.data)
    with temporary_folder() as folder, expected_error(NotFittedError, "save before fit"):
        model.save(folder / "model.zarr")
    with expected_error(StatisticsError, "accumulate before prepare"):
        model.accumulate(case.data)


@model_law
def fit_returns_the_model(case: ModelCase) -> None:
    """Assert that a fit changes no parameter, and tells the size of the data and its passes."""
    model = case.make()
    before = repr(model.get_params())
    require(model.fit(case.data) is model, "fit returns something else than the model")
    after = repr(model.get_params())
    require(after == before, f"parameters are {after} after the fit, and were {before}")
    features = case.data.shape[1]
    require(
        model.n_features_in_ == features,
        f"n_features_in_ is {model.n_features_in_}, expected {features}",
    )
    diagnostics = model.diagnostics_
    json.dumps(diagnostics)
    rows = diagnostics["rows"]
    require(rows == case.rows, f"diagnostics tell {rows} rows of {case.rows}")
    require(bool(diagnostics["passes"]), "diagnostics tell no pass")
    require(type(model).__name__ in model._repr_html_(), "the notebook's summary lacks the model")


@model_law
def a_description_is_made_of_its_facts(case: ModelCase) -> None:
    """Assert that facts are JSON, and that all words on a model can be made of that JSON."""
    model = case.fitted
    description = model.description
    words = description.outcome(model)
    require(_are_texts(words, 2), f"the outcome in words is {words!r}; expected pairs of strings")
    facts = json.loads(json.dumps(description.facts(model)))
    lines = list(description.lines(facts))
    require(_are_texts(lines, 2), f"the lines are {lines!r}; expected pairs of strings")
    size = description.size(facts)
    require(isinstance(size, str), f"the size in words is {size!r}; expected a string")
    table = description.table(facts)
    require(
        _are_texts(table.as_text(), len(table.head)),
        f"the table has lines {table.rows!r}; expected a cell for each of {table.head}",
    )


def _are_texts(lines: Sequence[Sequence[object]], length: int) -> bool:
    """Return True if every line has so many texts."""
    return all(
        len(line) == length and all(isinstance(text, str) for text in line) for line in lines
    )


@model_law
def a_fit_leaves_the_data_alone(case: ModelCase) -> None:
    """Assert that neither a fit nor an answer writes into the data."""
    data = copy.deepcopy(case.data)
    case.answers_of(case.make().fit(data), data)
    require_same(values_of(data), values_of(case.data), "data after a fit")


@model_law
def a_second_fit_forgets_the_first(case: ModelCase) -> None:
    """Assert that a model that was fitted to other rows before has the bits of a new one."""
    model = case.make().fit(case.data[: case.rows // 2])
    require_same(contents(model.fit(case.data)), contents(case.fitted), "second fit of a model")


@model_law
def parameters_set_after_the_fit_change_nothing(case: ModelCase) -> None:
    """Assert that a fitted model and its saved form tell the fit, also with other parameters.

    Every declared parameter gets other values. Only rules of reading rows, such as ``missing``,
    concern a fitted model.
    """
    reference = case.fitted
    expected = _description_of_fit(reference, case)
    others = [(parameter, _other_values(parameter, reference)) for parameter in reference.declares]
    for number in range(max((len(values) for _, values in others), default=0)):
        changes = {p: values[number % len(values)] for p, values in others if values}
        model = copy.deepcopy(reference)
        for parameter, value in changes.items():
            _set_parameter(model, parameter, value)
        what = ", ".join(f"{p.name}={value!r}" for p, value in changes.items()) + " after the fit"
        loaded = type(model).from_contents(model.to_contents())
        for one, how in ((model, what), (loaded, f"{what}, then saved and loaded")):
            require_same(fitted_arrays(one), fitted_arrays(reference), how)
            require_same(case.answers_of(one, case.data), case.fitted_answers, f"answers, {how}")
            for name, actual in _description_of_fit(one, case).items():
                require(
                    actual == expected[name],
                    f"{how}: {name} is {actual!r}, expected {expected[name]!r}",
                )


def _description_of_fit(model: Estimator, case: ModelCase) -> dict[str, Any]:
    """Return what a fitted model tells of its fit besides arrays and answers."""
    description = model.description
    words = {
        "outcome": list(description.outcome(model)),
        "facts": json.dumps(description.facts(model)),
        "method": description.report(model, None).method,
    }
    if hasattr(model, "bic"):
        try:
            words["bic"] = model.bic(case.data)
        except ParameterError as error:
            words["bic"] = str(error)
    return words


def _other_values(parameter: Parameter, model: Estimator) -> list[object]:
    """Return legal values besides that of a model: all words, and two numbers.

    There are none for a parameter that the model checks itself.
    """
    kind, value = parameter.kind, model.get_params(deep=False).get(parameter.name)
    if parameter.within is not None:
        options = getattr(model, parameter.within.parameter) or parameter.within()
        value = getattr(options, parameter.name)
    if kind is None:
        return []
    if isinstance(kind, Flag):
        return [not value]
    numbers = [number for number in (0.5, 2, 3, 1000) if kind.accepts(number)][:2]
    none = [None] if parameter.optional or parameter.default is None else []
    words = getattr(kind, "words", ())
    return [candidate for candidate in (*words, *numbers, *none) if candidate != value]


def _set_parameter(model: Estimator, parameter: Parameter, value: object) -> None:
    """Set a parameter of a model, or a field of an options object that it takes."""
    name = parameter.name
    if parameter.within is not None:
        name = parameter.within.parameter
        value = replace(getattr(model, name) or parameter.within(), **{parameter.name: value})
    model.set_params(**{name: value})


@model_law
def data_of_other_kinds_are_refused(case: ModelCase) -> None:
    """Assert that data that a model does not take raise a DataError."""
    model = case.make()
    for kind in KINDS:
        if kind not in model.takes.kinds:
            other: Any = small_data(kind)
            with expected_error(DataError, f"fit of {kind}"):
                case.make().fit(other)


@model_law
def more_components_than_memory_holds_are_refused(case: ModelCase) -> None:
    """Assert that a huge number of components is an error of the package.

    An array of this size would be a MemoryError of NumPy, or would fill the memory.
    """
    if "n_components" in case.make().get_params(deep=False):
        with expected_error(BigtensorError, f"fit with n_components={HUGE}"):
            case.make().set_params(n_components=HUGE).fit(case.data)


@model_law
def whole_numbers_are_taken_in_any_type(case: ModelCase) -> None:
    """Assert that a fit to integers is the fit to the same numbers as floats, bit by bit.

    Integers are converted to floats for a model of measured values, and whole floats to codes for
    a model of categories. Counts in sparse rows are left out.
    """
    model, kind = case.make(), case.samples.kind
    if kind == "counts":
        return
    scale = _WHOLE if kind == "measured" and case.any_unit else 1
    integers = np.rint(scale * np.asarray(case.data)).astype(np.int32)
    floats = integers.astype(np.float64)
    if kind == "measured" and case.is_labelled:
        # features of views may be named
        integers, floats = (case.data.copy(data=values) for values in (integers, floats))
    expected, converted = model.fit(floats), case.make().fit(integers)
    require_same(contents(converted), contents(expected), "fit to integers")
    answers = case.answers_of(converted, floats)
    require_same(case.answers_of(converted, integers), answers, "answers for integers")


ESTIMATOR_LAWS: tuple[Callable[[ModelCase], None], ...] = (
    the_constructor_stores_parameters_only,
    the_signature_has_the_declared_parameters,
    an_unfitted_model_is_shown,
    an_unfitted_model_answers_nothing,
    fit_returns_the_model,
    a_description_is_made_of_its_facts,
    a_fit_leaves_the_data_alone,
    a_second_fit_forgets_the_first,
    parameters_set_after_the_fit_change_nothing,
    data_of_other_kinds_are_refused,
    more_components_than_memory_holds_are_refused,
    whole_numbers_are_taken_in_any_type,
)
