"""The report as one HTML file that needs nothing else: no network, no script, no other file."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np
import xarray as xr
from sklearn.utils.validation import check_is_fitted

from bigtensor._version import __version__
from bigtensor.abundance.differential import check_columns
from bigtensor.abundance.sample_table import SamplesLike, sample_table
from bigtensor.data.addresses.store_address import Address, as_address
from bigtensor.data.exporters.subset import rows_with_labels
from bigtensor.data.rows.data_like import DataLike
from bigtensor.data.stores.outputs import check_target_file, whole_file, write_errors
from bigtensor.engine.events import Listener, Steps
from bigtensor.errors import MissingDependencyError, ParameterError, Setting
from bigtensor.models.answers.mixture import MixtureAnswers
from bigtensor.models.contract.opening_for_answers import open_with_groups
from bigtensor.models.words.label_level import LabelLevel, level_of
from bigtensor.models.words.report_blocks import Notice, Section
from bigtensor.models.words.sampled_rows import LabelledRows, SampledRows
from bigtensor.report.data_names import name_of_fit, name_of_other_data, title_of
from bigtensor.report.drawing import is_broad, picture
from bigtensor.report.notices import banners, fit_notices, notes, one_verdict, row_notices
from bigtensor.report.rows import LabelsLike, read_rows
from bigtensor.report.samples.acquisition_section import acquisition_section, drift_notices
from bigtensor.report.samples.drift import Drift, drift_along_time
from bigtensor.report.samples.sample_section import (
    SampleGroups,
    sample_section,
    unlike_notices,
)
from bigtensor.report.sections import Findings, headline, page_sections
from bigtensor.report.style import palette, require_matplotlib

if TYPE_CHECKING:
    from jinja2 import Template

    from bigtensor.models.contract.estimator import Estimator


def write_report(
    model: Estimator,
    path: str | os.PathLike[str],
    *,
    data: DataLike | None = None,
    labels: LabelsLike | None = None,
    truth: str | None = None,
    samples: SamplesLike | None = None,
    by: str | None = None,
    adjust: str | Sequence[str] = (),
    groups: Collection[str] = (),
    reference: str | float | None = None,
    sample_size: int = 20_000,
    overwrite: bool = False,
    listeners: Iterable[Listener] = (),
) -> Address:
    """Write a report on a fitted model as one HTML file.

    The file holds its figures and styles, has no script, and forbids the browser to load anything
    from elsewhere. It says what was fitted on what, with diagnostics and warnings in words, and has
    the sections of the model: of a kernel mixture the means and densities of all features, of
    populations where components were merged into any, with the tree of the components. Of every
    mixture it shows the weights, and with data also how large probabilities are, and how labels
    match what else is known of the rows: their true classes (`truth`) and the sample that they come
    from (``sample_id``). The same model and data give the same file.

    Parameters
    ----------
    model : fitted model
        Model that the report describes.
    path : path or URL
        The file to make; it appears under this name when it is whole.
    data : path, xarray Dataset or DataArray, AnnData, or (rows, features) array, optional
        The data of the fit, or others with the same features. Only a sample of the rows is read,
        and all of them two to six times where they have a ``sample_id``, for its mixing weights,
        or twice for the decoded states of a hidden Markov model.
    labels : path, xarray Dataset or DataArray, or (rows,) array, optional
        The label of every row of the data (variable ``label``), as ``model.write`` and
        ``bigtensor predict`` make them. Shares of labels are then shares of all rows. Without
        it, the model labels a sample of the rows, and shares are shares of the sample.
    truth : str, optional
        Variable of the data, or column of ``obs``, with the known class of every row: integers or
        strings along the rows, negative or empty where the class is unknown. Without it this is
        ``label``, if the data have it.
    samples : path, DataFrame or mapping, optional
        Table of samples, as for `bigtensor.differential_abundance`.
    by : str, optional
        Column of `samples` that the shares of populations are compared by.
    adjust : str or sequence of str, optional
        Columns of further conditions, such as the patient of paired samples.
    groups : collection of str, optional
        Columns of numbers whose values are groups.
    reference : str or number, optional
        Group of `by` that the others are compared with. By default the first one in natural order.
        With a reference, numbers are groups.
    sample_size : int, default 20,000
        Rows to read at most, in up to 64 windows spread evenly over the data.
    overwrite : bool, default False
        Replace a file of this name.
    listeners : iterable of callables
        Functions that are called with every `bigtensor.engine.events.Event` of a step or pass.

    Returns
    -------
    Path or str
        A URL stays a string.

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
    check_target_file(path, overwrite=overwrite)
    page = render_report(
        model,
        data=data,
        labels=labels,
        truth=truth,
        comparison=comparison_of(samples, by, adjust, groups, reference),
        sample_size=sample_size,
        listeners=tuple(listeners),
    )
    with write_errors(path), whole_file(path) as partial:
        partial.write_text(page, encoding="utf-8")
    return as_address(path)


