"""Figures for the documentation, from the files of the benchmarks.

``python -m tests.benchmarks.accuracy --only error-against-m recovered-densities --out drawn.json``
``python -m tests.benchmarks.figures --from drawn.json --out docs/figures``

The errors of discrete mixtures, hidden Markov models and linear mixtures are drawn from ``--only
growth`` of ``python -m tests.benchmarks.discrete``, ``.hidden_markov`` and ``.linear_mixture``.
Only what a file holds is drawn.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bigtensor.report.style import FAINT, INK, MUTED, report_style
from tests.benchmarks.accuracy.drawn import EXAMPLE, GROWTH
from tests.benchmarks.accuracy.methods import (
    EM,
    HISTOGRAM,
    KMEANS,
    LABELLED,
    NPEM,
    NPEM_POOLED,
    SPECTRAL,
)
from tests.benchmarks.discrete import accuracy as discrete
from tests.benchmarks.discrete import methods as discrete_methods
from tests.benchmarks.hidden_markov import growth as markov
from tests.benchmarks.hidden_markov import triples
from tests.benchmarks.linear_mixture import growth as linear_mixture

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Tables = Mapping[str, Any]

NAMES = {
    LABELLED: "kernel densities that know the labels",
    SPECTRAL: "bigtensor, spectral start",
    KMEANS: "bigtensor, k-means start",
    NPEM: "npEM, a width for every component",
    NPEM_POOLED: "npEM, one width a view",
    HISTOGRAM: "spectral, histograms",
    EM: "Gaussian EM",
}

# several methods give nearly the same error: the widest line lies below, the narrowest on top
LINES: dict[str, dict[str, Any]] = {
    LABELLED: {"color": FAINT, "linewidth": 7.0, "solid_capstyle": "round"},
    SPECTRAL: {"color": "#0072B2", "linewidth": 2.6, "marker": "o", "markersize": 6.5},
    KMEANS: {
        "color": "#56B4E9",
        "linewidth": 1.2,
        "marker": "s",
        "markersize": 3.2,
        "linestyle": "--",
    },
    NPEM: {"color": INK, "linewidth": 1.0, "linestyle": ":", "marker": "+", "markersize": 5.0},
    NPEM_POOLED: {"color": "#009E73", "linewidth": 1.4, "marker": "^", "markersize": 4.5},
    HISTOGRAM: {"color": "#CC79A7", "linewidth": 1.4, "marker": "D", "markersize": 3.8},
    EM: {"color": "#D55E00", "linewidth": 1.8, "marker": "v", "markersize": 5.0},
}

DISCRETE_LINES: dict[str, dict[str, Any]] = {
    discrete_methods.EM_TRUTH: {"color": FAINT, "linewidth": 7.0, "solid_capstyle": "round"},
    discrete_methods.EX: {"color": "#0072B2", "linewidth": 2.6, "marker": "o", "markersize": 6.5},
    discrete_methods.SVD_JOINT: {"color": "#CC79A7", "linewidth": 1.2, "marker": "D"},
    discrete_methods.SVD: {"color": "#CC79A7", "linewidth": 1.2, "linestyle": ":", "marker": "d"},
    discrete_methods.EX_LITERAL: {"color": "#56B4E9", "linewidth": 1.2, "marker": "s"},
    discrete_methods.EM_LOOSE: {"color": "#D55E00", "linewidth": 1.2, "marker": "v"},
    discrete_methods.EM_TIGHT: {"color": INK, "linewidth": 1.0, "linestyle": ":", "marker": "+"},
    discrete_methods.EM_MAP: {"color": "#009E73", "linewidth": 1.4, "marker": "^"},
}
"""Methods of the figure of discrete mixtures, widest line first."""

DISCRETE_NAMES = {
    discrete_methods.EM_TRUTH: "EM from the true parameters",
    discrete_methods.EX: "bigtensor",
    discrete_methods.SVD_JOINT: "spectral, joint diagonalisation",
    discrete_methods.SVD: "spectral, one combination of slices",
    discrete_methods.EX_LITERAL: "exterior point as published",
    discrete_methods.EM_LOOSE: "EM, ten starts, to 1e-4",
    discrete_methods.EM_TIGHT: "EM, ten starts, to 1e-7",
    discrete_methods.EM_MAP: "EM, ten starts, half a count added",
}

MARKOV_LINES: dict[str, dict[str, Any]] = {
    triples.OURS: {"color": "#0072B2", "linewidth": 2.6, "marker": "o", "markersize": 6.5},
    triples.EM_LOOSE: {"color": "#D55E00", "linewidth": 1.4, "marker": "v"},
    triples.EM_TIGHT: {"color": INK, "linewidth": 1.0, "linestyle": ":", "marker": "+"},
    markov.EM_ONE: {"color": "#E69F00", "linewidth": 1.2, "linestyle": "--", "marker": "^"},
    markov.SPECTRAL: {"color": "#CC79A7", "linewidth": 1.2, "linestyle": ":", "marker": "D"},
}
"""Methods of the figure of hidden Markov models, widest line first."""

MARKOV_NAMES = {
    triples.OURS: "bigtensor",
    triples.EM_LOOSE: "EM, best of ten starts, to 1e-4",
    triples.EM_TIGHT: "EM, best of ten starts, to 1e-7",
    markov.EM_ONE: "EM, one start, to 1e-4",
    markov.SPECTRAL: "spectral alone",
}

LINEAR_LINES: dict[str, dict[str, Any]] = {
    linear_mixture.ORACLE: {"color": FAINT, "linewidth": 7.0, "solid_capstyle": "round"},
    linear_mixture.DEFAULT: {"color": "#0072B2", "linewidth": 2.6, "marker": "o"},
    linear_mixture.MOMENTS: {"color": "#56B4E9", "linewidth": 1.2, "marker": "s"},
    linear_mixture.SWEEPS: {"color": "#009E73", "linewidth": 1.4, "marker": "^"},
    linear_mixture.POWER: {"color": "#D55E00", "linewidth": 1.8, "marker": "v"},
}
"""Methods of the figure of linear mixtures, widest line first."""

LINEAR_NAMES = {
    linear_mixture.ORACLE: "means of true labels",
    linear_mixture.DEFAULT: "bigtensor",
    linear_mixture.MOMENTS: "bigtensor, moments alone",
    linear_mixture.SWEEPS: "joint least squares, full passes",
    linear_mixture.POWER: "power updates as published",
}

KINDS = {"gaussian": "Gaussian components", "gamma": "Gaussian and Gamma components"}

ERROR_TICKS = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5)


def error_against_rows(tables: Tables) -> Figure:
    """Draw the median error of every method against the number of rows, on logarithmic axes.

    One panel a family of components, with the quartiles of the data sets as a band.
    """
    from matplotlib.figure import Figure

    growth = {title: table["rows"] for title, table in tables.items() if title.startswith(GROWTH)}
    if not growth:
        raise SystemExit("the file has no growth: run the benchmark with --only error-against-m")
    with report_style():
        figure = Figure(figsize=(8.2, 4.6), layout="constrained")
        panels = figure.subplots(1, len(growth), sharey=True, squeeze=False)[0]
        for axes, (title, rows) in zip(panels, growth.items(), strict=True):
            _draw_growth(axes, rows)
            family, components = title.removeprefix(f"{GROWTH}, ").split(", ")
            axes.set_title(f"{KINDS[family]}, {components}")
        panels[0].set_ylabel("error of the densities")
        handles, labels = panels[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=3)
    return figure


def _draw_growth(axes: Axes, rows: Sequence[Mapping[str, Any]]) -> None:
    """Draw one panel."""
    by_quartile = {
        name: [row for row in rows if row["of sets"] == name]
        for name in ("lower quartile", "median", "upper quartile")
    }
    sizes = [row["rows"] for row in by_quartile["median"]]
    for method in (name for name in NAMES if name in rows[0]):
        lower, middle, upper = (
            np.array([row[method] for row in part]) for part in by_quartile.values()
        )
        axes.plot(sizes, middle, label=NAMES[method], **LINES[method])
        if method != LABELLED:
            axes.fill_between(sizes, lower, upper, color=LINES[method]["color"], alpha=0.13, lw=0)
    _logarithmic(axes, sizes)


def _logarithmic(axes: Axes, sizes: Sequence[int]) -> None:
    """Make both axes logarithmic, with the numbers of rows as ticks."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullFormatter, NullLocator

    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("rows")
    axes.set_xticks(sizes)
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: _short(value)))
    axes.yaxis.set_major_locator(FixedLocator(ERROR_TICKS))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.grid(axis="y", color=FAINT, linewidth=0.5)
    axes.set_axisbelow(True)


