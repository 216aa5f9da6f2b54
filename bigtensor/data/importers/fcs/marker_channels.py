"""Markers that are on different channels in files of one import."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bigtensor.data.importers.panel import Panel, channels_of
from bigtensor.data.importers.source import ImportSource

_MOST_FILES = 3
"""Files that are named for a marker. Further ones are counted."""


def note_on_moved_markers(sources: Sequence[ImportSource], panel: Panel | None) -> str:
    """Return a note on markers whose channel differs between files, empty if there is none.

    Parameters
    ----------
    sources : sequence of ImportSource
        The files, with their own markers.
    panel : Panel, optional
        Panel of an earlier import that the files are compared with. By default files are compared
        with the first one that has the marker.
    """
    expected: dict[str, tuple[str, str]] = {}
    if panel is not None:
        named = zip(panel.markers, panel.channels, strict=True)
        expected = {marker: (channel, "the earlier import") for marker, channel in named if marker}
    moved: dict[str, dict[str, list[str]]] = {}
    for source in sources:
        for marker, channel in _channels_by_marker(source).items():
            usual, _ = expected.setdefault(marker, (channel, source.path.name))
            if channel != usual:
                moved.setdefault(marker, {}).setdefault(channel, []).append(source.path.name)
    listed = [
        f"{marker}: {expected[marker][0]} in {expected[marker][1]}, "
        + ", ".join(f"{channel} in {_listed(files)}" for channel, files in by_channel.items())
        for marker, by_channel in moved.items()
    ]
    if not listed:
        return ""
    return (
        f"markers ($PnS) are on different channels ($PnN) ({'; '.join(listed)}); if the files are "
        "of different panels or names were swapped, import them apart or correct the names"
    )


def _channels_by_marker(source: ImportSource) -> Mapping[str, str]:
    """Return the channel of every marker that is on one channel of the file."""
    markers = source.coordinates.get("marker", ())
    pairs = zip(markers, channels_of(source), strict=True) if markers else ()
    return {marker: channel for marker, channel in pairs if marker and markers.count(marker) == 1}


def _listed(files: Sequence[str]) -> str:
    """Return the names of the first files, and how many others there are."""
    further = len(files) - _MOST_FILES
    return " and ".join(files[:_MOST_FILES]) + (f" and {further} others" if further > 0 else "")
