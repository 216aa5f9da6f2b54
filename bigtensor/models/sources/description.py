"""Description of sources: verdict, picture of their columns, table of their kurtosis."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import Any, ClassVar, Protocol, TypeVar

import numpy as np

from bigtensor.array_types import FloatArray
from bigtensor.descending_order import largest_in_place
from bigtensor.models.answers.transform import (
    DescribedTransform,
    FittedTransform,
    TransformDescription,
)
from bigtensor.models.sources.signal_section import signal_sections
from bigtensor.models.words.faults import verdict_notice
from bigtensor.models.words.report_blocks import Cell, ReportParts, Section, Table, Words
from bigtensor.models.words.report_figures import Heatmap
from bigtensor.models.words.sampled_rows import SampledRows

MOST_LINES = 60
"""Features, and sources, that a picture shows."""

_FEW = 6


class FittedSources(FittedTransform, Protocol):
    """Solution of a model of sources."""

    @property
    def correlations(self) -> FloatArray:
        """Correlation of every feature with every source, (d, k)."""


class DescribedSources(DescribedTransform, Protocol):
    """Attributes of any model of sources that a description uses."""

    kurtosis_: FloatArray

    @property
    def solution_(self) -> FittedSources:
        """Result of the fit."""


Sources = TypeVar("Sources", bound=DescribedSources, contravariant=True)
"""Fitted model of sources with the attributes that a description uses."""


class SourceDescription(TransformDescription[Sources]):
    """Facts and words on fitted sources, and the picture of their columns."""

    variance_words: ClassVar[str] = (
        "The variance is the share that a source explains of the standardised features."
    )

    @abstractmethod
    def method_in_words(self, model: Sources) -> Iterator[str]:
        """Return sentences on how a model was fitted."""

    def facts(self, model: Sources) -> dict[str, Any]:
        """Return facts as JSON holds them."""
        facts = super().facts(model)
        if model.__sklearn_is_fitted__():
            facts["kurtosis"] = model.kurtosis_.tolist()
            facts["verdict"] = model.diagnostics_["verdict"]
        return facts

    def variance_shares(self, model: Sources) -> FloatArray:
        """Return the share of the variance that every source explains, ``(k,)``."""
        return np.asarray(np.square(model.solution_.correlations).mean(axis=0))

    def report(self, model: Sources, rows: SampledRows | None) -> ReportParts:
        """Return notices, sentences and sections of the report."""
        signals = [] if rows is None else signal_sections(model.solution_, rows)
        return ReportParts(
            notices=(verdict_notice(model.diagnostics_["verdict"]),),
            headline=(("sources", str(len(model.kurtosis_))),),
            method=tuple(self.method_in_words(model)),
            sections=(
                *signals,
                columns_section(model),
                kurtosis_section(model, self.variance_shares(model), self.variance_words),
            ),
        )


def largest_kurtosis(model: DescribedSources) -> str:
    """Return the first values of the kurtosis."""
    first = ", ".join(f"{value:.2f}" for value in model.kurtosis_[:_FEW])
    return first + (", ..." if len(model.kurtosis_) > _FEW else "")


def columns_section(model: DescribedSources) -> Section:
    """Return the picture of the mixing columns."""
    table = model.solution_.correlations[:, :MOST_LINES]
    names = model.views_.feature_names
    chosen = largest_in_place(np.abs(table).max(axis=1), MOST_LINES)
    words = (
        "Correlation of every feature with every source. A source shows most in the features with "
        "strong colours. The sign of a source is arbitrary."
    )
    if len(chosen) < len(names):
        words += f" Shown are {len(chosen)} of {len(names):,} features, with the largest values."
    if table.shape[1] < len(model.kurtosis_):
        words += f" Shown are the first {table.shape[1]} of {len(model.kurtosis_):,} sources."
    heatmap = Heatmap(
        "Correlation of features and sources",
        table[chosen],
        tuple(names[line] for line in chosen),
        tuple(str(source) for source in range(table.shape[1])),
        "correlation",
        1.0,
        diverging=True,
        column_axis="source",
        decimals=2,
    )
    return Section("mixing", "Mixing of the sources", (Words(words), heatmap), "Mixing")


def kurtosis_section(model: DescribedSources, shares: FloatArray, variance_words: str) -> Section:
    """Return the table of the kurtosis of every source, and of the variance that it explains.

    Parameters
    ----------
    model : fitted model
        Fitted model with the kurtosis of its sources.
    shares : (k,) array
        Of the variance.
    variance_words : str
        Sentence on them.
    """
    cells = tuple(
        (Cell(str(source)), Cell(f"{kurtosis:.3f}"), Cell(f"{100 * share:.1f} %"))
        for source, (kurtosis, share) in enumerate(zip(model.kurtosis_, shares, strict=True))
    )
    words = (
        "Excess kurtosis is 0 for a Gaussian source, positive for one with heavier tails and "
        "negative for one with lighter tails. " + variance_words
    )
    table = Table(("source", "kurtosis", "variance"), cells)
    return Section("kurtosis", "Shape and size of the sources", (Words(words), table), "Shape")
