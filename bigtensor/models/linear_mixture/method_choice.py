"""Choice of the method of a linear mixture, by counted operations and reads."""

from __future__ import annotations

import math
from dataclasses import replace

from bigtensor.models.contract.data_shape import DataShape
from bigtensor.models.contract.parameters import ParameterValues
from bigtensor.models.linear_mixture.settings import LinearSettings, settings_of

PRECISE = ("sample", "compressed", "explicit")
"""Methods with full precision and few passes, among which is the choice."""

INITIALISATIONS_PER_COMPONENT, MORE_INITIALISATIONS = 4, 20
"""Columns that methods without a search in the sample start from."""

CLEARLY, WORTH = 0.5, 5e10
"""Share of the cost of a search in a sample, less so many operations, below which another method
is taken: the second is about two seconds."""

SEARCH_COLUMNS = 60
"""Columns a component that a search contracts the tensor with: measured at 56 to 73 with 10 and
more components, and at 90 to 130 with fewer or with few features."""

SEARCH_PASSES = 40
"""Passes of a search over all rows: two to three rounds, and Gauss-Newton steps."""

PUBLISHED_PASSES = 62
"""Contractions of all initialisations by power updates as they were published."""

READ_OPERATIONS = 200
"""Operations that take as long as a value takes to read: measured at 30 in memory, and up to 1,000
from compressed stores with narrow chunks."""

MOST_ENTRIES = 2**20
"""Entries of the largest tensor that is formed without being asked for, 8 MiB a task."""


def settings_with_method(parameters: ParameterValues, shape: DataShape) -> LinearSettings:
    """Return the resolved parameters for the data, with a method in the place of ``"auto"``.

    Labelled rows are an initialisation, which only the first method takes.
    """
    settings = settings_of(parameters, shape)
    if not settings.chooses_method:
        return settings
    return replace(settings, method="sample" if settings.shape.groups else taken_method(settings))


def taken_method(settings: LinearSettings) -> str:
    """Return a method of full precision: the sample, unless another costs clearly less.

    The search in a sample has every row of it as an initialisation, and tells most about the rows.
    """
    open_to_choice = [method for method in PRECISE if not obstacle(method, settings)]
    cheapest = min(open_to_choice, key=lambda method: cost(method, settings))
    most = CLEARLY * cost("sample", settings) - WORTH
    return cheapest if cost(cheapest, settings) < most else "sample"


def obstacle(method: str, settings: LinearSettings) -> str:
    """Return why a method is never taken without being asked for; empty where it may be.

    Parameters
    ----------
    method : str
        Name of the method.
    settings : LinearSettings
        Settings with the features and the number of components.
    """
    least, k = min(_features(settings)), settings.n_components
    if settings.exceeds_moment and method != "sample":
        return "more components than the moment determines"
    if method == "compressed" and k > least:
        return "more components than features"
    if method == "explicit" and tensor_entries(settings) > MOST_ENTRIES:
        return "a large tensor"
    if method == "passes":
        return "many reads, for rows without a good sample"
    return "a biased reference" if method == "power" else ""


def cost(method: str, settings: LinearSettings) -> float:
    """Return operations before EM iterations, with reads in units of operations."""
    values = sum(_features(settings)) * settings.shape.rows
    return operations(method, settings) + READ_OPERATIONS * values * full_reads(method, settings)


def operations(method: str, settings: LinearSettings) -> float:
    """Return the floating-point operations of matrix products before EM iterations.

    Parameters
    ----------
    method : str
        Name of the method.
    settings : LinearSettings
        Settings with rows, features and the number of components.
    """
    features, k, rows = _features(settings), settings.n_components, settings.shape.rows
    d, searched = sum(features), SEARCH_COLUMNS * k
    contraction = 4.0 * d  # of a row with one column of every factor
    within, across = 2.0 * sum(size**2 for size in features), 2.0 * d**2
    steps = (settings.gauss_newton_steps + 1) * contraction * k
    starts = settings.pilot_rows * contraction * n_starts(settings)
    entries = tensor_entries(settings)
    match method:
        case "sample":
            return settings.pilot_rows * contraction * searched + rows * (steps + within)
        case "compressed":
            formed = 2.0 * d * (k + 1) + 2.0 * (k + 1) ** 3
            return starts + rows * (across + formed + steps) + 4.0 * searched * k**3
        case "explicit":
            return starts + rows * (within + across + 2.0 * entries) + 4.0 * searched * entries
        case "passes":
            return starts + rows * (contraction * searched + within)
    published = PUBLISHED_PASSES * contraction * n_starts(settings)
    return starts + rows * (published + across)


def full_reads(method: str, settings: LinearSettings) -> int:
    """Return the passes over all rows before EM iterations, as many as there usually are."""
    steps = settings.gauss_newton_steps + 1
    if method == "compressed":
        return 2 + (steps if settings.gauss_newton_steps else 0)
    if method == "sample":
        return steps
    return {"explicit": 1, "passes": SEARCH_PASSES, "power": PUBLISHED_PASSES + 1}[method]


def n_starts(settings: LinearSettings) -> int:
    """Return the number of columns that methods without a search in the sample start from."""
    return INITIALISATIONS_PER_COMPONENT * settings.n_components + MORE_INITIALISATIONS


def tensor_entries(settings: LinearSettings) -> int:
    """Return the entries of the whole tensor, with the constant features."""
    return math.prod(size + 1 for size in _features(settings))


def _features(settings: LinearSettings) -> list[int]:
    """Return the number of features of every view."""
    return [len(members) for _, members in settings.shape.views]