def render_report(
    model: Estimator,
    *,
    data: DataLike | None = None,
    labels: LabelsLike | None = None,
    truth: str | None = None,
    comparison: SampleGroups | None = None,
    sample_size: int = 20_000,
    listeners: tuple[Listener, ...] = (),
) -> str:
    """Return the page that `write_report` writes.

    Parameters
    ----------
    model, data, labels, truth, sample_size, listeners
        As for `write_report`.
    comparison : SampleGroups, optional
        Condition that samples are compared by.
    """
    steps = Steps(listeners)
    check_is_fitted(model)
    for name, value in {"labels": labels, "truth": truth}.items():
        if data is None and value is not None:
            raise ParameterError(f"{name} was given without data; give the data that it belongs to")
    if comparison is not None:
        _require_comparison(model, data, comparison.by)
    steps.advance("reading a sample of the rows", 0, 0)
    rows = None if data is None else read_rows(model, data, labels, sample_size, truth)
    level = level_of(model) if isinstance(model, MixtureAnswers) else None
    steps.advance("describing the model", 0, 0)
    parts = model.description.report(model, rows)
    steps.finish()
    samples_section, of_samples = _sample_sections(
        model, data, labels, rows, level, comparison, listeners
    )
    of_rows = [] if rows is None else row_notices(model, rows, level)
    artefacts = {one.label for one in rows.stretches} if isinstance(rows, LabelledRows) else ()
    notices = [
        *of_samples,
        *of_rows,
        *one_verdict([*parts.notices, *fit_notices(model, level, artefacts, rows)]),
    ]
    findings = Findings(model, parts, level, rows, samples_section, tuple(notes(notices)))
    colours = palette(0 if level is None else level.count)
    steps.advance("drawing the figures", 0, 0)
    page: str = _template(colours).render(
        version=__version__,
        title=title_of(model, rows),
        model=type(model).__name__,
        data_name=name_of_fit(model),
        other_data=name_of_other_data(model, rows),
        headline=headline(findings),
        notices=banners(notices),
        sections=page_sections(findings),
    )
    steps.finish()
    return page


def comparison_of(
    samples: SamplesLike | None,
    by: str | None,
    adjust: str | Sequence[str] = (),
    groups: Collection[str] = (),
    reference: str | float | None = None,
) -> SampleGroups | None:
    """Return the condition that samples are compared by; see `write_report`."""
    if (samples is None) != (by is None):
        raise ParameterError(
            "a table of samples and the column to compare by belong together; give "
            + Setting("samples")
            + " and "
            + Setting("by")
        )
    adjust, groups = (
        (names,) if isinstance(names, str) else (*names,) for names in (adjust, groups)
    )
    if samples is None or by is None:
        if unused := [*adjust, *groups, *([] if reference is None else [str(reference)])]:
            raise ParameterError(
                f"{', '.join(unused)} cannot be used without a comparison; give "
                + Setting("samples")
                + " and "
                + Setting("by")
            )
        return None
    check_columns(by, adjust, groups)
    table = sample_table(samples)
    for name in (by, *adjust, *groups):
        table.column(name)
    return SampleGroups(table, by, adjust, groups, reference)


def _require_comparison(model: Estimator, data: DataLike | None, by: str) -> None:
    """Refuse a comparison of samples without data, or with a model that is no mixture."""
    leave = "leave " + Setting("samples") + " and " + Setting("by") + " out"
    if data is None:
        raise ParameterError(
            f"a comparison by {by!r} needs the rows of the samples, and no data were given; give "
            + Setting("data")
            + ", or "
            + leave
        )
    if isinstance(model, MixtureAnswers):
        return
    name = type(model).__name__
    if hasattr(model, "weights_by"):
        raise ParameterError(
            f"the report compares samples by the populations of a mixture, and the model is of "
            f"another kind ({name}); compare its shares with 'bigtensor compare' or with "
            "bigtensor.differential_abundance of its weights_by, and for the report " + leave
        )
    raise ParameterError(
        f"a comparison by {by!r} needs populations, and the model ({name}) has none; " + leave
    )


def _sample_sections(
    model: Estimator,
    data: DataLike,
    labels: LabelsLike | None,
    rows: SampledRows | None,
    level: LabelLevel | None,
    groups: SampleGroups | None,
    listeners: tuple[Listener, ...],
) -> tuple[tuple[Section, ...], list[Notice]]:
    """Return the sections and notices on the samples, from a few passes over all rows."""
    if level is None or rows is None or rows.sample_id is None:
        if groups is not None:
            raise ParameterError(
                f"a comparison by {groups.by!r} needs the sample of every row, and the data have "
                "no variable sample_id; write it into the data, or leave "
                + Setting("samples")
                + " and "
                + Setting("by")
                + " out"
            )
        return (), []
    left_out = isinstance(rows, LabelledRows) and (rows.label < 0).any()
    if left_out and isinstance(data, str | os.PathLike) and isinstance(labels, str | os.PathLike):
        # a condition left rows out of the fit and of the labels
        data = rows_with_labels(data, labels, range(level.count), model.sample_dim)
    sections: list[Section] = []
    weights = model.weights_by(data, listeners=listeners)
    if weights.sizes["sample_id"] > 1 or groups is not None:
        # of one sample they repeat the weights of the populations
        sections.append(sample_section(weights, level, groups))
    drift = _drift(model, data, weights, listeners)
    if drift is not None:
        stretches = rows.stretches if isinstance(rows, LabelledRows) else ()
        sections.append(acquisition_section(drift, stretches, level.name))
    return tuple(sections), [*unlike_notices(weights), *drift_notices(drift)]


def _drift(
    model: Estimator, data: DataLike, weights: xr.Dataset, listeners: tuple[Listener, ...]
) -> Drift | None:
    """Return the drift of measured features along time, from one pass over all rows."""
    samples = open_with_groups(model, data, "sample_id")
    if samples.kind != "measured" or samples.groups is None:
        return None
    steps = Steps(listeners)
    steps.advance("drift along the acquisition", 0, 0)
    rows = dict(zip(map(str, weights["sample_id"].values), weights["rows"].values, strict=True))
    sizes = np.array([rows.get(name, 0) for name in samples.groups.names], np.int64)
    drift = drift_along_time(samples, sizes)
    steps.finish()
    return drift


def _template(colours: Sequence[str]) -> Template:
    """Return the page's template, which draws figures in their places and escapes all texts."""
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
    environment.filters |= {"picture": picture, "broad": is_broad, "colour": colours.__getitem__}
    return environment.get_template("report.html.jinja")
