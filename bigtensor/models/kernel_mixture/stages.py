"""How many posterior passes follow a start, over which rows."""

from __future__ import annotations

from dataclasses import dataclass

from bigtensor.models.kernel_mixture.settings import Settings
from bigtensor.statistics.windows import sample_windows

POLISHING_PASSES = 2
"""Over all rows, from a mixture near the answer: further ones would let it drift."""

MOST_PASSES = 20
"""After a doubtful spectral start, or k-means: these have to travel, until they have settled."""

POPULATION_PASSES = 2
"""For components that are merged afterwards: they only have to cover the data."""

SETTLING_ROWS = 1_000_000
"""Rows of the passes that settle a mixture, of data at least four times as large."""

SETTLING_WINDOWS = 32
"""Ranges that these rows lie in, about as long as the chunks of a store."""


@dataclass(frozen=True)
class Stage:
    """Posterior passes over the same rows.

    Attributes
    ----------
    name : str
        Of the passes, before their number.
    most : int
        How many there are at most.
    settle : bool
        Whether they stop once the likelihood has settled.
    windows : tuple of (start, stop), optional
        The rows; None stands for all.
    co_posterior : bool
        Whether they sum what the components share as well.
    """

    name: str
    most: int
    settle: bool
    windows: tuple[tuple[int, int], ...] | None = None
    co_posterior: bool = False


def posterior_stages(settings: Settings, rows: int, *, doubtful: bool) -> list[Stage]:
    """Return the posterior passes after a start.

    Parameters
    ----------
    settings : Settings
    rows : int
    doubtful : bool
        Whether the start is one from which the mixture has to travel.
    """
    merged = settings.n_populations is not None
    windows = _settling_windows(rows)
    if settings.posterior_passes is not None:
        settle = doubtful and settings.posterior_width is None
        return [Stage("posterior", settings.posterior_passes, settle, co_posterior=merged)]
    if merged:
        return [Stage("posterior", POPULATION_PASSES, False, windows, co_posterior=True)]
    polishing = Stage("posterior", POLISHING_PASSES, settle=False)
    if not doubtful:
        return [polishing]
    # passes with broad densities do not climb the likelihood, so that it cannot end them
    settle = settings.posterior_width is None
    if windows is None:
        return [Stage("posterior", MOST_PASSES, settle)]
    return [Stage("settling", MOST_PASSES, settle, windows), polishing]


def _settling_windows(rows: int) -> tuple[tuple[int, int], ...] | None:
    """Return the rows on which a mixture settles before it is polished on all; None for all."""
    return (
        None
        if rows < 4 * SETTLING_ROWS
        else sample_windows(rows, SETTLING_ROWS // 2, SETTLING_WINDOWS)
    )
