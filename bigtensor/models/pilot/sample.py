"""Pass that draws the pilot sample."""

from __future__ import annotations

from typing import Protocol

from bigtensor.models.contract.data_shape import DataShape
from bigtensor.models.contract.parameters import ParameterValues
from bigtensor.statistics.base import Pass
from bigtensor.statistics.row_sample import RowSample, Sample
from bigtensor.statistics.windows import sample_windows

ROWS_A_FEATURE = 5
"""Rows of a pilot sample for every feature of continuous values."""


def most_pilot_rows(parameters: ParameterValues, shape: DataShape, enough: int) -> int:
    """Return the largest number of rows of a pilot sample.

    Parameters
    ----------
    parameters : ParameterValues
        Parameters of the model. Without a number in ``pilot_rows``, ``enough`` rows are drawn.
    shape : DataShape
        Size of the data.
    enough : int
        Rows that the first estimates need.
    """
    asked = enough if parameters.pilot_rows is None else int(parameters.pilot_rows)
    return min(shape.most_occurrences, asked)


class PilotSettings(Protocol):
    """Settings of a fit that draws a pilot sample."""

    @property
    def shape(self) -> DataShape:
        """Size, names and types of the data."""

    @property
    def pilot_rows(self) -> int:
        """Largest number of rows of the sample."""

    @property
    def random_state(self) -> int:
        """Seed of the model."""


def pilot_pass(settings: PilotSettings, *, least_candidates: int = 0) -> Pass[Sample]:
    """Return the pass that draws the pilot sample.

    Parameters
    ----------
    settings : PilotSettings
        Resolved parameters of the fit.
    least_candidates : int, default 0
        Smallest number of rows that the sample is drawn from. Of fewer rows, all are looked at.
    """
    statistic = RowSample(
        settings.pilot_rows,
        len(settings.shape.features),
        settings.shape.dtype,
        settings.random_state,
        settings.shape.has_weight,
    )
    # windows, runs of consecutive rows, hold at least twice this number of rows
    size = max(settings.pilot_rows, least_candidates // 2)
    return Pass("pilot", statistic, sample_windows(settings.shape.rows, size))
