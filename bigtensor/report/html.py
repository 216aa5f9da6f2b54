"""The report as one HTML file that needs nothing else: no network, no script, no other file."""

from __future__ import annotations

import json
import os
import secrets
from pathlib import Path
from typing import Any

from sklearn.utils.validation import check_is_fitted

from bigtensor._version import __version__
from bigtensor.data.targets import check_target_file
from bigtensor.errors import MissingDependencyError, OutputError, ParameterError
from bigtensor.report import diagnostic_tables, summary, tables
from bigtensor.report.annotation import annotate_by_majority
from bigtensor.report.dendrogram import CONSENSUS
from bigtensor.report.findings import Findings
from bigtensor.report.level import levels_of
from bigtensor.report.notices import fit_notices, row_notices, warnings_first
from bigtensor.report.pictures import pictures
from bigtensor.report.rows import read_rows
from bigtensor.report.style import palette, require_matplotlib


def write_report(
    model: Any,
    path: str | os.PathLike[str],
    *,
    data: Any = None,
    labels: Any = None,
    truth: str | None = None,
    sample_size: int = 20_000,
    overwrite: bool = False,
) -> Path:
    """Write a report on a fitted model as one HTML file.

    The file holds its figures and styles, has no script, and forbids the browser to load anything
    from elsewhere. It says what was fitted on what, and shows the weights, the means and densities
    of all features, diagnostics and warnings in words: of populations where components were merged
    into any, with the tree of the components, else of components. With data it also shows rows in
    pairs of features, how large their probabilities are, and how their labels match what else is
    known of them: their true classes (`truth`) and the sample that they come from (``sample_id``).
    The same model and data give the same file.

    Parameters
    ----------
    model : fitted model
    path : path
        The file to make; it appears under this name when it is whole.
    data : path, xarray Dataset or DataArray, or (rows, features) array, optional
        The data of the fit, or others with the same features. Only a sample of the rows is read,
        and all of them two to six times where they have a ``sample_id``, for its mixing weights.
    labels : path, xarray Dataset or DataArray, or (rows,) array, optional
        The label of every row of the data (variable ``label``), as ``model.write`` and
        ``bigtensor predict`` make them. Without it the model labels the sample.
    truth : str, optional
        Variable of the data with the known class of every row: integers or strings along the
        rows, negative or empty where the class is unknown. Without it this is ``label``, if the
        data have it.
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
        When labels or a truth are given without data, the data have no such `truth`, or
        `sample_size` is less than 1.
    StoreReadError, LayoutError, DataError, ViewError
        When data or labels cannot be read, or do not belong to the model.
    OutputError
        When the file exists, its folder does not, or the disk refuses.
    """
    require_matplotlib()
    target = Path(path)
    check_target_file(target, overwrite=overwrite)
    page = render_report(model, data=data, labels=labels, truth=truth, sample_size=sample_size)
    _write_whole(target, page)
    return target


def render_report(
    model: Any,
    *,
    data: Any = None,
    labels: Any = None,
    truth: str | None = None,
    sample_size: int = 20_000,
) -> str:
    """Return the page that `write_report` writes.

    Parameters
    ----------
    model, data, labels, truth, sample_size
        As for `write_report`.

    Returns
    -------
    str
    """
    check_is_fitted(model, "weights_")
    for name, given in {"labels": labels, "truth": truth}.items():
        if data is None and given is not None:
            raise ParameterError(f"{name} was given without data; give the data that it belongs to")
    rows = None if data is None else read_rows(model, data, labels, sample_size, truth)
    levels = levels_of(model)
    composition = None
    if rows is not None and rows.sample_id is not None:
        composition = _composition(model, data, levels.shown.name)
    annotation = None if rows is None else annotate_by_majority(rows)
    findings = Findings(model, levels, rows, composition, annotation)
    shown = findings.shown
    page: str = _template().render(
        version=__version__,
        kind=type(model).__name__,
        name=shown.name,
        names=f"{shown.name}s",
        colours=palette(shown.count),
        features=shown.features,
        **_words(findings),
        **_tables(findings),
        **pictures(findings),
    )
    return page


def _composition(model: Any, data: Any, name: str) -> tables.Table:
    """Return the mixing weights of every sample, from a few passes over all rows."""
    found = model.weights_by(data)
    return tables.composition_table(
        [str(sample) for sample in found["sample_id"].values],
        found["rows"].to_numpy(),
        found["weight"].to_numpy(),
        found["standard_error"].to_numpy(),
        name,
        method=found.attrs["method"],
    )


def _words(findings: Findings) -> dict[str, Any]:
    """Return the sentences and figures of the page's head."""
    found, shown, rows = findings.model.diagnostics_, findings.shown, findings.rows
    notices = fit_notices(findings.model, shown)
    if rows is not None:
        notices += row_notices(rows, shown)
    return {
        "data_name": found["data"],
        "headline": _headline(findings),
        "fit_sentences": summary.fit_sentences(findings.model),
        "notices": warnings_first(notices),
        "cuts_sentences": summary.cuts_sentences(findings.model),
        "likelihood_sentence": summary.likelihood_sentence(found),
        "is_consensus": findings.levels.of_component is not None
        and findings.model.merge_tree_.criterion == CONSENSUS,
        "sample_sentence": None if rows is None else summary.sample_sentence(rows),
        "diagnostics": json.dumps(found, indent=2, ensure_ascii=False, default=str),
    }


def _headline(findings: Findings) -> list[tuple[str, str]]:
    """Return the figures of the page's head."""
    found, levels = findings.model.diagnostics_, findings.levels
    lines = [("rows", f"{found['rows']:,}"), ("features", str(len(levels.shown.profiles)))]
    if levels.of_component is not None:
        lines.append(("populations", str(levels.shown.count)))
    lines += [
        ("components", str(len(levels.component_weights))),
        ("passes", str(len(found["passes"]))),
    ]
    if found["mean_log_likelihood"]:
        lines.append(("mean log-likelihood", f"{found['mean_log_likelihood'][-1]:.4f}"))
    return lines


def _tables(findings: Findings) -> dict[str, Any]:
    """Return the tables of the page."""
    model, rows, shown, levels = findings.model, findings.rows, findings.shown, findings.levels
    found, of_component = model.diagnostics_, levels.of_component
    truth = None if rows is None else rows.truth
    matched = truth and rows and tables.agreement(rows.label, truth, shown.count)
    return {
        "described": tables.level_rows(shown, rows),
        "members": None
        if of_component is None
        else tables.member_table(levels.component_weights, of_component),
        "components": None
        if of_component is None
        else tables.component_table(
            levels.component_weights, of_component, levels.component_means, shown.features
        ),
        "classes": None
        if findings.annotation is None
        else tables.class_table(findings.annotation, shown.name),
        "agreement": tables.agreement_table(matched, shown.name) if matched else None,
        "composition": findings.composition,
        "passes": diagnostic_tables.pass_table(found["passes"]),
        "parameters": diagnostic_tables.parameter_table(model.get_params(deep=False)),
        "conditioning": diagnostic_tables.conditioning_table(found["spectral"], found["groups"])
        if "spectral" in found
        else None,
        "bandwidths": diagnostic_tables.bandwidth_table(found["bandwidth_choice"])
        if "bandwidth_choice" in found
        else None,
        "landmarks": diagnostic_tables.landmark_table(found["landmarks"])
        if found.get("landmarks")
        else None,
    }


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
