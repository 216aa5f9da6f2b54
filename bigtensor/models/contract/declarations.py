"""Declarations of model parameters: their values, their options objects, and command-line options.

Nothing heavy is imported here: the command line reads declarations to answer ``--help``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, dataclass, fields
from numbers import Integral, Real
from types import SimpleNamespace
from typing import Any, ClassVar, Protocol

from bigtensor.errors import ParameterError, Setting


class Kind(Protocol):
    """Values that a parameter may have."""

    @property
    def expected(self) -> str:
        """The values in words."""

    @property
    def metavar(self) -> str:
        """The values in short, for the help of an option."""

    def accepts(self, value: object) -> bool:
        """Return True for a value that the parameter may have."""

    def read(self, text: str) -> object:
        """Return the value that a text stands for, or the text."""


@dataclass(frozen=True)
class Choice:
    """One of several words."""

    words: tuple[str, ...]

    @property
    def expected(self) -> str:
        """The words."""
        return f"one of {', '.join(self.words)}"

    @property
    def metavar(self) -> str:
        """The words in short."""
        return "|".join(self.words)

    def accepts(self, value: object) -> bool:
        """Return True for one of the words."""
        return isinstance(value, str) and value in self.words

    def read(self, text: str) -> object:
        """Return the text."""
        return text


@dataclass(frozen=True)
class Whole:
    """An integer within bounds, or one of some words."""

    least: int = 1
    most: int | None = None
    words: tuple[str, ...] = ()

    @property
    def expected(self) -> str:
        """The bounds and the words."""
        bounds = f"of at least {self.least}"
        if self.most is not None:
            bounds = f"from {self.least} to {self.most}"
        return f"an integer {bounds}" + _alternatives(self.words)

    @property
    def metavar(self) -> str:
        """The words in short."""
        return "|".join(("N", *self.words))

    def accepts(self, value: object) -> bool:
        """Return True for an integer within the bounds, and for the words."""
        if isinstance(value, str):
            return value in self.words
        if isinstance(value, bool) or not isinstance(value, Integral):
            return False
        return int(value) >= self.least and (self.most is None or int(value) <= self.most)

    def read(self, text: str) -> object:
        """Return the integer that a text such as 12, 1e6 or 1_000_000 stands for, or the text."""
        number = _number(text)
        return int(number) if number is not None and number.is_integer() else text


@dataclass(frozen=True)
class Positive:
    """A positive number below a bound, zero where it is allowed, or one of some words."""

    below: float = math.inf
    words: tuple[str, ...] = ()
    or_zero: bool = False

    @property
    def expected(self) -> str:
        """The bounds and the words."""
        number = "a positive number" + " or 0" * self.or_zero
        if self.below < math.inf:
            number = f"a number between 0 and {self.below:g}"
        return number + _alternatives(self.words)

    @property
    def metavar(self) -> str:
        """The words in short."""
        return "|".join(("NUMBER", *self.words))

    def accepts(self, value: object) -> bool:
        """Return True for a number within the bounds, and for the words."""
        if isinstance(value, str):
            return value in self.words
        if isinstance(value, bool) or not isinstance(value, Real):
            return False
        return 0 < float(value) < self.below or (self.or_zero and float(value) == 0)

    def read(self, text: str) -> object:
        """Return the number that a text stands for, or the text."""
        number = _number(text)
        return text if number is None else number


@dataclass(frozen=True)
class Flag:
    """True or False."""

    expected: str = "True or False"
    metavar: str = ""

    def accepts(self, value: object) -> bool:  # noqa: ARG002
        """Return True: any value is true or false, as Python has it."""
        return True

    def read(self, text: str) -> object:
        """Return the text."""
        return text


@dataclass(frozen=True)
class Option:
    """Option of the command line that sets a parameter.

    Its help is the first sentence on the parameter in the docstring of the model.

    Attributes
    ----------
    names : tuple of str
        Such as ``("--components", "-k")``.
    none : str, optional
        Word that stands for None.
    kind : Kind, optional
        Values of the option, where they are others than those of the parameter.
    by_view : tuple of str
        Values that a table of the file of views may give to single views; empty without a table.
    """

    names: tuple[str, ...]
    none: str | None = None
    kind: Kind | None = None
    by_view: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, repr=False)
class Options:
    """Base of the options objects of models.

    A subclass is a frozen dataclass of keyword-only fields with defaults. The declarations of the
    model hold the values that a field may have.
    """

    parameter: ClassVar[str]
    """Parameter of the model that takes the object."""

    @classmethod
    def setting(cls, name: str, *values: object) -> Setting:
        """Return a field as a message names it.

        Parameters
        ----------
        name : str
            Name of the field.
        *values : object
            As for `Setting`.
        """
        return Setting(name, *values, within=f"{cls.parameter}={cls.__name__}")

    def as_dict(self) -> dict[str, Any]:
        """Return the values of all fields by their names."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def __repr__(self) -> str:
        """Name the fields that differ from their defaults, as scikit-learn does for models."""
        changed = [
            f"{field.name}={value!r}"
            for field in fields(self)
            if (value := getattr(self, field.name)) != field.default or field.default is MISSING
        ]
        return f"{type(self).__name__}({', '.join(changed)})"


