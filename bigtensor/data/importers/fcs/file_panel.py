"""Panel of FCS files, written by rule to be edited."""

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from bigtensor.data.importers.channels.channel_content import read_content
from bigtensor.data.importers.channels.channel_names import ChannelRole
from bigtensor.data.importers.channels.channel_roles import channel_roles
from bigtensor.data.importers.expansion import FCS_ENDINGS, expand_paths
from bigtensor.data.importers.fcs.events import Offsets, open_fcs
from bigtensor.data.importers.panel import Panel, channels_of
from bigtensor.data.importers.readable_files import for_every_file
from bigtensor.data.importers.source import ImportSource
from bigtensor.errors import FileFormatWarning, ParameterError, warn


@dataclass(frozen=True)
class FilePanel:
    """Panel of FCS files, with the reasons for its roles.

    Parameters
    ----------
    panel : Panel
        Channels, markers and roles.
    roles : tuple of ChannelRole
        Role of every channel with its reason.
    files : int
        Number of files.
    """

    panel: Panel
    roles: tuple[ChannelRole, ...]
    files: int

    @property
    def unnamed(self) -> tuple[str, ...]:
        """Channels with the role ``use`` and without a marker, if others have one."""
        rows = zip(self.panel.channels, self.panel.markers, self.panel.roles, strict=True)
        used = {channel: marker for channel, marker, role in rows if role == "use"}
        without = tuple(channel for channel, marker in used.items() if not marker)
        return without if len(without) < len(used) else ()


def panel_of_files(
    paths: "str | os.PathLike[str] | Iterable[str | os.PathLike[str]]",
    *,
    dataset: int = 0,
    offsets: Offsets | None = None,
) -> Panel:
    """Return the panel of FCS files, with roles by rule.

    An import with this panel makes the same store as one without a panel.

    Parameters
    ----------
    paths : path-like or iterable of path-like
        FCS files, folders or patterns.
    dataset : int, default 0
        Which data set of files that hold several.
    offsets : {"header", "text"}, optional
        Which segment to believe if they disagree on where the events lie.

    Returns
    -------
    Panel
        All channels of the files. A sample of the events decides which channels are empty, and
        which rise only.

    Raises
    ------
    FileFormatError
        If files are damaged, or hold values that cannot be read faithfully.

    Warns
    -----
    FileFormatWarning
        If files name a channel differently. The name in the first file is used.
    """
    return describe_panel(paths, dataset=dataset, offsets=offsets).panel


def describe_panel(
    paths: "str | os.PathLike[str] | Iterable[str | os.PathLike[str]]",
    *,
    dataset: int = 0,
    offsets: Offsets | None = None,
) -> FilePanel:
    """Return the panel of FCS files with the reasons for its roles: see `panel_of_files`."""
    path_list = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
    files = expand_paths(map(Path, path_list), FCS_ENDINGS)
    if not files:
        raise ParameterError("there are no files; give at least one")
    sources = for_every_file(lambda path: open_fcs(path, dataset=dataset, offsets=offsets), files)
    names, markers = _names(sources)
    content = read_content(sources, [channels_of(source) for source in sources])
    roles = channel_roles(
        list(names),
        [markers[channel] for channel in names],
        [content.get(channel) for channel in names],
        is_mass_cytometry=all(source.attrs["is_mass_cytometry"] for source in sources),
    )
    panel = Panel(list(names), _unique_markers(names), [role.role for role in roles])
    return FilePanel(panel, roles, len(files))


def _names(sources: Sequence[ImportSource]) -> tuple[dict[str, str], dict[str, str]]:
    """Return the feature and the marker of every channel, in the order of the files.

    A channel with other names in later files keeps that of the first.
    """
    names: dict[str, str] = {}
    markers: dict[str, str] = {}
    others: dict[str, list[str]] = {}
    for source in sources:
        for channel, feature, marker in zip(
            channels_of(source), source.features, source.coordinates["marker"], strict=True
        ):
            markers.setdefault(channel, marker)
            if names.setdefault(channel, feature) != feature:
                others.setdefault(channel, []).append(f"{feature} ({source.path.name})")
    for channel, features in others.items():
        warn(
            f"channel {channel} is called {names[channel]} in {sources[0].path.name}, and "
            f"{', '.join(features)}; the panel calls it {names[channel]}",
            FileFormatWarning,
        )
    return names, markers


def _unique_markers(names: dict[str, str]) -> list[str]:
    """Return the markers of a panel: empty where the feature is called after the channel.

    The channel is also the name if files of different channels use a name for several channels.
    """
    taken = list(names.values())
    return [
        "" if name == channel or taken.count(name) > 1 else name for channel, name in names.items()
    ]
