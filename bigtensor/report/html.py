"""The report as one HTML file that needs nothing else: no network, no script, no other file."""

from __future__ import annotations

import json
import os
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from bigtensor._version import __version__
from bigtensor.errors import MissingDependencyError, OutputError, ParameterError
from bigtensor.report import figures, summary, tables
from bigtensor.report.pairs import choose_pairs
from bigtensor.report.profiles import (
    FeatureProfile,
    feature_profiles,
    overlaps,
    standardised_means,
)
from bigtensor.report.rows import ReportRows, read_rows
from bigtensor.report.style import data_uri, palette, require_matplotlib

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FloatArray = NDArray[np.float64]

LARGEST_DRAWING = 400
"""Features times components up to which densities are drawings; above, smaller bitmaps."""


@dataclass(frozen=True)
class Picture:
    """A figure in the page.

    Attributes
    ----------
    source : str
        A data URI.
    alternative : str
        What the figure shows, for readers who do not see it.
    """

    source: str
    alternative: str


@dataclass(frozen=True, eq=False)
class _Findings:
    """What is computed once for all parts of the page."""

    model: Any
    weights: FloatArray
    profiles: tuple[FeatureProfile, ...]
    standardised: FloatArray
    overlap: FloatArray
    rows: ReportRows | None

    @property
    def features(self) -> list[str]:
        """The names of the features."""
        return [profile.feature for profile in self.profiles]


def write_report(
    model: Any,
    path: str | os.PathLike[str],
    *,
    data: Any = None,
    labels: Any = None,
    sample_size: int = 20_000,
    overwrite: bool = False,
) -> Path:
    """Write a report on a fitted model as one HTML file.

    The file holds its figures and styles, has no script, and forbids the browser to load anything
    from elsewhere. It says what was fitted on what, and shows the weights, the means and densities
    of all features, diagnostics and warnings in words. With data it also shows populations in
    pairs of features, and how they match what else is known of the rows: their true labels
    (variable ``label``) and the sample that they come from (``sample_id``). The same model and
    data give the same file.

    Parameters
    ----------
    model : fitted model
    path : path
        The file to make; it appears under this name when it is whole.
    data : path, xarray Dataset or DataArray, or (rows, features) array, optional
        The data of the fit, or others with the same features; only a sample is read.
    labels : path, xarray Dataset or DataArray, or (rows,) array, optional
        The component of every row of the data (variable ``label``), as ``model.write`` and
        ``bigtensor predict`` make them. Without it the model labels the sample.
    sample_size : int, default 20,000
        Rows to read at most, in up to 64 windows spread evenly over the data.
    overwrite : bool, default False
        Replace a file of this name.

    Returns
    -------
    Path

    Raises
    ------
    MissingDependencyError
        Without matplotlib or jinja2.
    sklearn.exceptions.NotFittedError
        If the model is not fitted.
    ParameterError
        When labels are given without data, or `sample_size` is less than 1.
    StoreReadError, LayoutError, DataError, ViewError
        When data or labels cannot be read, or do not belong to the model.
    OutputError
        When the file exists, its folder does not, or the disk refuses.
    """
    require_matplotlib()
    target = Path(path)
    _check_target(target, overwrite=overwrite)
    page = render_report(model, data=data, labels=labels, sample_size=sample_size)
    _write_whole(target, page)
    return target


def render_report(
    model: Any, *, data: Any = None, labels: Any = None, sample_size: int = 20_000
) -> str:
    """Return the page that `write_report` writes.

    Parameters
    ----------
    model, data, labels, sample_size
        As for `write_report`.

    Returns
    -------
    str
    """
    check_is_fitted(model, "weights_")
    if data is None and labels is not None:
        raise ParameterError("labels were given without data; give the data that they belong to")
    weights = np.asarray(model.weights_, np.float64)
    profiles = feature_profiles(model)
    rows = None if data is None else read_rows(model, data, labels, sample_size)
    findings = _Findings(
        model,
        weights,
        profiles,
        standardised_means(profiles, weights),
        overlaps(model, profiles),
        rows,
    )
    page: str = _template().render(
        version=__version__,
        kind=type(model).__name__,
        colours=palette(len(weights)),
        features=findings.features,
        **_words(findings),
        **_tables(findings),
        **_pictures(findings),
    )
    return page


def _words(findings: _Findings) -> dict[str, Any]:
    """Return the sentences and figures of the page's head."""
    found = findings.model.diagnostics_
    notices = summary.fit_notices(findings.model, findings.overlap)
    if findings.rows is not None:
        notices += summary.row_notices(findings.rows, findings.weights)
    return {
        "data_name": found["data"],
        "headline": [
            ("rows", f"{found['rows']:,}"),
            ("features", str(len(findings.profiles))),
            ("components", str(len(findings.weights))),
            ("passes", str(len(found["passes"]))),
            ("mean log-likelihood", f"{found['mean_log_likelihood'][-1]:.4f}"),
        ],
        "fit_sentences": summary.fit_sentences(findings.model),
        "notices": summary.warnings_first(notices),
        "sample_sentence": None
        if findings.rows is None
        else summary.sample_sentence(findings.rows),
        "diagnostics": json.dumps(found, indent=2, ensure_ascii=False, default=str),
    }