@dataclass(frozen=True)
class Parameter:
    """One parameter of a model.

    Attributes
    ----------
    name : str
        Name in the signature of the model or of the options object.
    default : object
        None may always be given where it is the default or `optional`.
    kind : Kind, optional
        None where the model checks the value itself.
    option : Option, optional
        None for a parameter that the command line does not offer.
    optional : bool
        True if None may be given although it is not the default.
    required : bool
        True if there is no default: None stands for it, and may not be given.
    memory : tuple of str
        Parts of the memory of a fit that a smaller value makes smaller: ``"states"`` and
        ``"workspaces"`` of tasks, and ``"driver"``.
    within : type, optional
        Class of the options object that has the parameter as a field. None for a parameter in the
        signature of the model.
    in_rounds : bool
        False if `fit` alone uses the parameter, and a fit in rounds does not.
    """

    name: str
    default: Any
    kind: Kind | None
    option: Option | None = None
    optional: bool = False
    required: bool = False
    memory: tuple[str, ...] = ()
    within: type[Options] | None = None
    in_rounds: bool = True

    def setting(self, *values: object) -> Setting:
        """Return the parameter as a message names it.

        Parameters
        ----------
        *values : object
            As for `Setting`.
        """
        if self.within is None:
            return Setting(self.name, *values)
        return self.within.setting(self.name, *values)

    def check(self, value: object) -> None:
        """Raise a ParameterError for a value that the parameter may not have."""
        if value is None and not self.required and (self.default is None or self.optional):
            return
        if value is None and self.required and self.kind is not None:
            raise ParameterError(self.setting() + f" is needed: {self.kind.expected}")
        if self.kind is not None and not self.kind.accepts(value):
            raise ParameterError(self.setting() + f" is {value!r}; expected {self.kind.expected}")


def check_declared(values: SimpleNamespace, parameters: Iterable[Parameter]) -> None:
    """Raise a ParameterError for the first value that its parameter may not have."""
    for parameter in parameters:
        parameter.check(getattr(values, parameter.name))


def options_classes(parameters: Iterable[Parameter]) -> tuple[type[Options], ...]:
    """Return the classes of the options objects that parameters are fields of."""
    return tuple(dict.fromkeys(p.within for p in parameters if p.within is not None))


def flat_values(values: Mapping[str, Any], classes: Iterable[type[Options]]) -> dict[str, Any]:
    """Return parameters of a model with the fields of options objects in place of the objects.

    Parameters
    ----------
    values : mapping of str to object
        Parameters by their names. None stands for the defaults of an options object.
    classes : iterable of type
        Classes of the options objects.

    Raises
    ------
    ParameterError
        When a value is no options object.
    """
    flat = dict(values)
    for options_class in classes:
        value = flat.pop(options_class.parameter)
        options = options_class() if value is None else value
        if not isinstance(options, options_class):
            raise ParameterError(
                Setting(options_class.parameter)
                + f" is {value!r}; expected bigtensor.{options_class.__name__}(...) or None"
            )
        flat.update(options.as_dict())
    return flat


def gathered_values(values: Mapping[str, Any], classes: Iterable[type[Options]]) -> dict[str, Any]:
    """Return parameters of a model with options objects in place of the fields of these.

    Parameters
    ----------
    values : mapping of str to object
        Values of parameters and fields by their names. Fields may be left out.
    classes : iterable of type
        Classes of the options objects. If all fields have their defaults, None stands for an
        object.
    """
    gathered = dict(values)
    for options_class in classes:
        names = [field.name for field in fields(options_class) if field.name in gathered]
        options = options_class(**{name: gathered.pop(name) for name in names})
        gathered[options_class.parameter] = None if options == options_class() else options
    return gathered


def restored_values(values: Mapping[str, Any], classes: Iterable[type[Options]]) -> dict[str, Any]:
    """Return parameters of a saved model with options objects in place of mappings of JSON.

    Parameters
    ----------
    values : mapping of str to object
        Parameters by their names.
    classes : iterable of type
        Classes of the options objects.
    """
    restored = dict(values)
    for options_class in classes:
        saved = restored[options_class.parameter]
        if saved is not None:
            restored[options_class.parameter] = options_class(**saved)
    return restored


def memory_parameters(parameters: Iterable[Parameter]) -> dict[str, tuple[Setting, ...]]:
    """Return the parameters of which smaller values need less memory, by its part."""
    declared = tuple(parameters)
    parts = sorted({part for parameter in declared for part in parameter.memory})
    return {part: tuple(p.setting() for p in declared if part in p.memory) for part in parts}


def option_type(parameter: Parameter) -> Callable[[str], object]:
    """Return the function that reads the option of a parameter.

    It raises a ValueError with the values that are expected.
    """
    option = parameter.option
    assert option is not None
    kind = option.kind or parameter.kind
    assert kind is not None

    def read(text: str) -> object:
        if text == option.none:
            return None
        value = kind.read(text)
        if not kind.accepts(value):
            none = "" if option.none is None else f", or {option.none}"
            raise ValueError(f"{text!r} is not {kind.expected}{none}".replace("'", ""))
        return value

    return read


def _alternatives(words: tuple[str, ...]) -> str:
    """Return words as the alternative to a number."""
    return "".join(f", or {word!r}" for word in words)


def _number(text: str) -> float | None:
    """Return the number that a text stands for; None for other texts."""
    try:
        return float(text)
    except ValueError:
        return None
