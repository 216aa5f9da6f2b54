"""Record of an import: the transform and the compensation that made the values of features."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from bigtensor.errors import DataError, TransformWarning, warn

if TYPE_CHECKING:
    import xarray as xr

TRANSFORM = "transform"
"""Attribute of a store with the name and the parameters of the transform of its import."""

COMPENSATION = "compensation"
"""Attribute of a store with the spillover matrices that its import has removed."""

UNCOMPENSATED = "uncompensated"
"""Attribute of a store with the channels of spillover matrices that its import did not remove."""

EARLIER_IMPORT = "bigtensor_data"
"""Entry of ``uns`` with these attributes, in AnnData files that were exported from a store."""

Spillover = Literal["removed", "left"]

_LISTED = 5
"""Features that a message lists."""


@dataclass(frozen=True)
class ImportRecord:
    """Transform and compensation that made the values of features.

    Attributes
    ----------
    transform : mapping
        Name and parameters of the transform.
    untransformed : tuple of str
        Features that the import left linear.
    spillover : {"removed", "left"}, optional
        Treatment of the spillover matrices of the files. None for files without a matrix, whose
        values may be compensated already.
    spillover_features : tuple of str
        Features on which these matrices act.
    """

    transform: Mapping[str, Any] = field(hash=False)
    untransformed: tuple[str, ...] = ()
    spillover: Spillover | None = None
    spillover_features: tuple[str, ...] = ()

    @classmethod
    def of_dataset(cls, dataset: xr.Dataset, features: Sequence[str]) -> ImportRecord | None:
        """Read the record of a data set.

        Parameters
        ----------
        dataset : xarray.Dataset
            Attributes may be anything in data of other programs. The coordinate ``channel`` says
            on which features a spillover matrix acts. Without it, features are channels.
        features : sequence of str
            Names of the features.

        Returns
        -------
        ImportRecord, optional
            None for data without a record of a transform.
        """
        attrs = dataset.attrs
        transform = _plain(attrs.get(TRANSFORM))
        if not isinstance(transform, Mapping) or not isinstance(transform.get("name"), str):
            return None
        parameters = {str(name): own for name, own in transform.items()}
        linear = parameters.pop("untransformed", None)
        removed = _channels_of_matrices(_plain(attrs.get(COMPENSATION)))
        left = _channels_left(_plain(attrs.get(UNCOMPENSATED)))
        acted_on = removed or left
        return cls(
            parameters,
            tuple(map(str, linear)) if isinstance(linear, list) else (),
            "removed" if removed else "left" if left else None,
            _features_of(dataset, features, acted_on) if acted_on else (),
        )

    @classmethod
    def of_facts(cls, facts: Mapping[str, Any] | None) -> ImportRecord | None:
        """Return the record of the facts in a saved model; see `facts`."""
        if facts is None:
            return None
        features = {name: tuple(facts[name]) for name in ("untransformed", "spillover_features")}
        return cls(transform=facts["transform"], spillover=facts["spillover"], **features)

    def in_words(self) -> str:
        """Return the transform and the treatment of spillover in words."""
        spillover = "" if self.spillover is None else f"; spillover {self.spillover}"
        return _in_words(self.transform) + spillover

    def facts(self) -> dict[str, Any]:
        """Return the record as JSON can hold it."""
        return asdict(self)

    @property
    def off_scale(self) -> tuple[str, ...] | None:
        """Features that the import left linear. None if it transformed no feature."""
        return None if self.transform["name"] == "none" else self.untransformed

    @cached_property
    def _linear(self) -> frozenset[str]:
        """Features that the import left linear, if it transformed others."""
        return frozenset(self.untransformed)

    def is_linear(self, feature: str) -> bool:
        """Return True if the import left a feature linear.

        Parameters
        ----------
        feature : str
            Name of the feature.
        """
        return self.transform["name"] == "none" or feature in self._linear


@dataclass(frozen=True)
class RecordedData:
    """Data set in a comparison of imports.

    Attributes
    ----------
    record : ImportRecord
        Record of its import.
    words : str
        The words that name it in messages.
    """

    record: ImportRecord
    words: str


def require_same_import(
    data: RecordedData, reference: RecordedData, features: Sequence[str]
) -> None:
    """Raise an error if features of two data sets were made in different ways.

    Parameters
    ----------
    data : RecordedData
        Data set that would have to be imported again.
    reference : RecordedData
        Data set to compare with.
    features : sequence of str
        Features that are used.

    Raises
    ------
    DataError
        If a transform differs, or the spillover of the same matrices was removed in one data set
        only.

    Warns
    -----
    TransformWarning
        If spillover was removed in one data set, and the files of the other hold no matrix.
    """
    if data.record == reference.record:
        return
    differences = [
        *_transform_differences(data, reference, features),
        *_spillover_differences(data, reference, features),
    ]
    if differences:
        raise DataError("; ".join(differences))


def _transform_differences(
    data: RecordedData, reference: RecordedData, features: Sequence[str]
) -> Iterator[str]:
    """Yield a sentence for features whose transforms differ."""
    own, other = data.record, reference.record
    alike = _alike(own.transform, other.transform)
    differing = [
        name
        for name in features
        if own.is_linear(name) != other.is_linear(name) or not (alike or own.is_linear(name))
    ]
    if not differing:
        return
    if alike:
        left = own.is_linear(differing[0])
        differing = [name for name in differing if own.is_linear(name) == left]
        linear, transformed = (data, reference) if left else (reference, data)
        yield (
            f"the import left {_listed(differing)} linear in {linear.words} and not in "
            f"{transformed.words}; import the files of {data.words} again "
            f"{'without' if left else 'with'} --untransformed for these features"
        )
        return
    if "none" in (own.transform["name"], other.transform["name"]):
        ready = (
            "if another program transformed them before, give them without the record of the "
            "import, such as xarray.open_zarr(...)['X']; if not, "
        )
    else:
        ready = ""
    yield (
        f"{data.words} was imported with {_in_words(own.transform)}, and {reference.words} with "
        f"{_in_words(other.transform)}, so that values of {_listed(differing)} are on "
        f"different scales; {ready}import the files again with --like and a store of the right "
        f"import{_transform_options(other.transform)}"
    )


def _alike(transform: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Return True if no parameter differs.

    Parameters with a value for every feature are not compared: the order of selected features may
    be another one.
    """
    pairs = [(transform.get(name), other.get(name)) for name in {*transform, *other}]
    return all(
        isinstance(own, list) or isinstance(another, list) or str(own) == str(another)
        for own, another in pairs
    )


