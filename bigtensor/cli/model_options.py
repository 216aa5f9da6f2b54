"""The options that say which model is fitted, and the parameters that they stand for."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from bigtensor.cli.options import PATH, count, read_kernels, read_views

Function = TypeVar("Function", bound=Callable[..., Any])

_BANDWIDTHS = ("rule", "gap", "cross-validation")


def count_or_auto(value: Any) -> int | str:
    """Return a whole number of at least one, or ``"auto"``."""
    if value == "auto":
        return "auto"
    try:
        return count()(value)
    except click.BadParameter as error:
        raise click.BadParameter(f"{error.message}, and not 'auto'") from error


def rows_or(*words: str) -> Callable[[Any], int | str]:
    """Return the type of a number of rows that may also be one of some words."""

    def rows(value: Any) -> int | str:
        if value in words:
            return str(value)
        try:
            return count(1000)(value)
        except click.BadParameter as error:
            raise click.BadParameter(f"{error.message}, or {' or '.join(words)}") from error

    return rows


def positive_or(*words: str) -> Callable[[Any], float | str]:
    """Return the type of a positive number that may also be one of some words."""

    def number(value: Any) -> float | str:
        if value in words:
            return str(value)
        try:
            found = float(value)
        except ValueError:
            found = -1.0
        if not 0 < found < float("inf"):
            raise click.BadParameter(f"{value!r} is not a positive number or {' or '.join(words)}")
        return found

    return number


_OPTIONS = (
    click.option(
        "--components",
        "-k",
        "n_components",
        type=count_or_auto,
        metavar="K|auto",
        help="Number of components. By default ('auto') they are counted in the sample. They are "
        "many, and merged, with --populations or where features depend on each other within them.",
    ),
    click.option(
        "--populations",
        "n_populations",
        type=count_or_auto,
        metavar="N|auto",
        help="Merge the components into so many populations, which labels then stand for.",
    ),
    click.option(
        "--views",
        type=PATH,
        metavar="VIEWS.toml",
        help="A table [views] of name = list of features; by default every feature is its own "
        "view. Features that depend on each other within a component share a view. A table "
        "[kernels] of name = 'laplace' or 'delta' gives views another kernel.",
    ),
    click.option(
        "--features",
        metavar="A,B,C",
        help="The features to use, each its own view, in place of --views.",
    ),
    click.option(
        "--start",
        type=click.Choice(["auto", "spectral", "kmeans"]),
        default="auto",
        show_default=True,
        help="Where the posterior passes start: 'auto' is kmeans with --populations, and spectral "
        "without.",
    ),
    click.option(
        "--units",
        type=click.Choice(["auto", "own", "common"]),
        default="auto",
        show_default=True,
        help="Compare features in units of their own spread, or as they are because all have the "
        "same units, such as the markers of a cytometer. 'auto' is common where an import recorded "
        "that it put all features on one scale.",
    ),
    click.option(
        "--posterior-width",
        type=positive_or("auto", "none"),
        default="auto",
        show_default=True,
        metavar="WIDTH|auto|none",
        help="Least width of the densities that labels come from, in multiples of the "
        "scale inside components.",
    ),
    click.option(
        "--bandwidth",
        type=positive_or(*_BANDWIDTHS),
        metavar="rule|gap|cross-validation|FACTOR",
        help="Bandwidth of the moments of a spectral start; a number multiplies the rule's.",
    ),
    click.option(
        "--moments-rows",
        type=rows_or("auto", "all"),
        default="auto",
        show_default=True,
        metavar="N|auto|all",
        help="Rows that the moments of a spectral start are summed over: 'auto' is all rows, and "
        "from four million rows on a million spread over the data.",
    ),
    click.option(
        "--kernel",
        "kernels",
        type=click.Choice(["gaussian", "laplace"]),
        default="gaussian",
        show_default=True,
        help="Kernel of the views that have no other.",
    ),
    click.option(
        "--landmarks",
        type=click.Choice(["kmeans", "kmeans++", "uniform", "cholesky"]),
        default="kmeans",
        show_default=True,
        help="How the landmarks of the kernel features are chosen from the sample.",
    ),
    click.option(
        "--shared-components",
        "views_share_components",
        is_flag=True,
        help="A component has the same density in all views: repeated measurements.",
    ),
)

_NAMES = (
    *("n_components", "n_populations", "views", "features", "start", "units", "posterior_width"),
    *("bandwidth", "moments_rows", "kernels", "landmarks", "views_share_components"),
)


def model_options(function: Function) -> Function:
    """Add the options of the model; the command receives them as one dict ``parameters``.

    The dict holds the keyword arguments of a `KernelMixture`; see `model_parameters`.
    """

    @functools.wraps(function)
    def collected(*args: Any, **given: Any) -> Any:
        own = {name: given.pop(name) for name in _NAMES}
        return function(*args, parameters=model_parameters(**own), **given)

    for option in reversed(_OPTIONS):
        collected = option(collected)
    return collected  # type: ignore[return-value]


def model_parameters(
    *,
    n_components: int | str | None,
    n_populations: int | str | None,
    views: Path | None,
    features: str | None,
    start: str,
    units: str,
    posterior_width: float | str,
    bandwidth: float | str | None,
    moments_rows: int | str,
    kernels: str,
    landmarks: str,
    views_share_components: bool,
) -> dict[str, Any]:
    """Return what the options stand for, as keyword arguments of a `KernelMixture`.

    Parameters
    ----------
    n_components, n_populations : int, "auto" or None
        None where the option is left out.
    views : Path, optional
        A file with the tables ``[views]`` and ``[kernels]``.
    features : str, optional
        Names with commas between them, in place of ``views``.
    start : {"auto", "spectral", "kmeans"}
    units : {"auto", "own", "common"}
    posterior_width : float, "auto" or "none"
    bandwidth : float or str, optional
    moments_rows : int, "auto" or "all"
    kernels : str
        Of the views that have no other.
    landmarks : str
    views_share_components : bool

    Raises
    ------
    click.UsageError
        When options contradict each other.
    ViewError
        When the file of views cannot be read or used.
    """
    _check_together(n_components, n_populations, start, bandwidth)
    if views is not None and features is not None:
        raise click.UsageError("--features makes a view of each of them; give it or --views")
    named = read_views(views) if features is None else _single_views(features)
    kernel_of_view = read_kernels(views)
    return {
        "n_components": "auto" if n_components is None else n_components,
        "n_populations": n_populations,
        "views": named,
        "start": start,
        "units": units,
        "posterior_width": None if posterior_width == "none" else posterior_width,
        "bandwidth": "rule" if bandwidth is None else bandwidth,
        "moments_rows": moments_rows,
        "kernels": {**dict.fromkeys(named or (), kernels), **kernel_of_view}
        if kernel_of_view
        else kernels,
        "landmarks": landmarks,
        "views_share_components": views_share_components,
    }


def _single_views(features: str) -> dict[str, list[str]]:
    """Return a view of each of some features."""
    names = [name.strip() for name in features.split(",")]
    wrong = "an empty name" if "" in names else ""
    wrong = next((f"{name!r} twice" for name in names if names.count(name) > 1 and name), wrong)
    if wrong:
        raise click.UsageError(
            f"--features {features!r} holds {wrong}; separate names by single commas (those with "
            "commas of their own need --views)"
        )
    return {name: [name] for name in names}


def _check_together(
    n_components: int | str | None,
    n_populations: int | str | None,
    start: str,
    bandwidth: float | str | None,
) -> None:
    """Refuse options that contradict each other."""
    if (
        isinstance(n_components, int)
        and isinstance(n_populations, int)
        and n_populations > n_components
    ):
        raise click.UsageError(
            f"--populations {n_populations} are merged from --components {n_components}, which "
            "are fewer; give more components, or leave --components out"
        )
    clustered = start == "kmeans" or (start == "auto" and n_populations is not None)
    if bandwidth is not None and clustered:
        given = "--start kmeans" if start == "kmeans" else "--populations"
        raise click.UsageError(
            f"--bandwidth is that of the moments, which are not used with {given}: leave it out, "
            "or give --start spectral"
        )
