"""Figures of samples as data, which `bigtensor.report` draws."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from bigtensor.array_types import FloatArray, IntArray

NOT_RECORDED = "not recorded"
"""Heading of samples without a group. A group may have the name none."""


@dataclass(frozen=True, eq=False)
class StackedBars:
    """A bar for every sample, the first on top, made of the shares of the populations.

    Attributes
    ----------
    alternative : str
        Description for readers who do not see the figure.
    shares : (samples, k) array
        Parts of one.
    sample_names, names : tuple of str
        Names of the samples and of the populations.
    sections : tuple of str
        Heading of every sample, such as its group. Samples of one heading follow each other. Empty
        without headings.
    section_label : str
        Name of the headings as a whole.
    """

    alternative: str
    shares: FloatArray
    sample_names: tuple[str, ...]
    names: tuple[str, ...]
    sections: tuple[str, ...] = ()
    section_label: str = ""

    kind: ClassVar[str] = "figure"


@dataclass(frozen=True, eq=False)
class SampleMap:
    """Samples as points, near each other where their compositions are alike.

    Attributes
    ----------
    alternative : str
        Description for readers who do not see the figure.
    coordinates : (samples, 2) array
        Places of the samples.
    explained : (2,) array
        Share of the sum of squares along each axis.
    sample_names : tuple of str
        Written beside the points.
    group : (samples,) int array
        Number of the group of every sample; -1 for none.
    group_names : tuple of str
        For the legend; none without groups.
    group_label : str
        Name of the groups as a whole.
    """

    alternative: str
    coordinates: FloatArray
    explained: FloatArray
    sample_names: tuple[str, ...]
    group: IntArray
    group_names: tuple[str, ...] = ()
    group_label: str = ""

    kind: ClassVar[str] = "figure"


@dataclass(frozen=True, eq=False)
class GroupedShares:
    """A panel for every population: the share in every sample, by group or along a number.

    Attributes
    ----------
    alternative : str
        Description for readers who do not see the figure.
    titles : tuple of str
        Headings of the k panels.
    shares, errors : (samples, k) arrays
        Parts of one, and their standard errors.
    places : (samples,) array
        Number of the group, or value of the number.
    group_names : tuple of str
        Names of the groups; none of a number.
    label : str
        Name of the groups or of the number.
    colours : tuple of int
        Number of the colour of every panel.
    """

    alternative: str
    titles: tuple[str, ...]
    shares: FloatArray
    errors: FloatArray
    places: FloatArray
    group_names: tuple[str, ...]
    label: str
    colours: tuple[int, ...]

    kind: ClassVar[str] = "figure"
