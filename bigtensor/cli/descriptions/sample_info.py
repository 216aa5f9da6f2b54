"""Description of a store of samples for ``bigtensor info``."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from bigtensor.cli.descriptions.feature_quantiles import feature_quantiles, quantile_lines
from bigtensor.cli.output import MOST_FEATURES, one_line, shortened
from bigtensor.data.values.import_record import COMPENSATION, TRANSFORM, UNCOMPENSATED
from bigtensor.errors import LayoutWarning

if TYPE_CHECKING:
    import zarr

    from bigtensor.data.sources.row_sources import Source

_ATTRIBUTES = (
    TRANSFORM,
    COMPENSATION,
    UNCOMPENSATED,
    "source_files",
    "simulator",
    "random_state",
)
"""Attributes that say where the values come from."""

_TITLES = {"source_files": "files", "random_state": "seed", COMPENSATION: "spillover"}
"""Words for attributes whose name is a word of Python."""


def sample_facts(path: str, group: zarr.Group) -> dict[str, Any]:
    """Return the facts of a store of samples.

    Parameters
    ----------
    path : str
        Path or URL.
    group : zarr.Group
        The opened store.

    Returns
    -------
    dict
        Facts that ``--json`` prints. ``concerns`` are the warnings of opening the store, and
        whether its chunks are split along features. ``quantiles`` is None for codes and counts.

    Raises
    ------
    StoreReadError, DataError
        When the store cannot be read as samples.
    """
    from bigtensor.data.opening import open_samples

    with warnings.catch_warnings(record=True) as concerns:
        warnings.simplefilter("always", LayoutWarning)
        samples = open_samples(path)
    values = _stored_values(samples.sources[0], group)
    layout = [str(concern.message) for concern in concerns]
    if values is not None and values["chunks_of_a_row"] > 1:
        layout.append(
            f"split along features: every row is put together from {values['chunks_of_a_row']} "
            "chunks"
        )
    return {
        "kind": "samples",
        "rows": samples.rows,
        "features": samples.features,
        "values": values,
        "concerns": layout,
        "quantiles": feature_quantiles(samples) if samples.kind == "measured" else None,
        "categories": samples.categories,
        "variables": [variable_facts(name, array) for name, array in sorted(group.arrays())],
        "attributes": {key: group.attrs[key] for key in _ATTRIBUTES if key in group.attrs},
    }


def sample_lines(facts: Mapping[str, Any]) -> Iterator[str]:
    """Describe a store of samples in words."""
    features, values = facts["features"], facts["values"]
    yield f"data       {facts['path']}: {facts['rows']:,} rows x {len(features)} features"
    yield f"features   {shortened(features, MOST_FEATURES)}"
    if values is not None:
        shards = f" in shards of {shape_in_words(values['shards'])}" if values["shards"] else ""
        chunks = f"chunks of {shape_in_words(values['chunks'])}{shards}"
        packed = values["stored_dtype"] != values["dtype"]
        stored = f" decoded from {values['stored_dtype']}" if packed else ""
        yield f"values     {values['variable']} {values['dtype']}{stored}, {chunks}"
    for concern in facts["concerns"] or ["good to read by rows"]:
        yield f"layout     {concern}"
    if facts["quantiles"] is not None:
        yield from quantile_lines(facts["quantiles"])
    if facts["categories"] is not None:
        yield from category_lines(facts["categories"])
    yield "variables"
    for variable in facts["variables"]:
        dims, names = ", ".join(variable["dimensions"]), variable["categories"]
        named = f": {shortened(names)}" if names else ""
        yield f"  {one_line(variable['name']):<20} ({one_line(dims)}) {variable['dtype']}{named}"
    for key, value in facts["attributes"].items():
        if key == UNCOMPENSATED:
            continue
        if key == COMPENSATION:
            words = spillover_in_words(facts["attributes"])
        else:
            words = _transform(value) if key == TRANSFORM else _attribute(value)
        yield f"{_TITLES.get(key, key):<10} {words if len(words) <= 300 else f'{words[:300]}...'}"


def _stored_values(source: Source, group: zarr.Group) -> dict[str, Any] | None:
    """Return the facts of the array that holds the values; None for rows of AnnData."""
    from bigtensor.data.sources.row_sources import ZarrSource
    from bigtensor.data.sources.xarray_source import XarraySource

    if isinstance(source, ZarrSource):
        name, transposed = source.variable, source.transposed
    elif isinstance(source, XarraySource):
        # xarray decodes values that are packed or have a marker of missing ones
        name, transposed = str(source.array.name), source.array.dims[0] != source.sample_dim
    else:
        return None
    array: Any = group[name]
    return {
        "variable": name,
        "dtype": str(source.dtype),
        "stored_dtype": str(array.dtype),
        "chunks": array.chunks,
        "shards": array.shards,
        "chunks_of_a_row": -(-len(source.features) // array.chunks[0 if transposed else 1]),
    }


def category_lines(categories: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Describe the names of the codes of every feature in words."""
    yield "categories"
    for feature, names in categories.items():
        yield f"  {one_line(feature):<20} {len(names)}: {shortened(names)}"