def _short(rows: float) -> str:
    """Return a number of rows in few letters."""
    if rows < 1e6:
        return f"{rows:g}" if rows < 1000 else f"{rows / 1000:g}k"
    return f"{rows / 1e6:g}M"


def recovered_densities(tables: Tables) -> Figure:
    """Draw estimated densities of a Gaussian and a Gamma component over the true ones."""
    from matplotlib.figure import Figure

    curves = next((t["curves"] for title, t in tables.items() if title.startswith(EXAMPLE)), None)
    if curves is None:
        raise SystemExit("the file has no example: run with --only recovered-densities")
    with report_style():
        figure = Figure(figsize=(8.2, 3.1), layout="constrained")
        panels = figure.subplots(1, len(curves), squeeze=False)[0]
        for view, (axes, parts) in enumerate(zip(panels, curves, strict=True)):
            _draw_densities(axes, parts)
            axes.set_title(f"view {view + 1}")
        panels[0].set_ylabel("density given the component")
        handles, labels = panels[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=3)
    return figure


def _draw_densities(axes: Axes, parts: Mapping[str, Any]) -> None:
    """Draw one view: true densities as areas, estimated ones as lines."""
    curves = np.array([parts[name] for name in ("truth", EM, SPECTRAL)])
    highest = curves.max(axis=(0, 2))
    shown = highest > 5e-3 * highest.max()
    grid, (truth, em, ours) = np.array(parts["grid"])[shown], curves[:, shown]
    axes.fill_between(grid, 0, truth[:, 0], color=FAINT, lw=0, label="truth")
    axes.fill_between(grid, 0, truth[:, 1], color=MUTED, alpha=0.45, lw=0)
    for values, method, style in ((em, EM, "--"), (ours, SPECTRAL, "-")):
        color = LINES[method]["color"]
        lines = axes.plot(grid, values, color=color, linestyle=style, linewidth=1.5)
        lines[0].set_label(NAMES[method])
    axes.set_xlim(grid[0], grid[-1])
    axes.set_ylim(0)


