"""Record of an import: the transform and the compensation that made the values of features."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from bigtensor.data.addresses.read_errors import read_variable
from bigtensor.errors import DataError, TransformWarning, warn

if TYPE_CHECKING:
    import xarray as xr

TRANSFORM = "transform"
"""Attribute of a store with the name and the parameters of the transform of its import."""

COMPENSATION = "compensation"
"""Attribute of a store with the spillover matrices that its import has removed."""

UNCOMPENSATED = "uncompensated"
"""Attribute of a store with the channels of spillover matrices that its import did not remove."""

Spillover = Literal["removed", "left"]

_LISTED = 5
"""Features that a message lists."""


@dataclass(frozen=True)
class ImportRecord:
    """Transform and compensation that made the values of features.

    Attributes
    ----------
    transform : mapping
        Name and parameters of the transform. A parameter of which every feature has its own is a
        mapping from features.
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
        transform = attrs.get(TRANSFORM)
        if not isinstance(transform, Mapping) or not isinstance(transform.get("name"), str):
            return None
        parameters = {str(name): own for name, own in transform.items()}
        linear = tuple(map(str, parameters.pop("untransformed", None) or ()))
        transformed = [name for name in features if name not in linear]
        for name, own in parameters.items():
            if isinstance(own, list | tuple) and len(own) == len(transformed):
                parameters[name] = dict(zip(transformed, own, strict=True))
        removed = _channels_of_matrices(attrs.get(COMPENSATION))
        left = _channels_left(attrs.get(UNCOMPENSATED))
        acted_on = removed or left
        return cls(
            parameters,
            linear,
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

    def transform_of(self, feature: str) -> Mapping[str, Any]:
        """Return the transform of one feature.

        Parameters
        ----------
        feature : str
            Name of the feature.
        """
        if feature in self.untransformed:
            return {"name": "none"}
        return {
            name: value.get(feature) if isinstance(value, Mapping) else value
            for name, value in self.transform.items()
        }


def require_same_import(
    record: ImportRecord | None,
    owner: str,
    reference: ImportRecord | None,
    reference_owner: str,
    features: Sequence[str],
) -> None:
    """Raise an error if features of two data sets were made in different ways.

    Data without a record are not compared.

    Parameters
    ----------
    record : ImportRecord, optional
        Record of the data set that would have to be imported again.
    owner : str
        The words that name this data set in messages.
    reference : ImportRecord, optional
        Record of the data set to compare with.
    reference_owner : str
        The words that name the data set to compare with.
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
    if record is None or reference is None:
        return
    differences = [
        *_transform_differences(record, owner, reference, reference_owner, features),
        *_spillover_differences(record, owner, reference, reference_owner, features),
    ]
    if differences:
        raise DataError("; ".join(differences))


def _transform_differences(
    record: ImportRecord,
    owner: str,
    reference: ImportRecord,
    reference_owner: str,
    features: Sequence[str],
) -> Iterator[str]:
    """Yield a sentence for features whose transforms differ."""
    differing = [
        name for name in features if record.transform_of(name) != reference.transform_of(name)
    ]
    if not differing:
        return
    own, expected = (each.transform_of(differing[0]) for each in (record, reference))
    if record.transform != reference.transform:
        remedy = _transform_options(expected)
    else:
        word = "with" if expected["name"] == "none" else "without"
        remedy = f"{word} --untransformed for these features"
    yield (
        f"{owner} was imported with {_in_words(own)}, and {reference_owner} with "
        f"{_in_words(expected)}, so that values of {_listed(differing)} are on different scales; "
        f"import the files again {remedy}"
    )
    if "none" in (own["name"], expected["name"]):
        yield (
            "if another program transformed the values of the files, give them alone, such as "
            "xarray.open_zarr(...)['X'], which carries no record of the import"
        )


def _in_words(transform: Mapping[str, Any]) -> str:
    """Return the transform of a feature in words."""
    parameters = (f"{name} {_number(value)}" for name, value in transform.items() if name != "name")
    return ", ".join([f"transform {transform['name']}", *parameters])


def _transform_options(transform: Mapping[str, Any]) -> str:
    """Return the options of an import that repeat a transform."""
    cofactor = transform.get("cofactor")
    options = f"with --transform {transform['name']}"
    return options if cofactor is None else f"{options} --cofactor {_number(cofactor)}"


def _number(value: object) -> str:
    """Return a parameter of a transform as text. In data of other programs it may be no number."""
    if isinstance(value, Mapping):
        return "of every feature its own"
    return f"{value:g}" if isinstance(value, int | float) else str(value)


def _spillover_differences(
    record: ImportRecord,
    owner: str,
    reference: ImportRecord,
    reference_owner: str,
    features: Sequence[str],
) -> Iterator[str]:
    """Yield a sentence for features that are compensated in one data set only."""
    states = (record.spillover, reference.spillover)
    acted_on = {*record.spillover_features, *reference.spillover_features}
    differing = [name for name in features if name in acted_on]
    if states[0] == states[1] or "removed" not in states or not differing:
        return
    if None in states:
        with_matrix, without = (
            (owner, reference_owner) if states[0] == "removed" else (reference_owner, owner)
        )
        warn(
            f"spillover was removed from {_listed(differing)} of {with_matrix}, and the files of "
            f"{without} have no spillover matrix; their values can be compared if another program "
            "has compensated them",
            TransformWarning,
        )
        return
    own, other, option = (
        ("removed from", "left in", "without")
        if states[0] == "removed"
        else ("left in", "removed from", "with")
    )
    yield (
        f"spillover was {own} {_listed(differing)} of {owner}, and {other} those of "
        f"{reference_owner}; import the files again {option} --compensate"
    )


def _features_of(
    dataset: xr.Dataset, features: Sequence[str], channels: Collection[str]
) -> tuple[str, ...]:
    """Return the features that are one of some channels."""
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
        except (TypeError, KeyError, IndexError):
            continue
    return frozenset(channels)


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