def _in_words(transform: Mapping[str, Any]) -> str:
    """Return the transform of a feature in words."""
    parameters = (f"{name} {_number(value)}" for name, value in transform.items() if name != "name")
    return ", ".join([f"transform {transform['name']}", *parameters])


def _transform_options(transform: Mapping[str, Any]) -> str:
    """Return the options of an import that repeat a transform, if there are any."""
    cofactor = transform.get("cofactor")
    if transform["name"] == "none":
        return ", or with --transform none"
    if transform["name"] == "arcsinh" and isinstance(cofactor, int | float):
        return f", or with --transform arcsinh --cofactor {cofactor:g}"
    return ""


def _number(value: object) -> str:
    """Return a parameter of a transform as text. In data of other programs it may be no number."""
    if isinstance(value, list):
        return "of every feature its own"
    return f"{value:g}" if isinstance(value, int | float) else str(value)


def _spillover_differences(
    data: RecordedData, reference: RecordedData, features: Sequence[str]
) -> Iterator[str]:
    """Yield a sentence for features that are compensated in one data set only."""
    records = (data.record, reference.record)
    states = [record.spillover for record in records]
    acted_on = {name for record in records for name in record.spillover_features}
    differing = [name for name in features if name in acted_on]
    if states[0] == states[1] or "removed" not in states or not differing:
        return
    if None in states:
        with_matrix, without = (data, reference) if states[0] == "removed" else (reference, data)
        warn(
            f"spillover was removed from {_listed(differing)} of {with_matrix.words}, and no "
            f"spillover matrix is recorded for {without.words}: the values can be compared if "
            "another program has compensated them",
            TransformWarning,
        )
        return
    own, other, option = (
        ("removed from", "left in", "without")
        if states[0] == "removed"
        else ("left in", "removed from", "with")
    )
    yield (
        f"spillover was {own} {_listed(differing)} of {data.words}, and {other} those of "
        f"{reference.words}; import the files again {option} --compensate"
    )


def _features_of(
    dataset: xr.Dataset, features: Sequence[str], channels: Collection[str]
) -> tuple[str, ...]:
    """Return the features that are one of some channels."""
    # it needs NumPy, which the help of commands does without
    from bigtensor.data.addresses.read_errors import read_variable

    names: Sequence[str] = features
    coordinate = dataset.get("channel")
    if coordinate is not None and coordinate.shape == (len(features),):
        stored = read_variable(coordinate, "the channels of the features")
        names = [str(name) for name in stored.tolist()]
    return tuple(feature for feature, name in zip(features, names, strict=True) if name in channels)


def _channels_of_matrices(compensation: object) -> frozenset[str]:
    """Return the channels of the recorded matrices that change a value."""
    channels: set[str] = set()
    for entry in compensation if isinstance(compensation, list) else ():
        try:
            names, matrix = entry["spillover"]["channels"], entry["spillover"]["matrix"]
            channels.update(map(str, names) if changes_values(matrix) else ())
        except (TypeError, KeyError, IndexError, ValueError):
            continue
    return frozenset(channels)


def _plain(attribute: object) -> Any:
    """Return an attribute with lists in place of arrays and tuples."""
    if isinstance(attribute, Mapping):
        return {name: _plain(value) for name, value in attribute.items()}
    if hasattr(attribute, "tolist"):
        return attribute.tolist()
    return list(attribute) if isinstance(attribute, tuple) else attribute


def _channels_left(uncompensated: object) -> Collection[str]:
    """Return the recorded channels of matrices that were not removed."""
    channels = uncompensated.get("channels") if isinstance(uncompensated, Mapping) else None
    return frozenset(map(str, channels)) if isinstance(channels, list) else frozenset()


def changes_values(matrix: Sequence[Sequence[float]]) -> bool:
    """Return True unless a spillover matrix is the identity, as for unmixed spectra.

    Parameters
    ----------
    matrix : (channels, channels) sequence of float
        Row i is the signal of dye i in every channel.
    """
    return any(value != (i == j) for i, row in enumerate(matrix) for j, value in enumerate(row))


def _listed(names: Sequence[str]) -> str:
    """Return the first names, for a message."""
    more = len(names) - _LISTED
    return ", ".join(names[:_LISTED]) + (f" and {more:,} more" if more > 0 else "")
