"""Panel of a cytometry experiment: the channels with their markers and roles, as a table."""

import codecs
import csv
import io
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Self, cast

from bigtensor.data.addresses.store_address import local_path
from bigtensor.data.importers.source import ImportSource
from bigtensor.data.stores.outputs import check_target_file, whole_file, write_errors
from bigtensor.data.values.feature_roles import ROLES, Role
from bigtensor.data.values.spreadsheet_cells import as_text
from bigtensor.data.values.spreadsheet_text import separator_of, without_apostrophe
from bigtensor.data.values.unique_names import unique_names
from bigtensor.errors import DataError, FileFormatError

COLUMNS = ("channel", "marker", "role")
"""Columns of a panel, in the order in which they are written."""

_ENCODINGS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
"""Encodings by the mark at the beginning of a file."""


@dataclass(frozen=True)
class Panel:
    """Channels of cytometer files with their markers and roles.

    Parameters
    ----------
    channels : sequence of str
        Names of the channels as they are in the files (``$PnN`` of FCS), or of the columns of a
        table.
    markers : sequence of str
        Names of the markers. Where a name is empty, the feature is called after the channel.
    roles : sequence of str
        One of ``use``, ``scatter``, ``time``, ``viability``, ``barcode``, ``empty`` and ``ignore``
        a channel. A fit uses the features of the role ``use`` by default.

    Raises
    ------
    DataError
        If lengths differ, a role is unknown, or a name is given to two channels.

    Examples
    --------
    >>> panel = Panel(["FSC-A", "FITC-A"], ["", "CD3"], ["scatter", "use"])
    >>> panel.features
    ('FSC-A', 'CD3')
    """

    channels: Sequence[str]
    markers: Sequence[str]
    roles: Sequence[Role]

    def __post_init__(self) -> None:
        for name in ("channels", "markers", "roles"):
            object.__setattr__(self, name, tuple(map(str, getattr(self, name))))
        if not len(self.channels) == len(self.markers) == len(self.roles) > 0:
            raise DataError(
                "a panel has one marker and one role for each channel, at least one; got "
                f"{len(self.channels)} channels, {len(self.markers)} markers and "
                f"{len(self.roles)} roles"
            )
        for channel, role in zip(self.channels, self.roles, strict=True):
            if role not in ROLES:
                raise DataError(_unknown_role(channel, role))
        if repeated := _repeated(self.channels):
            raise DataError(f"the panel lists channels twice: {repeated}; keep one row of each")
        if repeated := _repeated(self.features):
            raise DataError(
                "the panel gives one name to several channels: "
                + "; ".join(f"{name} to {', '.join(self._named(name))}" for name in repeated)
                + ". Name each marker once"
            )

    @property
    def features(self) -> tuple[str, ...]:
        """Name of every channel in a store: the marker, or the channel where it is empty."""
        return tuple(
            marker or channel for channel, marker in zip(self.channels, self.markers, strict=True)
        )

    @classmethod
    def from_csv(cls, path: "str | os.PathLike[str]") -> Self:
        """Read a panel from a table of text.

        Parameters
        ----------
        path : str or path-like
            The table, with the columns ``channel``, ``marker`` and ``role`` in any order. Other
            columns are not read. Cells are separated by commas, semicolons or tabs.

        Raises
        ------
        FileFormatError
            If the file cannot be read, a column is missing, or the panel is not valid. The message
            names the file.
        """
        path = local_path(path)
        rows = list(_rows(path))
        try:
            return cls(
                [row["channel"] for row in rows],
                [row["marker"] for row in rows],
                # roles are checked there
                [cast("Role", row["role"]) for row in rows],
            )
        except DataError as error:
            raise FileFormatError(f"{path}: {error}") from error

    def to_csv(self, path: "str | os.PathLike[str]", *, overwrite: bool = False) -> None:
        """Write the panel as a table, to be edited.

        Parameters
        ----------
        path : str or path-like
            File to write. It begins with a mark by which spreadsheets know UTF-8 where names need
            more than ASCII.
        overwrite : bool, default False
            If True, an existing file may be replaced.

        Raises
        ------
        OutputError
            If the file exists or cannot be written.
        """
        check_target_file(path, overwrite=overwrite)
        text = io.StringIO(newline="")
        table = zip(self.channels, self.markers, self.roles, strict=True)
        rows = ([as_text(cell) for cell in row] for row in table)
        csv.writer(text, lineterminator="\n").writerows([COLUMNS, *rows])
        encoding = "utf-8" if text.getvalue().isascii() else "utf-8-sig"
        with write_errors(path), whole_file(path) as partial:
            partial.write_text(text.getvalue(), encoding=encoding, newline="")

    def _named(self, feature: str) -> list[str]:
        """Return the channels that have a name."""
        names = zip(self.channels, self.features, strict=True)
        return [channel for channel, name in names if name == feature]


def as_panel(panel: "Panel | str | os.PathLike[str] | None") -> Panel | None:
    """Return a panel, read from a CSV file where its path is given; None without one."""
    return panel if panel is None or isinstance(panel, Panel) else Panel.from_csv(panel)