def discrete_error_against_rows(tables: Tables) -> Figure:
    """Draw the mean error of the joint table against the number of rows, a panel a mixture."""
    return _error_panels(tables, discrete.GROWTH, DISCRETE_LINES, DISCRETE_NAMES)


def markov_error_against_triples(tables: Tables) -> Figure:
    """Draw the mean error of the table of triples against their number, a panel a model."""
    figure = _error_panels(tables, markov.GROWTH, MARKOV_LINES, MARKOV_NAMES)
    for axes in figure.axes:
        axes.set_xlabel("triples")
    figure.axes[0].set_ylabel("error of the table of triples")
    return figure


def linear_mixture_error(tables: Tables) -> Figure:
    """Draw errors of columns against the number of passes, and against the number of rows."""
    from matplotlib.figure import Figure

    found = {title.split(",")[0]: table["rows"] for title, table in tables.items()}
    with report_style():
        figure = Figure(figsize=(8.2, 4.0), layout="constrained")
        passes, rows = figure.subplots(1, 2, sharey=True)
        of_passes, of_rows = found[linear_mixture.PASSES], found[linear_mixture.ROWS]
        sizes = [row["rows"] for row in of_rows]
        for method, style in LINEAR_LINES.items():
            line = {"label": LINEAR_NAMES[method], "markersize": 4} | style
            reached = [row for row in of_passes if row["method"] == method]
            if reached:
                counts = [row["passes"] for row in reached]
                passes.plot(counts, [row["error"] for row in reached], **line)
            if method in of_rows[0]:
                rows.plot(sizes, [row[method] for row in of_rows], **line)
        _logarithmic(passes, [1, 3, 10, 30, 60])
        _logarithmic(rows, sizes)
        passes.set_xlabel("passes over all rows")
        passes.set_ylabel("error of the columns")
        by_label = {
            label: handle
            for axes in (passes, rows)
            for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)
        }
        figure.legend(by_label.values(), by_label.keys(), loc="outside lower center", ncols=3)
    return figure


