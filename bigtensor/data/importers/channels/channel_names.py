"""Roles of channels by their names: what a cytometer records beside markers.

Two names are judged: that of the detector (``$PnN`` of FCS) and that of the marker (``$PnS``). Dyes
such as 7-AAD name detectors too, so that they are evidence in the name of a marker alone.
"""

import re
from dataclasses import dataclass

from bigtensor.data.values.feature_roles import Role


@dataclass(frozen=True)
class ChannelRole:
    """Role of a channel with its reason.

    Parameters
    ----------
    role : str
        Role of the feature.
    reason : str
        Why, in short words; empty for markers.
    linear : bool
        True if values of the channel are no light of a dye, so that imports leave them linear.
    """

    role: Role
    reason: str = ""
    linear: bool = False


MARKER = ChannelRole("use")

_SCATTER = ChannelRole("scatter", "scatter", linear=True)
_TIME = ChannelRole("time", "time", linear=True)
_COUNT = ChannelRole("ignore", "count of events", linear=True)
_PULSE = ChannelRole("ignore", "shape of the pulse", linear=True)
_ANSWER = ChannelRole("ignore", "result of an analysis", linear=True)
_BEADS = ChannelRole("ignore", "beads")
_DNA = ChannelRole("ignore", "DNA")
_AUTOFLUORESCENCE = ChannelRole("ignore", "autofluorescence")
_BARCODE = ChannelRole("barcode", "barcode")
_VIABILITY = ChannelRole("viability", "viability")
_BACKGROUND = ChannelRole("empty", "background")

# Each pattern is searched for in one name. (?<![a-z]) and (?![a-z]) bound words, of which digits,
# underscores and brackets are no part, as in 405SSC and 191Ir_DNA1.
_EITHER_NAME = tuple(
    (re.compile(pattern, re.IGNORECASE), role)
    for pattern, role in (
        # the first letter of a laser may stand before, as in VSSC-A
        (r"(?<![a-z])[bruvy]?(fsc|ssc)(?![a-z])|(forward|side)[ _-]?scatter", _SCATTER),
        (r"(?<![a-z])time(?![a-z])|timestamp|^hdr-", _TIME),
        (r"events?[ _-]*(count|no|num|number|#|id|index)(?![a-z])|^events?$", _COUNT),
        (r"pulse[ _-]*width|(event|cell)[ _-]*length|doublet", _PULSE),
        (r"^bigtensor_|^(sample|file|cluster)[ _-]?(id|no|number)$", _ANSWER),
        (r"(?<![a-z])(eq)?beads?(?![a-z])|(?<![a-z])eq\d?(?![a-z])|^beaddist", _BEADS),
        (r"(?<![a-z])dna([ _-]?\d+)?(?![ _-]?[a-z0-9])|intercalator", _DNA),
        (r"(?<![a-z])bc[ _-]?\d+(?![a-z0-9])|barcod", _BARCODE),
        (r"live[ /_-]*dead|(?<![a-z])l[/_-]d(?![a-z])|viab|cis[ _-]?(platin|pt)", _VIABILITY),
        (r"autofluorescen|^af([ _-]a)?$", _AUTOFLUORESCENCE),
    )
)

_DETECTOR = tuple(
    (re.compile(pattern, re.IGNORECASE), role)
    for pattern, role in (
        (r"^(fs|ss|fals|rals)(?![a-z])", _SCATTER),
        # parameters of the pulse that a mass cytometer fits
        (r"^(width|center|offset|residual|amplitude|tof)$", _PULSE),
    )
)

_MARKER = re.compile(
    r"^(pi|7[ -]?aad|dapi|hoechst.*|draq ?\d|propidium iodide|aqua|live|ld|dead|dead cells?)$"
    r"|zombie|(?<![a-z])(fvs|fvd)(?![a-z])|ghost ?(dye|red|violet)|sytox|(live|fixable)[ _-]?aqua",
    re.IGNORECASE,
)
"""Markers of dead cells whose dyes also name detectors."""

_ISOTOPE = re.compile(
    r"(?<![A-Za-z])(?:(?P<a>{0})\d{{2,3}}|\d{{2,3}}(?P<b>{0}))(?:D[di])?(?![A-Za-z])".format(
        "Ar|Ba|Bi|Cd|Ce|Cs|Dy|Er|Eu|Gd|Ho|I|In|Ir|La|Lu|Nd|Pb|Pd|Pr|Pt|Rh|Sm|Sn|Tb|Tm|Xe|Y|Yb"
    )
)
"""An isotope such as Nd142Di or 142Nd. Upper and lower case tell Cd112 from the marker CD112."""

_ISOTOPES = {
    # palladium is the metal of barcoding kits, iridium that of the DNA intercalator, platinum and
    # rhodium those of viability stains, cerium that of the calibration beads
    "Pd": _BARCODE,
    "Ir": _DNA,
    "Pt": _VIABILITY,
    "Rh": _VIABILITY,
    "Ce": _BEADS,
    # elements of the argon plasma, of the buffer and of contaminations
    **dict.fromkeys(("Ar", "Xe", "Ba", "Sn", "Pb", "I", "Cs"), _BACKGROUND),
}
"""Elements that carry no antibody, for channels of mass cytometry without a marker."""


def role_by_name(channel: str, marker: str = "", *, is_mass_cytometry: bool = False) -> ChannelRole:
    """Return the role of a channel by its names alone.

    Parameters
    ----------
    channel : str
        Name of the detector.
    marker : str, default ""
        Name of the marker; empty, or equal to the name of the detector, where there is none.
    is_mass_cytometry : bool, default False
        True if channels are isotopes.

    Returns
    -------
    ChannelRole
        ``use`` where the names say nothing else.
    """
    channel, marker = channel.strip(), marker.strip()
    for pattern, role in _EITHER_NAME:
        if pattern.search(channel) or pattern.search(marker):
            return role
    for pattern, role in _DETECTOR:
        if pattern.search(channel):
            return role
    if marker != channel and _MARKER.search(marker):
        return _VIABILITY
    if is_mass_cytometry:
        return _role_of_isotope(channel, marker)
    return MARKER


def _role_of_isotope(channel: str, marker: str) -> ChannelRole:
    """Return the role of a mass channel by its element, if no marker is named beside it."""
    if "bckg" in f"{channel} {marker}".lower():
        return _BACKGROUND
    isotope = _ISOTOPE.search(channel)
    if isotope is None or _has_marker(marker, channel):
        return MARKER
    return _ISOTOPES.get(isotope["a"] or isotope["b"], MARKER)


def _has_marker(marker: str, channel: str) -> bool:
    """Return True if a marker of a mass channel is more than the name of the isotope."""
    rest = marker if marker != channel else ""
    return bool(re.sub(r"[\W_]", "", _ISOTOPE.sub("", rest)))
