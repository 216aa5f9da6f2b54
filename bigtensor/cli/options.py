"""Options that several commands share, and what they stand for."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Callable, Collection, Sequence
from difflib import get_close_matches
from functools import wraps
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click
from click.core import ParameterSource

from bigtensor.cli.output import printable
from bigtensor.data.values.missing_values import MISSING_RULES
from bigtensor.data.values.sample_weight_meanings import COUNTS, MEANINGS
from bigtensor.errors import ParameterError, ViewError

if TYPE_CHECKING:
    from bigtensor.data.addresses.store_address import Address

    ParameterType = click.ParamType[Any]
else:
    # generic from click 8.4
    ParameterType = click.ParamType

Function = TypeVar("Function", bound=Callable[..., Any])


_FILE_ENDINGS = (".h5ad", ".fcs", ".csv", ".tsv", ".parquet", ".h5")
"""Ends of the names of files that are no Zarr stores."""


class DataType(ParameterType):
    """Data by their path or URL, which would lose one of its slashes as a `Path`."""

    name = "text"

    def convert(
        self,
        value: str | os.PathLike[str],
        param: click.Parameter | None,  # noqa: ARG002  (the signature of click)
        ctx: click.Context | None,  # noqa: ARG002
    ) -> Address:
        """Return the path or URL. ``~`` in quotes, which a shell leaves, is the user's folder."""
        return _with_home(value)