def variable_facts(name: str, array: zarr.Array[Any]) -> dict[str, Any]:
    """Return the facts of an array of a store.

    Parameters
    ----------
    name : str
        Name of the array in the store.
    array : zarr.Array
        The opened array. Its values are not read.

    Returns
    -------
    dict
        ``name``, ``dimensions``, ``dtype`` and ``categories``. All string types are called string.
        In Zarr v2 dimensions are an attribute that xarray writes.
    """
    if array.metadata.zarr_format == 2:
        dimensions: Any = array.attrs.get("_ARRAY_DIMENSIONS")
    else:
        dimensions = array.metadata.dimension_names
    categories = array.attrs.get("categories")
    return {
        "name": name,
        "dimensions": [str(entry) for entry in dimensions or ()],
        "dtype": "string" if array.dtype.kind in "OTU" else str(array.dtype),
        # the attribute of a store of others may be anything
        "categories": list(map(str, categories)) if isinstance(categories, list) else [],
    }


def shape_in_words(shape: tuple[int, ...]) -> str:
    """Return a shape in words."""
    return " x ".join(f"{length:,}" for length in shape)


def _attribute(value: object) -> str:
    """Return an attribute in words. That of a store of others may be anything."""
    if isinstance(value, list):
        return shortened([_attribute(entry) for entry in value])
    if isinstance(value, Mapping):
        return ", ".join(f"{one_line(str(name))} {_attribute(own)}" for name, own in value.items())
    return f"{value:g}" if isinstance(value, float) else one_line(str(value))


def _transform(value: object) -> str:
    """Return the transform of an import with its parameters, and the features without it."""
    if not isinstance(value, Mapping):
        return _attribute(value)
    others = {name: own for name, own in value.items() if name not in ("name", "untransformed")}
    words = ", ".join(filter(None, (_attribute(value.get("name", "")), _attribute(others))))
    linear = value.get("untransformed")
    return f"{words}; linear: {_attribute(linear)}" if linear else words


def spillover_in_words(attributes: Mapping[str, Any]) -> str:
    """Return the numbers of channels and files whose spillover was removed, or was left.

    Parameters
    ----------
    attributes : mapping
        Attributes of a store. Those of a store of others may be anything.
    """
    removed, left = attributes.get(COMPENSATION), attributes.get(UNCOMPENSATED)
    try:
        parts = [
            _channels_of_files(entry["spillover"]["channels"], entry["files"])
            for entry in removed or ()
        ]
        if left is not None:
            channels = _channels_of_files(left["channels"], left["files"])
            return f"left in {channels} with a matrix, which --compensate removes"
    except (TypeError, KeyError, AttributeError):
        return _attribute(removed)
    return f"removed from {', '.join(parts)}" if parts else "no matrix recorded"


def _channels_of_files(channels: Sequence[str], files: Sequence[str]) -> str:
    """Return the numbers of channels and files in words."""
    return f"{len(channels)} channels of {len(files)} file{'s' * (len(files) != 1)}"
