"""Colours of labels, in the convention of scanpy."""

from __future__ import annotations

import colorsys

_FIRST = (
    *("#1f77b4", "#ff7f0e", "#279e68", "#d62728", "#aa40fc", "#8c564b", "#e377c2", "#b5bd61"),
    *("#17becf", "#aec7e8", "#ffbb78", "#98df8a", "#ff9896", "#c5b0d5", "#c49c94", "#f7b6d2"),
    *("#dbdb8d", "#9edae5", "#ad494a", "#8c6d31"),
)
"""Twenty colours that scanpy uses for up to twenty categories."""

_GOLDEN_RATIO = 0.618033988749895
"""Steps of this length on a circle never come near an earlier place for long."""


def label_colours(count: int) -> list[str]:
    """Return a different colour for every label. A label has the same colour for any count.

    Parameters
    ----------
    count : int
        Number of labels.

    Returns
    -------
    list of str
        Such as ``"#1f77b4"``, for ``uns["bigtensor_label_colors"]``.
    """
    return [*_FIRST[:count], *map(_further, range(count - len(_FIRST)))]


def _further(number: int) -> str:
    """Return a colour beside the first twenty: hues that lie far apart, in five tones."""
    lightness, saturation = ((0.35, 0.9), (0.6, 0.6), (0.25, 0.5), (0.75, 0.8), (0.45, 0.35))[
        number % 5
    ]
    channels = colorsys.hls_to_rgb((number * _GOLDEN_RATIO) % 1.0, lightness, saturation)
    return "#" + "".join(f"{round(255 * channel):02x}" for channel in channels)
