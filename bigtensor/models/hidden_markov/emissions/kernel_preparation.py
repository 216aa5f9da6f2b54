"""Preparation of a fit to measured rows: grids, landmarks, and cells with their densities."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from bigtensor.features.cells import Cells
from bigtensor.features.maps import FeatureMap
from bigtensor.models.contract.data_shape import DataShape
from bigtensor.models.contract.script import Script, Step
from bigtensor.models.hidden_markov.emissions.kernel_emissions import KernelEmissions
from bigtensor.models.kernel_mixture import script as kernel_script
from bigtensor.models.kernel_mixture.preparation import KernelMixturePreparation
from bigtensor.models.kernel_mixture.settings import KernelMixtureSettings
from bigtensor.models.kernel_mixture.solve import sums_of_sample
from bigtensor.purpose_seeds import purpose_seed
from bigtensor.statistics.base import Result, Statistic
from bigtensor.statistics.codes.coded_rows import CodedRows
from bigtensor.statistics.densities.posterior_sums import PosteriorSumsResult
from bigtensor.statistics.sequences.expectation import SequencePosteriorSumsResult

TAIL = 5e-4
"""Part of the sample beyond each end of the range of the cells."""


@dataclass(frozen=True, eq=False)
class KernelPreparation:
    """Everything that a fit to measured rows fixes before it reads all of them. No row is kept.

    Attributes
    ----------
    kernel : KernelMixturePreparation
        Grids and landmarks of the densities.
    cells : Cells
        Cells of the space of the rows, which stand for codes.
    sums : PosteriorSumsResult
        Sums over the rows of the pilot sample, by cell.
    """

    kernel: KernelMixturePreparation
    cells: Cells
    sums: PosteriorSumsResult

    # densities are smoothed anew in every iteration, which moves the likelihood a little
    settled: ClassVar[float] = 1e-5
    # the densities have tails
    reach: ClassVar[None] = None

    @property
    def n_codes(self) -> int:
        """Number of cells."""
        return self.cells.count

    @property
    def outliers(self) -> Mapping[str, Any]:
        """Diagnostics of outlying rows."""
        return self.kernel.outliers

    @property
    def out_maps(self) -> Mapping[str, FeatureMap]:
        """Features that posterior probabilities are summed with, for every wider view."""
        return self.kernel.embedded_maps

    def of_codes(self, statistic: Statistic[Result]) -> CodedRows[Result]:
        """Return the statistic of the cells of rows."""
        return CodedRows(statistic, self.cells)

    def reestimated(self, sums: SequencePosteriorSumsResult, smoothing: float) -> KernelEmissions:
        """Return the densities of posterior sums; they need no pseudo-count."""
        del smoothing
        return KernelEmissions.of_sums(sums.emissions, self.kernel)

    def emissions(self, probabilities: NDArray[np.float64]) -> KernelEmissions:
        """Return the densities of states that are mixtures of cells.

        Parameters
        ----------
        probabilities : (k, cells) float64 array
            Of every cell in every state.
        """
        cells = np.maximum(self.sums.mass, np.finfo(np.float64).tiny)
        # every state is smoothed as if it had an equal part of the sample
        states = self.sums.weight / len(probabilities)
        shares = probabilities.T * (states / cells[:, None])
        histograms = self.sums.histograms
        mixed = replace(
            self.sums,
            mass=np.full(len(probabilities), states),
            histograms=None if histograms is None else histograms @ shares,
            embeddings={name: sums @ shares for name, sums in self.sums.embeddings.items()},
        )
        return KernelEmissions.of_sums(mixed, self.kernel)


class MeasuredSettings(Protocol):
    """Settings of a fit to measured rows."""

    @property
    def shape(self) -> DataShape:
        """Size, names and types of the data."""


def blank_cells(settings: MeasuredSettings, count: int) -> Cells:
    """Return cells of the right number and no meaning.

    Parameters
    ----------
    settings : MeasuredSettings
        Settings with the features.
    count : int
        Number of cells.
    """
    features = len(settings.shape.features)
    return Cells(np.zeros((count, features)), np.zeros(features), np.ones(features))


def prepare_densities(settings: KernelMixtureSettings, count: int) -> Script:
    """Ask for the pilot sample, and lay grids, landmarks and cells over it.

    Parameters
    ----------
    settings : KernelMixtureSettings
        Of the densities.
    count : int
        Largest number of cells.
    """
    kernel: KernelMixturePreparation = yield from kernel_script.prepare_from_sample(settings)
    yield Step("choosing the cells")
    sample = kernel.pilot
    assert sample is not None
    values = np.asarray(sample.values, np.float64)
    cells = cells_of_sample(values, count, settings.random_state)
    sums = sums_of_sample(sample, cells.codes(values), cells.count, kernel)
    return KernelPreparation(replace(kernel, pilot=None), cells, sums)


def cells_of_sample(values: NDArray[np.float64], count: int, random_state: int) -> Cells:
    """Return cells of k-means clusters in the range of nearly all rows.

    Parameters
    ----------
    values : (n, features) float64 array
        Sample of rows.
    count : int
        Largest number of cells.
    random_state : int
        Seed of the model.
    """
    low, high = np.quantile(values, [TAIL, 1 - TAIL], axis=0)
    # nearly all rows may share one value
    same = low == high
    low, high = np.where(same, values.min(axis=0), low), np.where(same, values.max(axis=0), high)
    # a constant feature divides no cells
    high = np.where(low == high, low + np.maximum(1, np.abs(low)), high)
    seed = purpose_seed(random_state, "cells")
    return Cells.of_sample(values, low, high, count, seed)