def with_panel(sources: Sequence[ImportSource], panel: Panel | None) -> list[ImportSource]:
    """Return files with features that are named by a panel.

    Parameters
    ----------
    sources : sequence of ImportSource
        The files.
    panel : Panel, optional
        Channels that it does not list keep their names, and without a panel all of them.

    Returns
    -------
    list of ImportSource
        With a panel, the channel of every feature is a coordinate.

    Raises
    ------
    DataError
        If a channel of the panel is in no file.
    """
    if panel is None:
        return list(sources)
    channels = {channel for source in sources for channel in channels_of(source)}
    unknown = [channel for channel in panel.channels if channel not in channels]
    if unknown:
        raise DataError(
            "the panel lists channels that no file has: "
            + ", ".join(_with_suggestion(name, channels) for name in unknown)
            + f". The files have {sorted(channels)}"
        )
    return [_renamed(source, panel) for source in sources]


def channels_of(source: ImportSource) -> tuple[str, ...]:
    """Return the channel of every column of a file; of a table its column names."""
    return source.coordinates.get("channel", source.features)


def _renamed(source: ImportSource, panel: Panel) -> ImportSource:
    """Return a file with features that are named by a panel."""
    channels = channels_of(source)
    names = dict(zip(panel.channels, panel.features, strict=True))
    markers = dict(zip(panel.channels, panel.markers, strict=True))
    taken = set(panel.features)
    features = [
        names.get(channel, feature if feature not in taken else channel)
        for channel, feature in zip(channels, source.features, strict=True)
    ]
    own = dict(zip(channels, source.coordinates.get("marker", ("",) * len(channels)), strict=True))
    coordinates: Mapping[str, tuple[str, ...]] = {
        **source.coordinates,
        "channel": channels,
        "marker": tuple(markers.get(channel, own[channel]) for channel in channels),
    }
    return replace(source, features=tuple(unique_names(features)), coordinates=coordinates)


def _rows(path: Path) -> Iterator[dict[str, str]]:
    """Yield the rows of a table of text as cells by column, without blanks around them."""
    text = _text(path)
    header = next((line for line in text.splitlines() if "channel" in line.lower()), "")
    table = csv.reader(io.StringIO(text, newline=""), delimiter=separator_of(header))
    names: list[str] = []
    for cells in ([_name(cell) for cell in row] for row in table):
        # the first line of a table for spreadsheets may name the separator
        if not any(cells) or (not names and cells[0].lower().partition("=")[0] == "sep"):
            continue
        if not names:
            names = [name.lower() for name in cells]
            _check_header(path, names)
            continue
        if len(cells) < len(names) or any(cells[len(names) :]):
            raise FileFormatError(
                f"{path}: line {table.line_num} has {len(cells)} cells for {len(names)} columns; "
                "put names that hold a separator in quotes"
            )
        row = dict(zip(names, cells, strict=False))
        if not row["channel"]:
            raise FileFormatError(f"{path}: line {table.line_num} names no channel")
        yield row | {"role": row["role"].lower()}
    if not names:
        raise FileFormatError(f"{path} is empty; a panel has the columns {', '.join(COLUMNS)}")


def _name(cell: str) -> str:
    """Return a cell without blanks around it, and without the apostrophe before a formula."""
    return without_apostrophe(cell.strip())


def _text(path: Path) -> str:
    """Return the text of a file of any encoding that spreadsheets write."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise FileFormatError(
            f"{path} cannot be read ({error.strerror}); check the path"
        ) from error
    marked = [name for mark, name in _ENCODINGS.items() if content.startswith(mark)]
    for encoding in (*marked, "utf-8", "cp1252"):
        try:
            return content.decode(encoding)
        except UnicodeDecodeError:
            continue
    raise FileFormatError(f"{path} is no table of text; save the panel as CSV")


def _check_header(path: Path, names: Sequence[str]) -> None:
    """Raise a FileFormatError for a table without one of the columns."""
    missing = [name for name in COLUMNS if name not in names]
    if missing:
        raise FileFormatError(
            f"{path} has the columns {', '.join(names) or 'none'}, and a panel has "
            f"{', '.join(COLUMNS)}; 'bigtensor panel' writes one to edit"
        )
    if repeated := _repeated([name for name in names if name in COLUMNS]):
        raise FileFormatError(f"{path} has the column {repeated[0]} twice; keep one")


def _unknown_role(channel: str, role: str) -> str:
    """Return the message on a role that does not exist."""
    what = f"the unknown role {_with_suggestion(role, ROLES)}" if role else "no role"
    return f"channel {channel} has {what}; roles are {', '.join(ROLES)}"


def _with_suggestion(name: str, names: Sequence[str] | set[str]) -> str:
    """Return a name with the one of these that is most like it, if any is."""
    by_lower = {other.lower(): other for other in names}
    close = get_close_matches(name.lower(), by_lower, n=1)
    return f"{name!r}" + (f" (is it {by_lower[close[0]]!r}?)" if close else "")


def _repeated(names: Sequence[str]) -> list[str]:
    """Return the names that occur more than once."""
    return [name for name, times in Counter(names).items() if times > 1]
