"""``bigtensor info``: what stores and FCS files hold."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from bigtensor.cli.command import Command
from bigtensor.cli.fcs_info import common_lines, fcs_lines, is_fcs
from bigtensor.cli.feature_quantiles import feature_quantiles, quantile_lines
from bigtensor.cli.options import PATH
from bigtensor.cli.output import complain, one_line, say
from bigtensor.errors import BigtensorError, LayoutWarning


@click.command(cls=Command)
@click.argument("paths", type=PATH, nargs=-1, required=True, metavar="STORE.zarr|FILE.fcs...")
@click.pass_context
def info(context: click.Context, paths: tuple[Path, ...]) -> None:
    """Describe stores of data, models, statistics or labels, and FCS files.

    Of an FCS file the header is read, and no event: channels, markers, scales, and what 'bigtensor
    import' does without options.
    """
    unread = 0
    for number, path in enumerate(paths):
        if number:
            say("")
        try:
            say("\n".join(fcs_lines(path) if is_fcs(path) else _store_lines(path)))
        except BigtensorError as error:
            if len(paths) == 1:
                raise
            unread += 1
            complain(f"error: {one_line(str(error))}")
    if len(paths) > 1 and not unread and all(is_fcs(path) for path in paths):
        say("\n" + "\n".join(common_lines(paths)))
    if unread:
        context.exit(1)


def _store_lines(store: Path) -> Iterator[str]:
    """Describe a store of any kind."""
    from bigtensor.data.stores import open_group

    group = open_group(store)
    if group.attrs.get("kind") == "Statistics":
        return _statistics_lines(store)
    if "bigtensor_format" in group.attrs:
        return _model_lines(store)
    if "label" in group and "model" in group.attrs:
        return _label_lines(store, group)
    return _data_lines(store, group)


def _data_lines(store: Path, group: Any) -> Iterator[str]:
    """Describe a store of samples."""
    from bigtensor.data.opening import open_samples
    from bigtensor.data.sources import ZarrSource

    with warnings.catch_warnings(record=True) as concerns:
        warnings.simplefilter("always", LayoutWarning)
        samples = open_samples(str(store))
    source = samples.sources[0]
    yield f"data       {store}: {samples.rows:,} rows x {len(samples.features)} features"
    yield f"features   {', '.join(map(one_line, samples.features))}"
    if isinstance(source, ZarrSource):
        array = group[source.variable]
        shards = f" in shards of {_shape(array.shards)}" if array.shards else ""
        chunks = f"chunks of {_shape(array.chunks)}{shards}"
        yield f"values     {source.variable} {samples.dtype}, {chunks}"
    for concern in concerns:
        yield f"layout     {concern.message}"
    if not concerns:
        yield "layout     good to read by rows"
    yield from quantile_lines(feature_quantiles(samples))
    yield "variables"
    for name, array in sorted(group.arrays()):
        dims = one_line(_dimensions(array))
        categories = array.attrs.get("categories")
        # the attribute of a store of others may be anything
        names = [str(entry) for entry in categories] if isinstance(categories, list) else []
        named = f": {_shortened(names)}" if names else ""
        yield f"  {one_line(name):<20} ({dims}) {_type_name(array.dtype)}{named}"
    for key in ("transform", "compensation", "source_files", "simulator", "random_state"):
        if key in group.attrs:
            yield f"{key:<10} {_attribute(group.attrs[key])}"


def _statistics_lines(store: Path) -> Iterator[str]:
    """Describe the sums of a pass."""
    from bigtensor.models.statistics_file import read_statistics

    found = read_statistics(store)
    mixture = f", mixture {found.mixture[:8]}" if found.mixture else ""
    size = sum(array.nbytes for array in found.state.values())
    yield f"statistics {store}: {found.pass_name} of {found.rows:,} rows for a {found.model}"
    yield f"made with  preparation {found.preparation[:8]}{mixture}"
    yield f"sums       {len(found.state)} arrays, {size:,} bytes"
    yield "parts"
    for part in found.parts:
        left_out = f", {part.rows_left_out:,} left out" if part.rows_left_out else ""
        yield f"  {part.rows:>14,} rows{left_out}, bigtensor {part.version}: {part.data}"


def _model_lines(store: Path) -> Iterator[str]:
    """Describe a fitted or a prepared model."""
    from bigtensor.models.loading import load_model

    model = load_model(store, fitted=False)
    found = model.diagnostics_
    fitted = model.__sklearn_is_fitted__()
    yield f"model      {store}: {type(model).__name__} of {_size(model, fitted=fitted)}"
    parameters = {name: value for name, value in model.get_params().items() if name != "views"}
    yield f"parameters {', '.join(f'{name} {value}' for name, value in parameters.items())}"
    yield f"{'fitted on' if fitted else 'prepared on':<10} {found['data']}"
    yield "passes"
    for entry in found["passes"]:
        reused = f", {entry['reused_parts']} from the checkpoint" if entry["reused_parts"] else ""
        yield f"  {entry['name']:<20} {entry['rows']:>14,} rows in {entry['parts']} parts{reused}"
    yield "views"
    for name, features in model.views_.as_mapping().items():
        yield f"  {one_line(name):<20} {', '.join(map(one_line, features))}"
    if not fitted:
        yield "next       accumulate statistics with it, and solve them"
        return
    yield from _weight_lines(model)
    if "verdict" in found:
        yield f"verdict    {' '.join(found['verdict']['sentences'])}"
    likelihoods = found.get("mean_log_likelihood")
    if likelihoods:
        values = ", ".join(f"{value:.4f}" for value in likelihoods)
        yield f"mean log-likelihood before each posterior pass, nats a row: {values}"


def _size(model: Any, *, fitted: bool) -> str:
    """Return the numbers of components and populations in words."""
    if not fitted:
        k = model.n_components
        return "components to be counted" if k == "auto" else f"{k} components"
    from bigtensor.models.summary import population_of_component

    merged = population_of_component(model) is not None
    populations = f" in {len(model.population_weights_)} populations" if merged else ""
    return f"{len(model.weights_)} components{populations}"


def _weight_lines(model: Any) -> Iterator[str]:
    """List the weights: of populations with their components, or of components."""
    from bigtensor.models.summary import population_of_component

    of_component = population_of_component(model)
    if of_component is None:
        yield "weights"
        for component, weight in enumerate(model.weights_):
            yield f"  {component:<20} {float(weight):.5f}"
        return
    tree = model.merge_tree_
    yield f"merged by  {tree.criterion}"
    yield "populations"
    for population, weight in enumerate(model.population_weights_):
        members = [str(h) for h in (of_component == population).nonzero()[0]]
        plural = "s" if len(members) > 1 else ""
        listed = _shortened(members, 12)
        yield f"  {population:<20} {float(weight):.5f}, component{plural} {listed}"


def _label_lines(store: Path, group: Any) -> Iterator[str]:
    """Describe a store of labels."""
    from bigtensor.cli.agreement import label_counts

    attrs = group.attrs
    yield f"labels     {store}: {group['label'].shape[0]:,} rows, by a {attrs['model']}"
    for name, array in sorted(group.arrays()):
        yield f"  {name:<20} ({_dimensions(array)}) {_type_name(array.dtype)}"
    yield "counts"
    for label, count in label_counts(store).items():
        yield f"  {'left out' if label < 0 else label!s:<20} {count:>14,}"


def _dimensions(array: Any) -> str:
    """List the names of the dimensions; in Zarr v2 they are an attribute that xarray writes."""
    if array.metadata.zarr_format == 2:
        names = array.attrs.get("_ARRAY_DIMENSIONS")
    else:
        names = array.metadata.dimension_names
    return ", ".join(str(name) for name in names or ())


def _type_name(dtype: Any) -> str:
    """Return a type in a word, also that of strings of any length."""
    return "string" if dtype.kind in "OTU" else str(dtype)


def _shape(shape: tuple[int, ...]) -> str:
    """Return a shape in words."""
    return " x ".join(f"{length:,}" for length in shape)


def _shortened(names: list[str], most: int = 6) -> str:
    """List the first names."""
    more = f", ... {len(names)} in all" if len(names) > most else ""
    return ", ".join(map(one_line, names[:most])) + more


def _attribute(value: Any) -> str:
    """Return an attribute as one line of bounded length."""
    text = one_line(value) if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= 300 else f"{text[:300]}..."
