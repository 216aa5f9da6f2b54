"""Preparation of a fit of Gaussian or Poisson emissions: cells, and sums of features by cell."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from bigtensor.array_types import FloatArray
from bigtensor.errors import DataError, Setting
from bigtensor.features.cells import Cells
from bigtensor.features.maps import FeatureMap
from bigtensor.models.contract.script import Script, Step
from bigtensor.models.gaussian.drawn_entries import drawn_rows
from bigtensor.models.hidden_markov.declared_parameters import POISSON
from bigtensor.models.hidden_markov.emissions.gaussian_emissions import (
    GaussianEmissions,
    GaussianLaw,
)
from bigtensor.models.hidden_markov.emissions.kernel_preparation import cells_of_sample
from bigtensor.models.hidden_markov.emissions.poisson_emissions import PoissonEmissions, PoissonLaw
from bigtensor.models.hidden_markov.settings import MarkovSettings
from bigtensor.models.pilot.outliers import ordinary_rows
from bigtensor.models.pilot.sample import pilot_pass
from bigtensor.statistics.base import Result, Statistic
from bigtensor.statistics.codes.coded_rows import CodedRows
from bigtensor.statistics.densities.poisson_densities import are_counts
from bigtensor.statistics.gaussian.own_covariance_densities import Frame
from bigtensor.statistics.row_sample import Sample
from bigtensor.statistics.sequences.expectation import SequencePosteriorSumsResult
from bigtensor.statistics.within_reach import Reach


@dataclass(frozen=True, eq=False)
class LawPreparation:
    """Everything that a fit fixes before it reads all rows. No row is kept.

    Attributes
    ----------
    law : GaussianLaw or PoissonLaw
        Makes emissions of sums of features.
    cells : Cells
        Cells of the space of the rows, which stand for codes.
    sums : (D, cells) float64 array
        Sums of features over the ordinary rows of the pilot sample, by cell.
    reach : Reach
        Distances of the rows that are no outliers.
    outliers : dict
        Diagnostics of the outlying rows of the pilot sample.
    """

    law: GaussianLaw | PoissonLaw
    cells: Cells
    sums: FloatArray
    reach: Reach
    outliers: dict[str, Any]

    settled: ClassVar[float] = 2e-7
    out_maps: ClassVar[Mapping[str, FeatureMap]] = {}

    @property
    def n_codes(self) -> int:
        """Number of cells."""
        return self.cells.count

    def of_codes(self, statistic: Statistic[Result]) -> CodedRows[Result]:
        """Return the statistic of the cells of rows."""
        return CodedRows(statistic, self.cells)

    def reestimated(
        self, sums: SequencePosteriorSumsResult, smoothing: float
    ) -> GaussianEmissions | PoissonEmissions:
        """Return the most likely emissions; they have no pseudo-count."""
        del smoothing
        assert sums.features is not None
        return self.law.emissions(sums.features)

    def emissions(self, probabilities: NDArray[np.float64]) -> GaussianEmissions | PoissonEmissions:
        """Return the emissions of states that are mixtures of cells.

        Parameters
        ----------
        probabilities : (k, cells) float64 array
            Of every cell in every state.
        """
        weight = np.maximum(self.sums[-1], np.finfo(np.float64).tiny)
        states = weight.sum() / len(probabilities)
        return self.law.emissions(self.sums @ (probabilities.T * (states / weight[:, None])))


def prepare_law(settings: MarkovSettings) -> Script:
    """Ask for the pilot sample, and lay cells over it.

    Parameters
    ----------
    settings : MarkovSettings
        Of Gaussian or Poisson emissions.
    """
    drawn: Sample = yield pilot_pass(settings)
    yield Step("choosing the cells")
    ordinary = ordinary_rows(drawn, ((0, len(settings.shape.features)),), settings.shape)
    # cells and their range are those of the rows that the weights stand for
    sample = ordinary.sample.by_occurrence(settings.pilot_rows)
    weight = sample.row_weights()
    values = _with_drawn_entries(np.asarray(sample.values, np.float64), weight, settings)
    cells = cells_of_sample(values, settings.cells, settings.random_state)
    law = (
        _poisson(values, settings)
        if settings.emissions == POISSON
        else _gaussian(values, weight, settings)
    )
    shares = np.zeros((len(values), cells.count))
    shares[np.arange(len(values)), cells.codes(values)] = weight
    sums = law.features_of(values).T @ shares
    incomplete = float(np.isnan(drawn.values).any(axis=1).mean())
    outliers = {
        "drawn_rows": len(drawn.values),
        "incomplete_rows": incomplete,
        **ordinary.diagnostics,
    }
    return LawPreparation(law, cells, sums, ordinary.reach, outliers)


def blank_law(settings: MarkovSettings) -> GaussianLaw | PoissonLaw:
    """Return a law of the right size and no meaning.

    Parameters
    ----------
    settings : MarkovSettings
        Of Gaussian or Poisson emissions.
    """
    rows = np.zeros((1, len(settings.shape.features)))
    if settings.emissions == POISSON:
        return PoissonLaw(settings.shape.views)
    return _gaussian(rows, np.ones(1), settings)


def _with_drawn_entries(
    values: FloatArray, weight: FloatArray, settings: MarkovSettings
) -> FloatArray:
    """Return the sample with random values in place of missing entries, given the others.

    Expected values would lie in cells of their own, which say which entries are missing.

    Raises
    ------
    DataError
        When a feature has no entry in the sample.
    """
    missing = np.isnan(values)
    if not missing.any():
        return values
    if missing.all(axis=0).any():
        name = settings.shape.features[int(np.argmax(missing.all(axis=0)))]
        raise DataError(
            f"feature {name!r} has no entry in the {len(values):,} rows of the pilot sample: leave "
            "it out with " + Setting("views") + ", or begin with data that have entries of it"
        )
    frame = _frame(values, weight)
    drawn = frame.to_data(drawn_rows(frame.of_rows(values), weight, settings.random_state))
    if settings.emissions == POISSON:
        drawn = np.maximum(np.round(drawn), 0)
    return np.where(missing, drawn, values)


def _frame(values: FloatArray, weight: FloatArray) -> Frame:
    """Return the frame in which the entries of a sample have the mean zero and variances of one."""
    present = weight[:, None] * ~np.isnan(values)
    total = present.sum(axis=0)
    centre = (present * np.nan_to_num(values)).sum(axis=0) / total
    squares = np.nan_to_num(np.square(values - centre))
    spread = np.sqrt((present * squares).sum(axis=0) / total)
    return Frame(centre, 1 / np.where(spread > 0, spread, 1.0))


def _gaussian(values: FloatArray, weight: FloatArray, settings: MarkovSettings) -> GaussianLaw:
    """Return Gaussian emissions in the frame of a sample."""
    return GaussianLaw(settings.covariance_type, _frame(values, weight), settings.shape.views)


def _poisson(values: FloatArray, settings: MarkovSettings) -> PoissonLaw:
    """Return Poisson emissions, or raise a DataError if the sample holds no counts."""
    if not are_counts(values):
        raise DataError(
            Setting("emissions", POISSON)
            + " is for counts, and the data hold values that are negative or no whole numbers: use "
            + Setting("emissions", "gaussian")
        )
    return PoissonLaw(settings.shape.views)
