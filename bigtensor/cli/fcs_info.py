"""What ``bigtensor info`` says of FCS files, from their headers alone."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from bigtensor.cli.command import in_options
from bigtensor.cli.importing import import_command
from bigtensor.cli.output import one_line
from bigtensor.errors import DataError, FileFormatError, FileFormatWarning

if TYPE_CHECKING:
    from bigtensor.data.importers.fcs import FcsHeader, Offsets

_ENDINGS = (".fcs", ".lmd")


def is_fcs(path: Path) -> bool:
    """Return True for a file that is an FCS file by its name or its first bytes.

    Parameters
    ----------
    path : Path

    Returns
    -------
    bool
    """
    if not path.is_file():
        return False
    if path.suffix.lower() in _ENDINGS:
        return True
    with path.open("rb") as file:
        return file.read(3) == b"FCS"


def fcs_lines(path: Path) -> Iterator[str]:
    """Describe an FCS file and what an import without options would do. No event is read.

    Parameters
    ----------
    path : Path

    Yields
    ------
    str

    Raises
    ------
    FileFormatError
        If the file cannot be read, whatever the options.
    """
    import numpy as np

    header, problem = _header(path)
    stored = ", ".join(sorted({np.dtype(dtype).name for dtype in header.dtypes}))
    order = "big" if header.dtypes[0][0] == ">" else "little"
    yield (
        f"file       {path}: FCS {header.version}, {header.n_rows:,} events x "
        f"{len(header.channels)} channels"
    )
    cytometer = header.keywords.get("cyt", "").strip()
    kind = "mass cytometry" if header.is_mass_cytometry else "flow cytometry"
    yield f"cytometer  {one_line(cytometer) or 'not named'} ({kind})"
    place = "HEADER and TEXT disagree" if problem else f"from byte {header.data_start:,}"
    yield f"events     {stored} {order}-endian, {place}"
    yield "channels"
    yield from _channel_lines(header)
    yield f"spillover  {_spillover(header)}"
    yield f"import     {problem or _defaults(path)}"
    for note in header.notes:
        yield f"note       {one_line(note)}"


def common_lines(paths: Sequence[Path]) -> Iterator[str]:
    """Say whether several FCS files can be imported into one store without options.

    Parameters
    ----------
    paths : sequence of Path

    Yields
    ------
    str
    """
    from bigtensor.data.importers.fcs import open_fcs
    from bigtensor.data.importers.files import fcs_defaults
    from bigtensor.data.importers.matching import match_features

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FileFormatWarning)
            sources = [open_fcs(path) for path in paths]
        features, _ = match_features(sources, "same")
        fcs_defaults(sources)
    except DataError as error:
        yield f"together   {_in_words(error)}"
    else:
        rows = sum(source.rows or 0 for source in sources)
        yield f"together   {rows:,} events, the same {len(features)} features in every file"


def _header(path: Path) -> tuple[FcsHeader, str]:
    """Read a header; if its places of DATA disagree, with either, and say so."""
    from bigtensor.data.importers.fcs import read_fcs_header

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


def _channel_lines(header: FcsHeader) -> Iterator[str]:
    """List channels with their markers and scales."""
    width = max(len(one_line(name)) for name in header.channels)
    marker_width = max(len(one_line(name)) for name in header.markers)
    for name, marker, value_range, (decades, offset), gain in zip(
        header.channels,
        header.markers,
        header.ranges,
        header.amplification,
        header.gains,
        strict=True,
    ):
        scale = f"{decades:g} decades from {offset:g}" if decades else "linear"
        if not decades and gain not in (0.0, 1.0) and name.lower() != "time":
            scale += f", gain {gain:g}"
        yield (
            f"  {one_line(name):<{width}}  {one_line(marker):<{marker_width}}  "
            f"range {value_range:>11,.10g}  {scale}"
        )


def _spillover(header: FcsHeader) -> str:
    """Say which channels a spillover matrix has, or why there is none to use."""
    from bigtensor.data.importers.fcs import read_compensation

    try:
        channels = read_compensation(header).channels
    except FileFormatError as error:
        return _in_words(error)
    except DataError:
        return "none"
    return f"{len(channels)} channels: {', '.join(map(one_line, channels))}"


def _in_words(error: DataError) -> str:
    """Return an error as one line that names options of ``bigtensor import``."""
    return one_line(in_options(str(error), import_command))


def _defaults(path: Path) -> str:
    """Say what an import without options does to the values."""
    from bigtensor.data.importers.fcs import open_fcs
    from bigtensor.data.importers.files import fcs_defaults

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FileFormatWarning)
        source = open_fcs(path)
    transform, linear = fcs_defaults([source])
    parameters = dict(transform.parameters())
    name = parameters.pop("name")
    words = ", ".join([name, *(f"{key} {value:g}" for key, value in parameters.items())])
    listed = f"; linear: {', '.join(map(one_line, linear))}" if linear else ""
    return f"{words}{listed}; not compensated (--compensate)"
