"""Options of the model that a command fits, made from what the model declares."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bigtensor.cli.command import Command, written_for
from bigtensor.cli.options import PATH, WordChoice, names_in, read_by_view, read_views
from bigtensor.models.contract.declarations import (
    Choice,
    Flag,
    Parameter,
    gathered_values,
    option_type,
    options_classes,
)
from bigtensor.models.contract.registry import (
    DEFAULT_MODEL,
    MODELS,
    command_name,
    declared_parameters,
    parameter_texts,
)

if TYPE_CHECKING:
    from bigtensor.models.contract.estimator import Estimator


BY_COMMAND = {command_name(name): name for name in MODELS}
"""Class of every model by its name on the command line."""

DEFAULT = command_name(DEFAULT_MODEL)


class _ModelChoice(WordChoice):
    """A model by its name on the command line, or by the name of its class in Python."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the name on the command line."""
        try:
            return super().convert(_as_command(str(value)), param, ctx)
        except click.BadParameter as error:
            self.fail(error.message + " 'bigtensor models' says what each is for.", param, ctx)


def _as_command(name: str) -> str:
    """Return the name of a model on the command line, if it is a name of a class."""
    return command_name(name) if name in MODELS else name


_OF_EVERY_MODEL = (
    click.Option(
        ["--model"],
        type=_ModelChoice(list(BY_COMMAND)),
        default=DEFAULT,
        is_eager=True,
        show_default=True,
        help="The model; the options below are its own.",
    ),
    click.Option(
        ["--views"],
        type=PATH,
        metavar="VIEWS.toml",
        help="A table [views] of name = list of features; by default every feature is its own "
        "view. Features that depend on each other within a component share a view.",
    ),
    click.Option(
        ["--features"],
        metavar="A,B,C",
        help="The features to use, each its own view, in place of --views.",
    ),
)


class ModelCommand(Command):
    """Command whose options depend on ``--model``.

    Its function receives the name of the class as ``model``, and as ``parameters`` the keyword
    arguments that the options stand for.

    Parameters
    ----------
    in_rounds : bool, default False
        If True, help leaves out options that a fit in rounds does not use.
    """

    def __init__(
        self, *args: Any, callback: Callable[..., Any], in_rounds: bool = False, **kwargs: Any
    ) -> None:
        super().__init__(*args, callback=_with_parameters(callback), **kwargs)
        self._own, self._in_rounds = self.params, in_rounds
        self._take_options(DEFAULT)

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: Any,
    ) -> click.Context:
        """Take the options of the model that is named before all options are read."""
        model = _named(args)
        if model not in BY_COMMAND:
            # the name is the error, and not the options of the model that it stands for
            model = DEFAULT
            extra |= {"ignore_unknown_options": True, "allow_extra_args": True}
        self._take_options(model)
        try:
            return super().make_context(info_name, args, parent, **extra)
        except click.NoSuchOption as error:
            owners = [name for name in BY_COMMAND if _has_option(name, error.option_name)]
            if not owners:
                raise
            raise click.UsageError(
                f"{error.option_name} is an option of --model {' and of '.join(owners)}, and the "
                f"model here is {model}",
                error.ctx,
            ) from error

    def _take_options(self, model: str) -> None:
        """Put the options of a model after the arguments of the command and its output."""
        own = _options(BY_COMMAND[model])
        if self._in_rounds:
            unused = unused_in_rounds(BY_COMMAND[model])
            for option in own:
                option.hidden = option.name in unused
        first = 1 + max(
            place
            for place, entry in enumerate(self._own)
            if isinstance(entry, click.Argument) or entry.name == "out"
        )
        self.params = [*self._own[:first], *_OF_EVERY_MODEL, *own, *self._own[first:]]


def unused_in_rounds(name: str) -> set[str]:
    """Return the parameters that `fit` alone uses, and a fit in rounds does not.

    Parameters
    ----------
    name : str
        Name of the class.
    """
    return {one.name for one in declared_parameters(name) if not one.in_rounds}


def model_parameters(
    declared: Sequence[Parameter],
    values: dict[str, Any],
    views: Path | None,
    features: str | None,
) -> dict[str, Any]:
    """Return what the options stand for, as keyword arguments of the model.

    Parameters
    ----------
    declared : sequence of Parameter
        With an option each.
    values : dict
        Values of these options by the name of the parameter.
    views : Path, optional
        A file with the table ``[views]``, and with one for every parameter that a view may have
        another value of.
    features : str, optional
        Names with commas between them, in place of ``views``.

    Raises
    ------
    click.UsageError
        When ``views`` and ``features`` are both given.
    ViewError
        When the file of views cannot be read or used.
    """
    if views is not None and features is not None:
        raise click.UsageError("--features makes a view of each of them; give it or --views")
    named = read_views(views)
    if features is not None:
        named = {name: [name] for name in names_in("--features", features)}
    parameters = dict(values)
    for parameter in declared:
        if parameter.option is not None and parameter.option.by_view:
            by_view = read_by_view(parameter.name, parameter.option.by_view, views)
            if by_view:
                others = dict.fromkeys(named or (), values[parameter.name])
                parameters[parameter.name] = {**others, **by_view}
    return gathered_values({**parameters, "views": named}, options_classes(declared))