def _tables(findings: _Findings) -> dict[str, Any]:
    """Return the tables of the page."""
    model, rows, k = findings.model, findings.rows, len(findings.weights)
    found = model.diagnostics_
    truth, samples = (None, None) if rows is None else (rows.truth, rows.sample_id)
    matched = truth and rows and tables.agreement(rows.label, truth, k)
    return {
        "components": tables.component_rows(
            findings.weights, findings.standardised, findings.features, findings.overlap, rows
        ),
        "agreement": tables.agreement_table(matched) if matched else None,
        "composition": tables.composition_table(rows.label, samples, k)
        if rows and samples
        else None,
        "passes": tables.pass_table(found["passes"]),
        "parameters": tables.parameter_table(model.get_params(deep=False)),
        "conditioning": tables.conditioning_table(found["spectral"], found["groups"])
        if "spectral" in found
        else None,
    }


def _pictures(findings: _Findings) -> dict[str, Any]:
    """Draw the figures of the page."""
    found, rows, k = findings.model.diagnostics_, findings.rows, len(findings.weights)
    means = np.stack([profile.mean for profile in findings.profiles])
    shares = None if rows is None else rows.shares(k)
    spectral = found.get("spectral")
    names = [", ".join(members) for members in found.get("groups", [])]
    return {
        "weight_picture": _picture(
            figures.weight_bars(findings.weights, shares), "Mixing weights of all components"
        ),
        "mean_picture": _picture(
            figures.mean_heatmap(findings.standardised, means, findings.features, findings.weights),
            "Mean of every feature in every component",
        ),
        "density_pictures": _density_pictures(findings),
        "pair_pictures": [] if rows is None else _pair_pictures(findings, rows),
        "spectrum_picture": _picture(
            figures.spectrum(spectral["singular_values"], k, names),
            "Singular values of the pair moments of the groups of views",
        )
        if spectral
        else None,
        "likelihood_picture": _picture(
            figures.likelihood_by_pass(found["mean_log_likelihood"]),
            "Mean log-likelihood by posterior pass",
        ),
    }


def _density_pictures(findings: _Findings) -> list[Picture]:
    """Draw the densities of every feature."""
    drawn = len(findings.profiles) * len(findings.weights) <= LARGEST_DRAWING
    rows = findings.rows
    return [
        _picture(
            figures.feature_densities(
                profile,
                findings.weights,
                None if rows is None else rows.values[:, column],
                None if rows is None else rows.weight,
            ),
            f"Densities of {profile.feature} by component",
            "svg" if drawn else "png",
        )
        for column, profile in enumerate(findings.profiles)
    ]


def _pair_pictures(findings: _Findings, rows: ReportRows) -> list[Picture]:
    """Draw the populations in the pairs of features that tell most."""
    pairs = choose_pairs(findings.profiles, findings.weights)
    names = findings.features
    return [
        _picture(
            figures.population_scatter(
                rows.values[:, i],
                rows.values[:, j],
                rows.label,
                len(findings.weights),
                (names[i], names[j]),
            ),
            f"Populations in {names[i]} and {names[j]}",
            "png",
        )
        for i, j in pairs
    ]


def _picture(figure: Figure, alternative: str, kind: Literal["svg", "png"] = "svg") -> Picture:
    """Put a figure into the page."""
    return Picture(data_uri(figure, kind), alternative)


def _template() -> Any:
    """Return the page's template; everything put into it is escaped."""
    try:
        import jinja2
    except ImportError as error:
        raise MissingDependencyError(
            "the report needs jinja2, which is not installed; pip install 'bigtensor[report]'"
        ) from error
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("bigtensor.report"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("report.html.jinja")


def _check_target(target: Path, *, overwrite: bool) -> None:
    """Refuse a file that cannot be made, before any work is done."""
    if not target.parent.is_dir():
        raise OutputError(f"the folder {target.parent} does not exist; make it first")
    if target.is_dir():
        raise OutputError(f"{target} is a folder; give the name of a file, such as report.html")
    if target.exists() and not overwrite:
        raise OutputError(f"{target} exists already; choose another name or allow overwriting")


def _write_whole(target: Path, page: str) -> None:
    """Write under a temporary name, and give the file its name when it is whole."""
    partial = target.with_name(f"{target.name}.partial-{secrets.token_hex(4)}")
    try:
        partial.write_text(page, encoding="utf-8")
        partial.replace(target)
    except OSError as error:
        raise OutputError(
            f"could not write {target}: {error}; check that its folder is writable and has free "
            "space"
        ) from error
    finally:
        partial.unlink(missing_ok=True)