def _error_panels(
    tables: Tables, beginning: str, lines: Mapping[str, dict[str, Any]], names: Mapping[str, str]
) -> Figure:
    """Draw the errors of several methods, a panel a table."""
    from matplotlib.figure import Figure

    growth = {
        title: table["rows"]
        for title, table in tables.items()
        if title.startswith(beginning) and "ratio" not in title
    }
    if not growth:
        raise SystemExit(f"the file has no table {beginning!r}: run the benchmark, --only growth")
    with report_style():
        figure = Figure(figsize=(8.2, 4.6), layout="constrained")
        panels = figure.subplots(1, len(growth), sharey=True, squeeze=False)[0]
        for axes, (title, rows) in zip(panels, growth.items(), strict=True):
            sizes = [row["rows"] for row in rows]
            for method, style in lines.items():
                errors = [row[method] for row in rows]
                axes.plot(sizes, errors, label=names[method], **{"markersize": 4} | style)
            _logarithmic(axes, sizes)
            axes.set_title(title.removeprefix(f"{beginning}, "))
        panels[0].set_ylabel("error of the joint table")
        handles, labels = panels[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=3)
    return figure


FIGURES: dict[str, tuple[str, Callable[[Tables], Figure]]] = {
    "error-against-rows": (GROWTH, error_against_rows),
    "recovered-densities": (EXAMPLE, recovered_densities),
    "discrete-error-against-rows": (discrete.GROWTH, discrete_error_against_rows),
    "markov-error-against-triples": (markov.GROWTH, markov_error_against_triples),
    "linear-mixture-error": (linear_mixture.PASSES, linear_mixture_error),
}
"""Name of a figure to the beginning of the titles of its tables, and what draws it."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Write every figure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--from", dest="source", type=Path, required=True, help="JSON file to read")
    parser.add_argument("--out", type=Path, required=True, help="folder to write to")
    parser.add_argument("--format", choices=("svg", "png"), default="svg")
    options = parser.parse_args(arguments)
    tables = json.loads(options.source.read_text())["tables"]
    options.out.mkdir(parents=True, exist_ok=True)
    for name, (beginning, draw) in FIGURES.items():
        if not any(title.startswith(beginning) for title in tables):
            continue
        path = options.out / f"{name}.{options.format}"
        figure = draw(tables)
        save(figure, path)
        print(f"{path}: {path.stat().st_size / 1000:.0f} kB")
    return 0


def save(figure: Figure, path: Path) -> None:
    """Write a figure, without the time at which it was drawn."""
    unstamped = {"Date": None, "Creator": None} if path.suffix == ".svg" else None
    with report_style():
        figure.savefig(path, metadata=unstamped, facecolor="white")


if __name__ == "__main__":
    raise SystemExit(main())