def unfitted_model(
    name: str, parameters: dict[str, Any], *, missing: str | None = None, **others: Any
) -> Estimator:
    """Return a model with the parameters that options stand for.

    Parameters
    ----------
    name : str
        Name of the class.
    parameters : dict
        Keyword arguments of the class.
    missing : str, optional
        Rule for rows with missing values; None for the default of the model.
    **others
        More keyword arguments.
    """
    from bigtensor.models.contract.registry import model_class

    rule = {} if missing is None else {"missing": missing}
    model: Estimator = model_class(name)(**parameters, **rule, **others)
    return model


def collect_parameters(options: dict[str, Any]) -> dict[str, Any]:
    """Return the options of a command; options of the model become its keyword arguments.

    Parameters
    ----------
    options : dict
        Values by name, with ``model``, ``views``, ``features`` and the options of the model.

    Returns
    -------
    dict
        ``model``, the name of the class, ``parameters``, its keyword arguments, and all options
        that are not of the model.

    Raises
    ------
    click.UsageError
        When parameters contradict each other or have no effect.
    ViewError
        When the file of views cannot be read or used.
    """
    others = dict(options)
    name = BY_COMMAND[others.pop("model")]
    views, features = others.pop("views"), others.pop("features")
    declared = [parameter for parameter in declared_parameters(name) if parameter.option]
    own = {parameter.name: others.pop(parameter.name) for parameter in declared}
    parameters = model_parameters(declared, own, views, features)
    _refuse_contradictions(name, parameters)
    return {**others, "model": name, "parameters": parameters}


def _with_parameters(callback: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of options as they are given, which calls one of a model's parameters."""

    @functools.wraps(callback)
    def collected(*args: Any, **options: Any) -> Any:
        return callback(*args, **collect_parameters(options))

    return collected


def _refuse_contradictions(name: str, parameters: dict[str, Any]) -> None:
    """Raise a UsageError for parameters that contradict each other, or have no effect."""
    from bigtensor.errors import ParameterError

    model, command = unfitted_model(name, parameters), click.get_current_context().command
    try:
        model.check_parameters()
    except ParameterError as error:
        raise click.UsageError(written_for(command, error.message)) from error
    unused = model.steps.without_effect(model.parameter_values())
    if unused is not None:
        raise click.UsageError(written_for(command, unused))


def _named(args: Sequence[str]) -> str:
    """Return the model that arguments name, which may not exist; the default if they name none."""
    name = DEFAULT
    for place, entry in enumerate(args):
        if entry == "--model" and place + 1 < len(args):
            name = args[place + 1]
        elif entry.startswith("--model="):
            name = entry.partition("=")[2]
    return _as_command(name)


def _has_option(model: str, option: str) -> bool:
    """Return True if the options of a model on the command line include one."""
    declared = declared_parameters(BY_COMMAND[model])
    return any(one.option is not None and option in one.option.names for one in declared)


def _options(name: str) -> list[click.Option]:
    """Return the options that set the parameters of a model."""
    declared = [(one, one.option) for one in declared_parameters(name) if one.option]
    names = {one.name: max(option.names, key=len) for one, option in declared}
    texts = parameter_texts(name)
    return [_option(one, _in_terminal(texts[one.name], names)) for one, _ in declared]


def _in_terminal(text: str, options: dict[str, str]) -> str:
    """Return a text of a docstring without markup, with options in place of parameters."""
    for name, option in options.items():
        text = text.replace(f"``{name}``", option)
    return text.replace("`", "").replace('"', "'")


def _option(parameter: Parameter, text: str) -> click.Option:
    """Return the option that sets a parameter, with a text for its help."""
    option = parameter.option
    assert option is not None
    names = [*option.names, parameter.name]
    kind = option.kind or parameter.kind
    if option.by_view:
        words = ", ".join(option.by_view)
        text += (
            f" In the file of --views, a table [{parameter.name}] sets the {parameter.name} of "
            f"single views: {words}."
        )
    if isinstance(kind, Flag):
        return click.Option(names, is_flag=True, help=text)
    shown = parameter.default is not None
    if isinstance(kind, Choice):
        return click.Option(
            names,
            type=WordChoice(kind.words),
            default=parameter.default,
            show_default=shown,
            help=text,
        )
    assert kind is not None
    metavar = kind.metavar if option.none is None else f"{kind.metavar}|{option.none}"
    return click.Option(
        names,
        type=_reader(parameter),
        default=parameter.default,
        show_default=shown,
        metavar=metavar,
        help=text,
    )


def _reader(parameter: Parameter) -> Callable[[Any], Any]:
    """Return the type of an option, for click."""
    read = option_type(parameter)

    def value(text: Any) -> Any:
        try:
            return read(str(text))
        except ValueError as error:
            raise click.BadParameter(str(error)) from error

    return value
