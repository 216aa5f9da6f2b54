"""Scale of the values of an import: transform, cofactor, and markers that stay nearly linear."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np

from bigtensor.data.importers.channels.channel_content import Content
from bigtensor.data.importers.source import ImportSource
from bigtensor.data.importers.transforms import Arcsinh, Linear, Logicle, Transform
from bigtensor.data.values.import_record import EARLIER_IMPORT, TRANSFORM, ImportRecord
from bigtensor.errors import DataError, Message, ParameterError, Setting

TransformName = Literal["arcsinh", "logicle", "none"]

FLUORESCENCE_COFACTOR = 150.0
"""Usual cofactor of arcsinh for flow cytometry."""

MASS_CYTOMETRY_COFACTOR = 5.0
"""Usual cofactor of arcsinh for mass cytometry."""

_OTHER_COFACTORS = (50.0, 15.0, 5.0, 1.5)
"""Cofactors for values of a smaller range, two for each decade."""

_LINEAR = math.sinh(1.0)
"""Cofactors below which arcsinh is less than 1, and a line to 15 %."""

_LOGARITHMIC = math.sinh(2.0)
"""A chosen cofactor transforms the 99 % quantile of the middle marker to at least 2, so that most
of the range is logarithmic."""

_LEAST_UPPER = 20.0
"""Values of a 99 % quantile below this may be transformed already, and get the usual cofactor:
arcsinh(x / 5) of mass cytometry ends at 9, a biexponential scale at 4.5."""


def choose_transform(
    chosen: TransformName | Transform,
    cofactor: float | None,
    sources: Sequence[ImportSource],
    markers: Sequence[Content],
) -> Transform:
    """Return the requested transform, with a cofactor for the range of the markers.

    Parameters
    ----------
    chosen : {"arcsinh", "logicle", "none"} or Transform
        A transform is returned as it is.
    cofactor : float or None
        Of arcsinh; None to choose it.
    sources : sequence of ImportSource
        The files.
    markers : sequence of Content
        Values of the markers, for the choice of the cofactor.

    Raises
    ------
    ParameterError
        If there is no such transform, or it has no cofactor.
    DataError
        If no one cofactor suits all files, or an earlier import has transformed some of them in
        another way.
    """
    earlier = earlier_transform(sources)
    if earlier is not None:
        requested = {"name": chosen} if isinstance(chosen, str) else chosen.parameters()
        if requested not in ({"name": "none"}, earlier):
            raise DataError(
                f"an earlier import has transformed the values of {sources[0].path} "
                f"({ImportRecord(earlier).in_words()}), and they would be transformed again; leave "
                "out " + Setting("transform") + " and " + Setting("like")
            )
    if cofactor is not None and chosen != "arcsinh":
        raise ParameterError(
            Setting("cofactor")
            + " belongs to "
            + Setting("transform", "arcsinh")
            + f", not to {chosen!r}"
        )
    if earlier is not None:
        return Linear(earlier)
    if not isinstance(chosen, str):
        return chosen
    if chosen == "none":
        return Linear()
    if chosen == "logicle":
        return Logicle()
    if chosen != "arcsinh":
        raise ParameterError(f"unknown transform {chosen!r}; choose 'arcsinh', 'logicle' or 'none'")
    return Arcsinh(_cofactor(sources, markers) if cofactor is None else cofactor)


def earlier_transform(sources: Sequence[ImportSource]) -> dict[str, Any] | None:
    """Return the transform of the import of the stores that files were exported from.

    Parameters
    ----------
    sources : sequence of ImportSource
        The files.

    Returns
    -------
    dict, optional
        Name and parameters. None if the values are on the scale of their measurement, or nothing
        is recorded.

    Raises
    ------
    DataError
        If it differs between files, or other features were left linear.
    """
    records = [earlier_record(source) for source in sources]
    transforms = [record.transform for record in records]
    for source, record in zip(sources, records, strict=True):
        if record != records[0]:
            raise DataError(
                f"earlier imports have transformed the values of {sources[0].path} "
                f"({_record_in_words(records[0])}) and of {source.path} "
                f"({_record_in_words(record)}) in different ways; import them apart"
            )
    return dict(transforms[0]) if transforms and transforms[0]["name"] != "none" else None


def earlier_record(source: ImportSource) -> ImportRecord:
    """Return the record of the import of the store that a file was exported from.

    Its transform is "none" without such a record. Features are those of the file.
    """
    record = dict(source.attrs.get(EARLIER_IMPORT, {}).get(TRANSFORM, {"name": "none"}))
    linear = record.pop("untransformed", ())
    if record["name"] == "none":
        return ImportRecord({"name": "none"})
    return ImportRecord(record, tuple(name for name in source.features if name in linear))


def _record_in_words(record: ImportRecord) -> str:
    """Return the transform and the features that were left linear in words."""
    linear = f"; linear: {', '.join(record.untransformed)}" * bool(record.untransformed)
    return record.in_words() + linear


def recorded_transform(record: Mapping[str, Any], owner: str) -> Transform:
    """Return the transform of a record.

    Parameters
    ----------
    record : mapping
        Name and parameters.
    owner : str
        The words that name the store of the record in messages.

    Raises
    ------
    DataError
        If the record is of another transform than those of this package, or of one cofactor for
        every feature, which belong to the order of the columns.
    """
    parameters = {name: value for name, value in record.items() if name != "name"}
    try:
        if record["name"] == "arcsinh":
            return Arcsinh(float(parameters["cofactor"]))
        if record["name"] == "logicle":
            return Logicle(**parameters)
        if record["name"] == "none":
            return Linear()
    except (KeyError, TypeError, ValueError):
        pass
    raise DataError(
        f"{owner} records the transform {dict(record)}, which cannot be made again; give "
        + Setting("transform")
        + " in place of "
        + Setting("like")
    )


def linear_markers(transform: Transform, markers: Mapping[str, Content]) -> Message:
    """Return a note on the markers that arcsinh leaves nearly linear.

    Parameters
    ----------
    transform : Transform
        Transform of the values.
    markers : mapping of str to Content
        Values of the markers before the transform.

    Returns
    -------
    Message
        Names the markers with 99 % of the values below 1 after the transform. Empty if there are
        none.
    """
    if not isinstance(transform, Arcsinh) or not isinstance(transform.cofactor, (int, float)):
        return Message("")
    least = _LINEAR * transform.cofactor
    names = tuple(
        name for name, content in markers.items() if content.upper < least and not content.constant
    )
    if not names:
        return Message("")
    return (
        f"99 % of the values of {', '.join(names)} are below 1 after arcsinh with the cofactor "
        f"{transform.cofactor:g}, where it is nearly linear. For stained markers, give a smaller "
        + Setting("cofactor")
        + ". For values that are transformed already, give "
        + Setting("transform", "none")
    )


def _cofactor(sources: Sequence[ImportSource], markers: Sequence[Content]) -> float:
    """Return the usual cofactor of the instrument, or a smaller one for values of a small range."""
    mass = {bool(source.attrs.get("is_mass_cytometry")) for source in sources}
    if len(mass) > 1:
        raise DataError(
            "some files are of mass cytometry and some are not, so that no one cofactor suits "
            "all; give " + Setting("cofactor") + ", or import them apart"
        )
    usual = MASS_CYTOMETRY_COFACTOR if mass == {True} else FLUORESCENCE_COFACTOR
    uppers = [content.upper for content in markers if not content.constant]
    middle = float(np.median(uppers)) if uppers else math.inf
    if middle >= _LINEAR * usual or middle < _LEAST_UPPER:
        return usual
    smaller = [other for other in _OTHER_COFACTORS if other < usual]
    return next((other for other in smaller if middle >= _LOGARITHMIC * other), usual)
