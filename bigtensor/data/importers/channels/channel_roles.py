"""Roles of all channels of a file: by name, by the channels beside them, and by content."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bigtensor.data.importers.channels.channel_content import Content
from bigtensor.data.importers.channels.channel_names import MARKER, ChannelRole, role_by_name

_SCALE = re.compile(r"(?:[\s_-]+|(?<=[\s_-][ahw]))(?P<word>lin|log|linear)$", re.IGNORECASE)
_MEASURE = re.compile(
    r"(?:[\s_-]+|(?<=log)|(?<=lin))(?P<word>area|height|width|int|integral|peak|[ahw])$",
    re.IGNORECASE,
)
_LETTERS = {"area": "a", "int": "a", "integral": "a", "height": "h", "peak": "h", "width": "w"}

_OTHER_MEASURE = {
    "a": ChannelRole("ignore", "area beside height"),
    "h": ChannelRole("ignore", "height beside area"),
}
_WIDTH = ChannelRole("ignore", "width", linear=True)
_LIN = ChannelRole("ignore", "linear beside logarithmic")
_CONSTANT = ChannelRole("empty", "constant")
_RISING = ChannelRole("time", "rises only", linear=True)


@dataclass(frozen=True)
class _Detector:
    """Name of a channel in parts.

    Parameters
    ----------
    name : str
        The detector, in lower case.
    measure : {"a", "h", "w", ""}
        Area, height or width of the pulse; empty if the name does not say.
    scale : {"log", "lin", ""}
        Amplification; empty if the name does not say.
    """

    name: str
    measure: str
    scale: str

    @classmethod
    def of_channel(cls, channel: str) -> "_Detector":
        """Take the name of a channel apart: ``FL 2 Area``, ``FL1 Lin``, ``PE LogH``, ``GRN-HLog``.

        Endings are taken off in any order.
        """
        rest, measure, scale = channel.strip(), "", ""
        while True:
            ending = None
            if not measure and (ending := _MEASURE.search(rest)):
                word = ending["word"].lower()
                measure = _LETTERS.get(word, word)
            elif not scale and (ending := _SCALE.search(rest)):
                scale = ending["word"].lower()[:3]
            if ending is None or not ending.start():
                return cls(" ".join(rest.lower().split()), measure, scale)
            rest = rest[: ending.start()]


def channel_roles(
    channels: Sequence[str],
    markers: Sequence[str],
    content: Sequence[Content | None],
    *,
    is_mass_cytometry: bool = False,
) -> tuple[ChannelRole, ...]:
    """Return the role of every channel by rule.

    Parameters
    ----------
    channels : sequence of str
        Names of the detectors.
    markers : sequence of str
        Names of the markers, empty where there is none.
    content : sequence of Content or None
        Values of every channel; None if they are not judged.
    is_mass_cytometry : bool, default False
        True if channels are isotopes.

    Returns
    -------
    tuple of ChannelRole
        Names decide first. Of several measures of one detector one is used: logarithmic before
        linear amplification, no width, and area or height, whichever more detectors have (area if
        equally many). Of the others, a constant channel is empty, and one that only rises is time.
    """
    roles = [
        role_by_name(channel, marker, is_mass_cytometry=is_mass_cytometry)
        for channel, marker in zip(channels, markers, strict=True)
    ]
    detectors = {
        place: _Detector.of_channel(channels[place])
        for place, role in enumerate(roles)
        if role == MARKER
    }
    for place, role in _repeated_measures(detectors).items():
        roles[place] = role
    for place, values in enumerate(content):
        if roles[place] == MARKER and values is not None:
            roles[place] = _CONSTANT if values.constant else _RISING if values.rising else MARKER
    return tuple(roles)


def _repeated_measures(detectors: Mapping[int, _Detector]) -> dict[int, ChannelRole]:
    """Return the roles of channels that measure the light of another channel once more."""
    logarithmic = {detector.name for detector in detectors.values() if detector.scale == "log"}
    area, height = (
        {detector.name for detector in detectors.values() if detector.measure == measure}
        for measure in "ah"
    )
    other = "a" if len(height) > len(area) else "h"
    repeated = {}
    for place, detector in detectors.items():
        if detector.measure == "w" and (area or height):
            repeated[place] = _WIDTH
        elif detector.scale == "lin" and detector.name in logarithmic:
            repeated[place] = _LIN
        elif detector.measure == other and detector.name in area & height:
            repeated[place] = _OTHER_MEASURE[other]
    return repeated
