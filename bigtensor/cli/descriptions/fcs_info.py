"""Description of FCS files for ``bigtensor info``, from headers and a sample of the events."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bigtensor.cli.command import written_for
from bigtensor.cli.commands.importing import import_command, left_out_line
from bigtensor.cli.output import one_line
from bigtensor.data.importers.expansion import FCS_ENDINGS
from bigtensor.errors import DataError, FileFormatError, FileFormatWarning

if TYPE_CHECKING:
    from bigtensor.data.importers.fcs.events import FcsHeader, Offsets


def is_fcs(path: str) -> bool:
    """Return True for a file that is an FCS file by its name or its first bytes.

    Parameters
    ----------
    path : str
        A URL is none.
    """
    file = Path(path)
    if "://" in path or not file.is_file():
        return False
    if file.suffix.lower() in FCS_ENDINGS:
        return True
    with file.open("rb") as opened:
        return opened.read(3) == b"FCS"


def fcs_facts(path: Path) -> dict[str, Any]:
    """Return the facts of an FCS file, and what an import without options would do.

    Only a sample of the events is read.

    Parameters
    ----------
    path : Path
        File on a disk.

    Returns
    -------
    dict
        ``problem`` says why an import needs options; ``import`` is then None.

    Raises
    ------
    FileFormatError
        If the file cannot be read, whatever the options.
    """
    import numpy as np

    header, problem = _header(path)
    channels, problem_of_spillover = _spillover(header)
    return {
        "kind": "fcs",
        "version": header.version,
        "rows": header.n_rows,
        "cytometer": header.keywords.get("cyt", "").strip(),
        "is_mass_cytometry": header.is_mass_cytometry,
        "dtypes": sorted({np.dtype(dtype).name for dtype in header.dtypes}),
        "byte_order": "big" if header.dtypes[0][0] == ">" else "little",
        "data_start": None if problem else header.data_start,
        "channels": _channel_facts(header),
        "spillover": {"channels": channels, "problem": problem_of_spillover},
        "import": None if problem else _defaults(path),
        "problem": problem or None,
        "notes": [written_for(import_command, note) for note in header.notes],
    }


def fcs_lines(facts: Mapping[str, Any]) -> Iterator[str]:
    """Describe an FCS file in words.

    Parameters
    ----------
    facts : mapping
        From `fcs_facts`.
    """
    start, spillover = facts["data_start"], facts["spillover"]
    yield (
        f"file       {facts['path']}: FCS {facts['version']}, {facts['rows']:,} events x "
        f"{len(facts['channels'])} channels"
    )
    kind = "mass cytometry" if facts["is_mass_cytometry"] else "flow cytometry"
    yield f"cytometer  {one_line(facts['cytometer']) or 'not named'} ({kind})"
    place = "HEADER and TEXT disagree" if start is None else f"from byte {start:,}"
    yield f"events     {', '.join(facts['dtypes'])} {facts['byte_order']}-endian, {place}"
    yield "channels"
    yield from _channel_lines(facts["channels"])
    named = f"{len(spillover['channels'])} channels: "
    named += ", ".join(map(one_line, spillover["channels"]))
    none = spillover["problem"] or "none"
    yield f"spillover  {named if spillover['channels'] else none}"
    yield f"import     {facts['problem'] or _import_in_words(facts['import'])}"
    notes = [*facts["notes"]]
    if facts["import"]:
        if facts["import"]["left_out"]:
            yield left_out_line(facts["import"]["left_out"]).rstrip()
        notes += filter(None, [facts["import"]["note"]])
    for note in notes:
        yield f"note       {one_line(note)}"


def common_facts(paths: Sequence[Path]) -> dict[str, Any]:
    """Return whether several FCS files can be imported into one store without options.

    Parameters
    ----------
    paths : sequence of Path
        Files in the order of their rows in the store.

    Returns
    -------
    dict
        ``rows`` and ``features``, or the ``problem``.
    """
    from bigtensor.data.importers.fcs.events import open_fcs
    from bigtensor.data.importers.features import FeatureSettings, resolve_features
    from bigtensor.data.importers.matching import match_features

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FileFormatWarning)
            sources = [open_fcs(path) for path in paths]
        features, _ = match_features(sources, "same")
        resolve_features(sources, features, FeatureSettings())
    except DataError as error:
        return {"problem": _in_words(error)}
    rows = sum(source.rows or 0 for source in sources)
    return {"rows": rows, "features": list(features), "problem": None}


def common_line(facts: Mapping[str, Any]) -> str:
    """Say whether several FCS files can be imported into one store without options."""
    if facts["problem"] is not None:
        return f"together   {facts['problem']}"
    return (
        f"together   {facts['rows']:,} events, the same {len(facts['features'])} features in every "
        "file"
    )


def _header(path: Path) -> tuple[FcsHeader, str]:
    """Read a header; if its places of DATA disagree, with either, and say so."""
    from bigtensor.data.importers.fcs.events import read_fcs_header

    choices: tuple[Offsets, ...] = ("header", "text")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FileFormatWarning)
        try:
            return read_fcs_header(path), ""
        except FileFormatError as error:
            for offsets in choices:
                try:
                    return read_fcs_header(path, offsets=offsets), _in_words(error)
                except FileFormatError:
                    continue
            raise


def _channel_facts(header: FcsHeader) -> list[dict[str, Any]]:
    """Return the channels with their markers and scales."""
    return [
        {
            "channel": name,
            "marker": marker,
            "range": value_range,
            "decades": decades,
            "offset": offset,
            "gain": gain,
        }
        for name, marker, value_range, (decades, offset), gain in zip(
            header.channels,
            header.markers,
            header.ranges,
            header.amplification,
            header.gains,
            strict=True,
        )
    ]


def _channel_lines(channels: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """List channels with their markers and scales."""
    width = max(len(one_line(each["channel"])) for each in channels)
    marker_width = max(len(one_line(each["marker"])) for each in channels)
    for each in channels:
        name, decades, gain = each["channel"], each["decades"], each["gain"]
        scale = f"{decades:g} decades from {each['offset']:g}" if decades else "linear"
        if not decades and gain not in (0.0, 1.0) and name.lower() != "time":
            scale += f", gain {gain:g}"
        yield (
            f"  {one_line(name):<{width}}  {one_line(each['marker']):<{marker_width}}  "
            f"range {each['range']:>11,.10g}  {scale}"
        )


def _spillover(header: FcsHeader) -> tuple[list[str], str | None]:
    """Return the channels of the spillover matrix, or why there is none to use."""
    from bigtensor.data.importers.fcs.compensation import read_compensation

    try:
        return list(read_compensation(header).channels), None
    except FileFormatError as error:
        return [], _in_words(error)
    except DataError:
        return [], None


def _in_words(error: DataError) -> str:
    """Return an error as one line that names options of ``bigtensor import``."""
    return one_line(written_for(import_command, error.message))


def _defaults(path: Path) -> dict[str, Any]:
    """Return what an import without options does to the values."""
    from bigtensor.data.importers.fcs.events import open_fcs
    from bigtensor.data.importers.features import FeatureSettings, resolve_features

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FileFormatWarning)
        source = open_fcs(path)
    resolved = resolve_features([source], source.features, FeatureSettings())
    assert resolved.roles is not None
    left_out: dict[str, list[str]] = {}
    for name, role in zip(source.features, resolved.roles, strict=True):
        if role.role != "use":
            left_out.setdefault(role.reason, []).append(name)
    return {
        "transform": dict(resolved.transform.parameters()),
        "linear": list(resolved.linear),
        "left_out": left_out,
        "note": written_for(import_command, resolved.note) or None,
    }


def _import_in_words(facts: Mapping[str, Any]) -> str:
    """Say what an import without options does to the values."""
    parameters = dict(facts["transform"])
    name = parameters.pop("name")
    words = ", ".join([name, *(f"{key} {value:g}" for key, value in parameters.items())])
    linear = facts["linear"]
    listed = f"; linear: {', '.join(map(one_line, linear))}" if linear else ""
    return f"{words}{listed}; not compensated (--compensate)"
