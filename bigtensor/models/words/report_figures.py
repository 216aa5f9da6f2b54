"""Figures of a report as data, which `bigtensor.report` draws.

Components, or populations, are numbered from 0. A figure shows each in the colour of its number.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from bigtensor.array_types import FloatArray
from bigtensor.decomposition.merging.merge_tree import MergeTree
from bigtensor.models.words.sample_figures import GroupedShares, SampleMap, StackedBars


@dataclass(frozen=True, eq=False)
class Bars:
    """A bar for every component, or population, the first on top.

    Attributes
    ----------
    alternative : str
        Description for readers who do not see the figure.
    values : (k,) array
        Parts of one, written as per cent.
    name : str
        Name of the kind of all bars, such as ``"component"``.
    label : str
        Name of the values.
    marks : (k,) array, optional
        Values to compare with, each shown as a line across the bar.
    mark_label : str
        Name of the marks.
    names : tuple of str
        Names of the bars. By default they have numbers.
    """

    alternative: str
    values: FloatArray
    name: str
    label: str
    marks: FloatArray | None = None
    mark_label: str = ""
    names: tuple[str, ...] = ()

    kind: ClassVar[str] = "figure"


@dataclass(frozen=True, eq=False)
class Heatmap:
    """A matrix as colours, with its numbers where there is room for them.

    Attributes
    ----------
    alternative : str
        Description for readers who do not see the figure.
    shades : (r, c) array
        Values that colours stand for.
    row_names, column_names : tuple of str
        Names of the rows, from above, and of the columns.
    label : str
        Name of the shades.
    limit : float
        Value with the strongest colour. Colours of `diverging` values run from low (blue) to high
        (red) between ``-limit`` and ``limit``, all others from 0 (white) to ``limit``.
    diverging : bool
        True for values on both sides of zero.
    numbers : (r, c) array, optional
        Numbers to write into the cells; by default the shades.
    row_axis, column_axis : str
        Names of the rows and of the columns as a whole.
    decimals : int, optional
        Digits after the point of all numbers. By default every row has the digits that it needs.
    """

    alternative: str
    shades: FloatArray
    row_names: tuple[str, ...]
    column_names: tuple[str, ...]
    label: str
    limit: float = 1.0
    diverging: bool = False
    numbers: FloatArray | None = None
    row_axis: str = ""
    column_axis: str = ""
    decimals: int | None = None

    kind: ClassVar[str] = "figure"


@dataclass(frozen=True, eq=False)
class ArcDiagram:
    """Members of a chain from above, with an arc for every pair that belongs together.

    Attributes
    ----------
    alternative : str
        Description for readers who do not see the figure.
    strengths : (n, n) array
        Symmetric, between 0 and 1. A pair of strength 0 has no arc; the diagonal is not looked at.
    names : tuple of str
        Of the members, in the order of the chain.
    label : str
        Name of the strengths.
    """

    alternative: str
    strengths: FloatArray
    names: tuple[str, ...]
    label: str

    kind: ClassVar[str] = "figure"


@dataclass(frozen=True, eq=False)
class DensityPlot:
    """Densities of one feature by component, or population: weighted, and at equal height.

    Attributes
    ----------
    alternative : str
        Description for readers who do not see the figure.
    title : str
        Name of the feature.
    points : (g,) array
        Ascending.
    density : (g, k) array
        Density of every component, or population, at the points.
    weights : (k,) array
        Mixing weights.
    values : (n,) array, optional
        The feature in a sample of the data, shown as a histogram behind the densities.
    value_weights : (n,) array, optional
        Sample weights.
    bitmap : bool
        True for one of so many figures that drawings would make the page large.
    names : tuple of str
        Names of the components, or populations. By default they have numbers.
    """

    alternative: str
    title: str
    points: FloatArray
    density: FloatArray
    weights: FloatArray
    values: NDArray[Any] | None = None
    value_weights: FloatArray | None = None
    bitmap: bool = False
    names: tuple[str, ...] = ()

    kind: ClassVar[str] = "figure"


@dataclass(frozen=True, eq=False)
class Scatter:
    """Rows in two features, coloured by label.

    Attributes
    ----------
    alternative : str
        Description for readers who do not see the figure.
    x, y : (n,) arrays
        Values of the two features.
    label : (n,) int array
        Component or population of every row; -1 for none.
    n_labels : int
        Number of components or populations.
    names : tuple of two str
        Names of the features.
    label_names : tuple of str
        Names of the labels, which stand in place of their numbers.
    legend : bool
        True if names stand in a legend, and not at the medians of the labels.
    """

    alternative: str
    x: NDArray[Any]
    y: NDArray[Any]
    label: NDArray[np.int64]
    n_labels: int
    names: tuple[str, str]
    label_names: tuple[str, ...] = ()
    legend: bool = False

    kind: ClassVar[str] = "figure"


@dataclass(frozen=True, eq=False)
class ConditionalPlot:
    """Median and interval of one feature given another one, over rows of the data.

    Attributes
    ----------
    alternative : str
        Description for readers who do not see the figure.
    condition : (g,) array
        Values of the conditioning feature, ascending.
    median, lower, upper : (g,) arrays
        Median of the other feature, and the ends of its interval.
    names : tuple of two str
        Names of the conditioning feature and of the other one.
    categorical : bool
        True if the conditioning values are categories, each with an interval of its own.
    x, y : (n,) arrays
        Rows of the data in both features; none are needed.
    """

    alternative: str
    condition: FloatArray
    median: FloatArray
    lower: FloatArray
    upper: FloatArray
    names: tuple[str, str]
    categorical: bool
    x: FloatArray
    y: FloatArray

    kind: ClassVar[str] = "figure"


@dataclass(frozen=True, eq=False)
class TreePlot:
    """Components merged into populations, over a heatmap of the components.

    Attributes
    ----------
    alternative : str
        Description for readers who do not see the figure.
    tree : MergeTree
        Of k components.
    of_component : (k,) integer array
        The population of every component.
    leaves : Heatmap
        One column for every component, in the order of their numbers.
    ranked : bool
        True if the heights of the tree have no meaning of their own. Merges are then drawn at the
        number of populations that they leave.
    """

    alternative: str
    tree: MergeTree
    of_component: NDArray[np.intp]
    leaves: Heatmap
    ranked: bool = False

    kind: ClassVar[str] = "figure"


@dataclass(frozen=True, eq=False)
class Curve:
    """Points, joined by a line.

    Attributes
    ----------
    x, y : (n,) array-like
        Coordinates of the points.
    name : str
        In the legend; none without a name.
    colour : int, optional
        Number of a colour; None is the colour of the text.
    dashed : bool
        True for a dashed line.
    marker : float
        Size of the marks at the points; 0 for none.
    hollow_from : int, optional
        First of the points whose marks are hollow.
    """

    x: Any
    y: Any
    name: str = ""
    colour: int | None = 0
    dashed: bool = False
    marker: float = 0.0
    hollow_from: int | None = None


@dataclass(frozen=True)
class Rule:
    """A line across a panel.

    Attributes
    ----------
    at : float
        Position on the axis that the line crosses.
    name : str
        In the legend; none without a name.
    upright : bool, default True
        Dotted, at a value of x; else dashed, at a value of y.
    """

    at: float
    name: str = ""
    upright: bool = True


@dataclass(frozen=True, eq=False)
class Panel:
    """Curves over one pair of axes.

    Attributes
    ----------
    items : tuple of Curve and Rule
        Later ones cover earlier ones.
    title, x_label, y_label : str
        Heading of the panel, and names of its axes.
    logarithmic : bool
        Of the upright axis.
    x_limits, y_limits : tuple of two float, optional
        Ends of the axes; by default they follow the curves.
    share : float
        Part of the height of the figure, in proportion to those of other panels.
    """

    items: tuple[Curve | Rule, ...]
    title: str = ""
    x_label: str = ""
    y_label: str = ""
    logarithmic: bool = False
    x_limits: tuple[float, float] | None = None
    y_limits: tuple[float, float] | None = None
    share: float = 1.0


@dataclass(frozen=True, eq=False)
class Curves:
    """Curves in one panel, or in several that share the horizontal axis.

    Attributes
    ----------
    alternative : str
        Description for readers who do not see the figure.
    panels : tuple of Panel
        From above.
    legend_columns : int
        Number of columns of the legend.
    """

    alternative: str
    panels: tuple[Panel, ...]
    legend_columns: int = 1

    kind: ClassVar[str] = "figure"


@dataclass(frozen=True, eq=False)
class Histograms:
    """A histogram of numbers between 0 and 1 for every label, all equally high.

    Attributes
    ----------
    alternative : str
        Description for readers who do not see the figure.
    label : (n,) int array
        Rows with -1 are left out.
    values, weight : (n,) arrays
        Numbers and sample weights of the rows.
    n_labels : int
        Number of components or populations.
    name : str
        Name of the kind of all labels, such as ``"component"``.
    value_label : str
        Name of the numbers.
    names : tuple of str
        Names of the labels. By default they have numbers.
    """

    alternative: str
    label: NDArray[np.int64]
    values: FloatArray
    weight: FloatArray
    n_labels: int
    name: str
    value_label: str
    names: tuple[str, ...] = ()

    kind: ClassVar[str] = "figure"


@dataclass(frozen=True, eq=False)
class ReliabilityDiagram:
    """Confidence against the share of right answers, in bins of equal width from 0 to 1.

    Attributes
    ----------
    alternative : str
        Description for readers who do not see the figure.
    counts : (bins,) int64 array
        Rows.
    confidence, share_right : (bins,) float64 array
        Means of the rows of the bin, not a number for empty bins.
    calibration_error : float
        Expected calibration error.
    """

    alternative: str
    counts: NDArray[np.int64]
    confidence: FloatArray
    share_right: FloatArray
    calibration_error: float

    kind: ClassVar[str] = "figure"


@dataclass(frozen=True, eq=False)
class StateStrip:
    """States along the rows: shares of all rows in columns, and the first rows one by one.

    Attributes
    ----------
    alternative : str
        Description for readers who do not see the figure.
    shares : (columns, k) array
        Shares of the states; zeros where all rows were left out.
    first : (m,) int array
        States of the first rows; -1 for none.
    begins : (m,) bool array
        True for the first row of a sequence.
    """

    alternative: str
    shares: FloatArray
    first: NDArray[np.int64]
    begins: NDArray[np.bool_]

    kind: ClassVar[str] = "figure"


Figure = (
    Bars
    | Heatmap
    | ArcDiagram
    | DensityPlot
    | Scatter
    | ConditionalPlot
    | TreePlot
    | Curves
    | Histograms
    | ReliabilityDiagram
    | StateStrip
    | StackedBars
    | SampleMap
    | GroupedShares
)
"""A figure that a report can draw."""