class AddressType(DataType):
    """A path, which becomes a `Path`, or a URL, which stays a string."""

    name = "path"

    def convert(
        self,
        value: str | os.PathLike[str],
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> Address:
        """Return the address."""
        from bigtensor.data.addresses.store_address import as_address

        return as_address(super().convert(value, param, ctx))


class LocalPath(click.Path):
    """A path, and no URL: a `Path` would drop one of its slashes."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the path. ``~`` in quotes is the folder of the user."""
        value = _with_home(value)
        if "://" in str(value):
            self.fail(
                f"{str(value)!r} is a URL; a path on a local or mounted disk is expected here",
                param,
                ctx,
            )
        return super().convert(value, param, ctx)


def _with_home(value: str | os.PathLike[str]) -> str:
    """Return a path whose ``~`` is the folder of the user: a shell leaves one in quotes.

    Other programs take ``-`` for standard input or output, so that a file ``-`` is not meant.
    """
    text = os.fspath(value)
    if text == "-":
        raise click.BadParameter(
            "'-' is not standard input or output here; give the name of a file, or './-' for a "
            "file of this name"
        )
    from bigtensor.data.addresses.store_address import with_home

    return with_home(text)


class WordChoice(click.Choice[str]):
    """One of a few words. An error suggests the word that comes nearest."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the word."""
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter as error:
            words = {_letters(word): word for word in map(str, self.choices)}
            close = get_close_matches(_letters(str(value)), words, 1)
            if not close:
                raise
            text = error.message.rstrip(".")
            self.fail(f"{text}. Did you mean {words[close[0]]!r}?", param, ctx)


def _letters(word: str) -> str:
    """Return the letters and digits of a word in lower case."""
    return "".join(letter for letter in word.casefold() if letter.isalnum())


PATH = LocalPath(path_type=Path)

ADDRESS = AddressType()

DATA = DataType()

SAMPLES_HELP = (
    "Table of the samples, one row a sample. The first column has their names, as in the data and "
    "with or without .fcs, and the others have conditions."
)
"""Help of ``--metadata``, which several commands have."""


def count(least: int = 1) -> Callable[[Any], int]:
    """Return the type of a whole number of at least ``least``, also written as 1e6 or 1_000_000."""

    def integer(value: str | float) -> int:
        try:
            number = float(value)
        except ValueError:
            number = -1.0
        if not number.is_integer() or number < least:
            raise click.BadParameter(f"{value!r} is not a whole number of at least {least}")
        return int(number)

    return integer


def size(value: str | int) -> int:
    """Return the bytes of a size such as 1GiB."""
    from bigtensor.engine.runtime import parse_memory_limit

    try:
        return parse_memory_limit(value)
    except ParameterError as error:
        raise click.BadParameter(f"{value!r} is not a size such as 1GiB or 500MB") from error


def wait(value: str | float) -> float:
    """Return the seconds of a time such as 12h."""
    from bigtensor.engine.clusters.patience import parse_wait

    try:
        return parse_wait(value)
    except ParameterError as error:
        raise click.BadParameter(f"{value!r} is not a time such as 90s, 10m or 12h") from error


def components_option(function: Function) -> Function:
    """Add ``--components``."""
    return click.option(
        "--components", "-k", type=count(), required=True, help="Number of components."
    )(function)


def seed_option(function: Function) -> Function:
    """Add ``--seed``."""
    return click.option(
        "--seed",
        type=count(0),
        default=0,
        show_default=True,
        help="Seed of all random choices.",
    )(function)


def overwrite_option(function: Function) -> Function:
    """Add ``--overwrite``."""
    return click.option("--overwrite", is_flag=True, help="Replace outputs that exist.")(function)


def adjust_option(function: Function) -> Function:
    """Add ``--adjust``."""
    return click.option(
        "--adjust",
        multiple=True,
        metavar="COLUMN",
        help="A further condition, such as the batch, or the patient of paired samples; repeat for "
        "several.",
    )(function)


def groups_option(function: Function) -> Function:
    """Add ``--groups``."""
    return click.option(
        "--groups",
        multiple=True,
        metavar="COLUMN",
        help="A column of numbers whose values are groups, such as a few doses, or the numbers of "
        "patients; repeat for several.",
    )(function)


def reference_option(function: Function) -> Function:
    """Add ``--reference``."""
    return click.option(
        "--reference",
        metavar="GROUP",
        help="The group that others are compared with; by default the first one. If it is given, "
        "numbers are groups.",
    )(function)


def missing_option(function: Function) -> Function:
    """Add ``--missing``."""
    return click.option(
        "--missing",
        type=WordChoice(MISSING_RULES),
        help="Rule for rows with NaN, infinities or missing codes: they are an error (raise), or "
        "are left out and counted (omit). Some models can keep these rows and sum over the missing "
        "entries (marginalise).",
    )(function)


def weights_option(function: Function) -> Function:
    """Add ``--weights``."""
    return click.option(
        "--weights",
        type=WordChoice(MEANINGS),
        default=COUNTS,
        show_default=True,
        help="Meaning of the sample weights (the variable 'weight' of the store). With counts, a "
        "row of weight 2 occurs twice. Relative weights only compare rows, and their unit has no "
        "effect.",
    )(function)


def runtime_options(function: Function) -> Function:
    """Add the options that say where passes run, and pass them on as the argument ``where``."""

    @wraps(function)
    def with_runtime(**values: Any) -> object:
        names = [name for name in values if name in RUNTIME_OPTIONS]
        where = runtime(**{name: values.pop(name) for name in names})
        return function(where=where, **values)

    for name, (kind, metavar, words) in reversed(RUNTIME_OPTIONS.items()):
        option = "--" + name.replace("_", "-")
        with_runtime = click.option(option, type=kind, metavar=metavar, help=words)(with_runtime)
    return cast("Function", with_runtime)


_FILE = LocalPath(path_type=str)
RUNTIME_OPTIONS: dict[str, tuple[Any, str, str]] = {
    "workers": (
        count(),
        "N",
        "Start N worker processes on this machine, or N threads with --scheduler threads. A fit "
        "starts no more processes than its passes have tasks. By default, passes run on threads of "
        "this process, one for each processor, or two if the rows come from a URL.",
    ),
    "scheduler": (
        str,
        "ADDRESS",
        "Address of a running Dask scheduler, such as tcp://host:8786 or tls://host:8786; or "
        "'threads' or 'processes' of this machine. The default is 'processes' with --workers or "
        "--memory-limit, and 'threads' otherwise.",
    ),
    "scheduler_file": (
        _FILE,
        "FILE",
        "File that 'dask scheduler --scheduler-file FILE' has written. It takes the place of an "
        "address.",
    ),
    "tls_ca_file": (
        _FILE,
        "FILE",
        "PEM file of the certificate authority of an encrypted scheduler (tls://). By default, "
        "the three certificate files come from Dask's configuration.",
    ),
    "tls_cert": (_FILE, "FILE", "PEM file of your certificate for an encrypted scheduler."),
    "tls_key": (
        _FILE,
        "FILE",
        "PEM file of the key of your certificate, unless the file of the certificate holds it.",
    ),
    "memory_limit": (
        size,
        "SIZE",
        "Memory limit of a process, such as 1GiB. A plan that needs more is refused.",
    ),
    "wait_for_workers": (
        wait,
        "TIME",
        "Longest time to wait while a running scheduler has no worker, such as 12h for a queue. "
        "The default is 60 seconds.",
    ),
}
"""Type, metavar and help of every option that says where passes run, by the name of its value."""


def runtime(
    workers: int | None = None,
    scheduler: str | None = None,
    memory_limit: int | None = None,
    wait_for_workers: float | None = None,
    scheduler_file: str | None = None,
    **certificates: str | None,
) -> dict[str, Any]:
    """Return where passes run, as models take it.

    Parameters
    ----------
    workers : int, optional
        Number of processes or threads on this machine; all processors by default.
    scheduler : str, optional
        ``"threads"``, ``"processes"`` or the address of a running scheduler.
    memory_limit : int, optional
        Bytes.
    wait_for_workers : float, optional
        Seconds.
    scheduler_file : str, optional
        Path of the file that a scheduler writes.
    **certificates : str
        ``tls_ca_file``, ``tls_cert`` and ``tls_key``: paths of PEM files.

    Returns
    -------
    dict
        ``scheduler``, ``workers``, ``memory_limit`` and ``wait_for_workers``.
    """
    from bigtensor.engine.clusters.connection import Connection
    from bigtensor.models.contract.parameters import check_workers

    check_workers(workers)
    here = scheduler in (None, "threads", "processes")
    if scheduler is not None and scheduler_file is not None:
        raise click.UsageError("--scheduler and --scheduler-file both name a scheduler; give one")
    if workers is not None and (scheduler_file is not None or not here):
        option = f"--scheduler {scheduler}" if scheduler else f"--scheduler-file {scheduler_file}"
        raise click.UsageError(
            f"--workers starts processes on this machine, and {option} uses the processes of a "
            "running scheduler; give one of them"
        )
    if here and scheduler_file is None:
        if any(certificates.values()):
            raise click.UsageError(
                "certificates have no effect without a running scheduler; give --scheduler "
                "tls://host:8786 or --scheduler-file"
            )
        # threads start at once; a limit on memory can be enforced on processes alone
        limited = workers is not None or memory_limit is not None
        place: str | Connection = scheduler or ("processes" if limited else "threads")
    else:
        place = Connection(scheduler, scheduler_file, **certificates)
    return {
        "scheduler": place,
        "workers": workers,
        "memory_limit": memory_limit,
        "wait_for_workers": wait_for_workers,
    }


def refuse_inputs(out: Address, *inputs: Address, otherwise: str = "") -> None:
    """Raise a usage error when an output has the name of an input, which would be replaced.

    Parameters
    ----------
    out : Path or str
        Output of the command.
    *inputs : Path or str
        Inputs of the command.
    otherwise : str
        A further remedy.
    """
    from bigtensor.data.addresses.same_place import would_replace

    if any(would_replace(out, path) for path in inputs):
        raise click.UsageError(
            f"{out} is read and would be replaced; give another output{otherwise}"
        )


def refuse_file_name(out: Address, remedy: str) -> None:
    """Raise a usage error when an output that will be a Zarr store is named like a file.

    Parameters
    ----------
    out : Path or str
        Output of the command.
    remedy : str
        How to make such a file.
    """
    from bigtensor.data.addresses.store_address import name_of

    ending = PurePath(name_of(out)).suffix
    if ending.lower() in _FILE_ENDINGS:
        raise click.UsageError(
            f"--out {printable(str(out))} must name a Zarr store, which ends in .zarr; for a file "
            f"{ending}, {remedy}"
        )


def typed_options() -> dict[str, str]:
    """Return the options that the user typed, such as ``--where``, by the names of their values.

    An option that was typed with its default value counts as well.
    """
    context = click.get_current_context()
    return {
        str(option.name): max(option.opts, key=len)
        for option in context.command.params
        if isinstance(option, click.Option)
        and context.get_parameter_source(str(option.name)) is ParameterSource.COMMANDLINE
    }


def refuse_options(names: Collection[str], case: str) -> None:
    """Raise a usage error when the user typed options that have no effect.

    Parameters
    ----------
    names : collection of str
        Names of the values of the options without an effect.
    case : str
        When they have no effect, such as "with --table".
    """
    unused = [option for name, option in typed_options().items() if name in names]
    if unused:
        raise click.UsageError(
            f"{case}, these options have no effect: {', '.join(unused)}; leave them out"
        )


def names_in(option: str, value: str) -> list[str]:
    """Return the names of an option that separates them by commas.

    Parameters
    ----------
    option : str
        Name of the option, for the message.
    value : str
        Value of the option, with commas between the names.

    Raises
    ------
    click.UsageError
        When a name is empty or repeated.
    """
    names = [name.strip() for name in value.split(",")]
    wrong = "an empty name" if "" in names else ""
    wrong = next((f"{name!r} twice" for name in names if names.count(name) > 1 and name), wrong)
    if wrong:
        raise click.UsageError(f"{option} {value!r} holds {wrong}; separate names by single commas")
    return names


def read_views(path: Path | None) -> dict[str, list[str]] | None:
    """Read the table ``[views]`` of a TOML file.

    The result has the feature names of every view. Without a file it is None.

    Raises
    ------
    ViewError
        When the file cannot be read, has no such table, or holds something else in it.
    """
    if path is None:
        return None
    views = _read_toml(path).get("views")
    if not isinstance(views, dict):
        raise ViewError(f"{path} has no table [views]; {_EXAMPLE}")
    if not views:
        raise ViewError(f"the table [views] of {path} is empty; {_EXAMPLE}")
    for name, features in views.items():
        strings = isinstance(features, list) and all(isinstance(entry, str) for entry in features)
        if not strings:
            raise ViewError(
                f"view {name!r} of {path} is {features!r}; expected a list of feature names; "
                f"{_EXAMPLE}"
            )
    return views


def read_by_view(name: str, allowed: Sequence[str], path: Path | None) -> dict[str, str]:
    """Read the values of a parameter that views have of their own from a TOML file of views.

    Parameters
    ----------
    name : str
        Of the parameter and of the table, such as kernel.
    allowed : sequence of str
        Values that a view may have.
    path : Path, optional
        The TOML file of views.

    Returns
    -------
    dict of str to str
        By the names of the views; empty without a file or a table.

    Raises
    ------
    ViewError
        When the table holds something else, or names no view of the table ``[views]``.
    """
    table = {} if path is None else _read_toml(path)
    values, views = table.get(name, {}), table.get("views", {})
    example = f'a line [{name}] and then lines such as t = "{allowed[-1]}" set the {name} of views'
    if not isinstance(values, dict):
        raise ViewError(f"{name} of {path} is {values!r}; {example}")
    for view, value in values.items():
        if view not in views:
            raise ViewError(
                f"[{name}] of {path} names the view {view!r}, but [views] has "
                f"{', '.join(views) or 'none'}; use the names of the views"
            )
        if value not in allowed:
            raise ViewError(
                f"{name} of {path} has {value!r} for view {view!r}; expected one of "
                f"{', '.join(allowed)}; {example}"
            )
    return values


def _read_toml(path: Path) -> dict[str, Any]:
    """Read a file of views."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ViewError(f"{path} cannot be read ({error.strerror}); check the path") from error
    except (ValueError, RecursionError) as error:
        # Numbers of thousands of digits and deep nesting fail outside of the parser's own errors.
        raise ViewError(f"{path} is not TOML ({error}); {_EXAMPLE}") from error


_EXAMPLE = 'a file of views has a line [views] and then lines such as t = ["CD3", "CD4"]'
